internal import Bus
internal import Messages
internal import Synchronization
internal import Telemetry
internal import Transit

/// Sends requests to the verifier that owns their slot, and waits out a change of owner.
///
/// Ownership is heard from the verifiers' slot tables and corrected by their refusals. A request
/// whose connection breaks is sent once more and never twice more, so that a message that kills
/// its reader cannot take one verifier down after the other.
final class VerifierClient: Sendable {
    /// The longest that a phone waits; the SDK gives up at 10 s (architecture, section 5).
    static let patience = Duration.seconds(8)
    /// How often an owner is looked for while there is none.
    static let pause = Duration.milliseconds(50)
    /// How long the successor of a lost owner is waited for before that owner is asked again: a frozen
    /// one would take the request and never answer it.
    static let successorPatience = Duration.seconds(1)
    /// How often a request may meet a broken connection: the first time and once more.
    static let attempts = 2
    /// Requests that may wait here; beyond, phones are told at once to come again.
    ///
    /// With a body of 64 KiB each that is at most 130 MB, and it is what one verifier answers in a
    /// second or two.
    static let waitingLimit = 2000

    /// What the client needs of the bus; tests hand in their own.
    struct Transport: Sendable {
        /// Asks one instance.
        let ask:
            @Sendable (
                _ body: [UInt8], _ instance: String, _ timeout: Duration, _ trace: TraceID
            ) async throws(BusError) -> [UInt8]
        /// The verifiers that live.
        let living: @Sendable () -> [String]
        /// Waits; a test's clock moves instead.
        var sleep: @Sendable (Duration) async -> Void
        /// Monotonic time.
        let now: @Sendable () -> ContinuousClock.Instant
    }

    let transport: Transport
    private let directory = Mutex(SlotDirectory())
    private let waiting = Atomic<Int>(0)
    private let lost: Counter
    private let unowned: Counter
    private let refused: Counter

    /// Makes a client.
    init(_ transport: Transport, metrics: Metrics) {
        self.transport = transport
        lost = metrics.counter(
            "verifier_requests_lost_total",
            help: "Requests whose connection to the verifier broke."
        )
        unowned = metrics.counter(
            "verifier_requests_unowned_total",
            help: "Requests given up because no verifier owned their slot in time."
        )
        refused = metrics.counter(
            "verifier_requests_refused_total",
            help: "Requests refused at once because too many waited."
        )
    }

    /// How many slots have a known owner that lives.
    var knownSlots: Int {
        let living = Set(transport.living())
        return directory.withLock { directory in
            Slot.all.count { directory.owner(of: $0).map(living.contains) ?? false }
        }
    }

    /// How many requests wait for an answer.
    var waitingRequests: Int { waiting.load(ordering: .relaxed) }

    /// Hears a verifier's whole slot table.
    func heard(_ table: SlotTable) { directory.withLock { $0.merge(table) } }

    /// Asks the owner of a slot.
    ///
    /// - Returns: The answer; a slot without an owner for too long is refused as `unavailable`.
    func ask(_ body: RideRequest.Body, slot: Slot, trace: TraceID) async -> RideReply.Body {
        defer { waiting.wrappingSubtract(1, ordering: .relaxed) }
        guard waiting.wrappingAdd(1, ordering: .relaxed).newValue <= Self.waitingLimit else {
            refused.add()
            return .refused(.away)
        }
        let request = RideRequest(requestID: .random(), trace: trace, body: body)
        let bytes = request.encoded()
        let deadline = transport.now() + Self.patience
        var broken = 0
        while transport.now() < deadline, !Task.isCancelled {
            guard let owner = directory.withLock({ $0.owner(of: slot) }) else {
                await transport.sleep(Self.pause)
                continue
            }
            let remaining = deadline - transport.now()
            do throws(BusError) {
                let answer = try await transport.ask(bytes, owner, remaining, trace)
                guard let reply = try? RideReply(decoding: answer) else {
                    return .refused(RideRefusal(.failed))
                }
                guard case .refused(let refusal) = reply.body, refusal.code == .notOwner else {
                    return reply.body
                }
                directory.withLock { directory in
                    // Its own table says more; only a wrong entry is corrected here.
                    guard directory.owner(of: slot) == owner else { return }
                    directory.note(refusal.owner, owns: slot)
                    if refusal.owner.isEmpty || refusal.owner == owner { directory.forget(slot) }
                }
                await transport.sleep(Self.pause)
            } catch .connectionLost {
                broken += 1
                lost.add()
                guard broken < Self.attempts else { return .refused(.away) }
                forget(owner, slot)
                await waitForSuccessor(of: owner, slot, until: deadline)
            } catch .timeout {
                return .refused(.away)
            } catch .cancelled {
                return .refused(.away)
            } catch {
                // It never ran: the instance is gone, stopping or full.
                forget(owner, slot)
                await transport.sleep(Self.pause)
            }
        }
        unowned.add()
        return .refused(.away)
    }

    /// Waits until another owner of a slot is known, but not for long.
    private func waitForSuccessor(
        of owner: String,
        _ slot: Slot,
        until deadline: ContinuousClock.Instant
    ) async {
        let end = min(deadline, transport.now() + Self.successorPatience)
        while transport.now() < end, !Task.isCancelled {
            let known = directory.withLock { $0.owner(of: slot) }
            guard known == nil || known == owner else { return }
            await transport.sleep(Self.pause)
        }
    }

    /// Forgets an owner that is not there any more, so that its successor's table is waited for.
    private func forget(_ owner: String, _ slot: Slot) {
        let living = Set(transport.living())
        directory.withLock { directory in
            if !living.contains(owner) { directory.remove(owner) }
        }
    }
}

extension RideRefusal {
    /// No verifier could be asked.
    static let away = RideRefusal(.unavailable, retryAfterSeconds: 2)
}
