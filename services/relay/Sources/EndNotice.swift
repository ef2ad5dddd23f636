internal import Bus
internal import Messages
internal import Telemetry

/// Has other relays take in that sessions have ended, and waits until they have (decision 0094).
struct EndNotice: Sendable {
    /// How long they have: auth waits no longer for all of it.
    static let patience = Duration.seconds(1)

    private let bus: Bus
    private let taken: Counter
    private let silent: Counter

    init(_ bus: Bus, metrics: RelayMetrics) {
        self.bus = bus
        taken = metrics.endsTaken
        silent = metrics.endsUnanswered
    }

    /// Tells relays; false when one did not confirm it in time.
    func tell(_ relays: Set<String>, _ departures: [RelayedDeparture]) async -> Bool {
        let request = RelayRequest(body: .departed(departures))
        let body = request.encoded()
        return await withTaskGroup(of: Bool.self) { group in
            for relay in relays {
                group.addTask {
                    let isTaken = await confirms(relay, body, request.trace)
                    (isTaken ? taken : silent).add()
                    return isTaken
                }
            }
            var areAllTaken = true
            for await isTaken in group where !isTaken { areAllTaken = false }
            return areAllTaken
        }
    }

    private func confirms(_ relay: String, _ body: [UInt8], _ trace: TraceID) async -> Bool {
        let answer = try? await bus.request(
            body,
            to: relay,
            timeout: Self.patience,
            trace: trace
        )
        guard let answer, let reply = try? RelayReply(decoding: answer) else { return false }
        return reply.body == .departuresTaken
    }
}
