internal import Bus
internal import Messages
internal import Telemetry

/// Has every live relay close the sockets of sessions that have just ended (architecture, section 6).
///
/// Taking away is acknowledged: whoever signs out gets the answer when all relays have looked at the
/// revocations and the others know which sockets that ended (decision 0094), or after a second. One that stayed silent is counted and looks by itself within a second.
struct RelayNotice: Sendable {
    /// How long the relays have.
    static let patience = Duration.seconds(1)

    private let bus: Bus
    private let answered: Counter
    private let silent: Counter

    init(_ bus: Bus, metrics: Metrics) {
        self.bus = bus
        answered = metrics.counter(
            "relay_session_checks_answered_total",
            help: "Times a relay confirmed that it closed the sockets of ended sessions."
        )
        silent = metrics.counter(
            "relay_session_checks_unanswered_total",
            help: "Times a relay did not confirm that in time."
        )
    }

    /// Asks all relays; what was revoked must be committed before.
    func tell() async {
        let request = RelayRequest(body: .checkSessions)
        let body = request.encoded()
        await withDiscardingTaskGroup { group in
            for relay in bus.instances(of: ServiceNames.relay) {
                group.addTask {
                    let isDone = await confirms(relay, body, request.trace)
                    (isDone ? answered : silent).add()
                }
            }
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
        return reply.body == .sessionsChecked
    }
}
