internal import Bus
internal import Messages
internal import Telemetry
internal import Transit

/// What groups tells the relays: changes, who is taken away, fixes and place events.
///
/// Taking away is acknowledged, giving may be late (architecture, section 6): who leaves, pauses,
/// is removed or is erased gets the answer after every live relay has let go, or after a second; a
/// relay that stayed silent is counted and finds the change by its own sweep.
struct LiveNews: Sendable {
    /// How long the relays have to let go.
    static let patience = Duration.seconds(1)
    /// How long a fix that came over HTTP counts, in seconds (seed, section 6.3).
    static let fixTTLSeconds = 300

    /// What is needed of the bus.
    struct Transport: Sendable {
        /// Says something to whoever listens now.
        let publish: @Sendable (_ topic: String, _ key: String, _ body: [UInt8], TraceID) -> Void
        /// The relays that live.
        let relays: @Sendable () -> [String]
        /// Asks one relay.
        let ask:
            @Sendable (
                _ body: [UInt8], _ instance: String, _ timeout: Duration, TraceID
            ) async throws(BusError) -> [UInt8]
    }

    private let transport: Transport
    private let silent: Counter
    private let taken: Counter

    /// Makes the news of a process.
    init(_ transport: Transport, metrics: Metrics) {
        self.transport = transport
        silent = metrics.counter(
            "relay_withdrawals_unanswered_total",
            help: "Times a relay did not confirm in time that it let go of members."
        )
        taken = metrics.counter(
            "relay_withdrawals_answered_total",
            help: "Times a relay confirmed that it let go of members."
        )
    }

    /// Tells what a committed transaction changed; returns when everyone withdrawn is gone from
    /// the relays or they had their time.
    ///
    /// Goes on when the caller's task is cancelled: the change is made.
    func tell(_ changes: [GroupChanged], trace: TraceID) async {
        for change in changes {
            let news = GroupChange(
                trace: trace,
                groupID: change.groupID,
                version: change.version,
                isGone: change.isGone
            )
            transport.publish(
                BusTopics.groupChanges,
                change.groupID.description,
                news.encoded(),
                trace
            )
        }
        let withdrawals = changes.flatMap(\.withdrawals)
        guard !withdrawals.isEmpty else { return }
        await Task { await takeAway(withdrawals, trace) }.value
    }

    /// Shows a fix on the maps that are open.
    func show(_ fix: LiveFix) {
        guard !fix.targets.isEmpty else { return }
        transport.publish(
            BusTopics.liveFixes,
            fix.accountID.description,
            fix.encoded(),
            fix.trace
        )
    }

    /// Tells a circle of an arrival or a departure.
    func show(_ event: PlaceEventNotice) {
        transport.publish(
            BusTopics.placeEvents,
            "\(event.groupID)/\(event.sequence)",
            event.encoded(),
            event.trace
        )
    }

    private func takeAway(_ withdrawals: [Withdrawal], _ trace: TraceID) async {
        let body = RelayRequest(trace: trace, body: .takeAway(withdrawals)).encoded()
        await withDiscardingTaskGroup { group in
            for relay in transport.relays() {
                group.addTask {
                    let isDone = await confirms(relay, body, trace)
                    (isDone ? taken : silent).add()
                }
            }
        }
    }

    private func confirms(_ relay: String, _ body: [UInt8], _ trace: TraceID) async -> Bool {
        guard let answer = try? await transport.ask(body, relay, Self.patience, trace),
            let reply = try? RelayReply(decoding: answer)
        else { return false }
        return reply.body == .takenAway
    }
}
