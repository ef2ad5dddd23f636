internal import Bus
internal import Messages
internal import ServiceKit
internal import Telemetry

/// Has every live relay close the sockets of sessions that have just ended (architecture, section 6).
///
/// Whoever signs out gets the answer when all relays have looked at the revocations and the others know which sockets
/// that ended (decision 0094), or after a second. A relay that stayed silent looks by itself within a second.
struct RelayNotice: Sendable {
    private let bus: Bus
    private let round: RelayRound

    init(_ bus: Bus, metrics: Metrics) {
        self.bus = bus
        round = RelayRound(
            bus,
            confirmed: metrics.counter(
                "relay_session_checks_answered_total",
                help: "Times a relay confirmed that it closed the sockets of ended sessions."
            ),
            silent: metrics.counter(
                "relay_session_checks_unanswered_total",
                help: "Times a relay did not confirm that in time."
            )
        )
    }

    /// Asks all relays; what was revoked must be committed before.
    func tell() async {
        await round.tell(
            RelayRequest(body: .checkSessions),
            to: bus.instances(of: ServiceNames.relay),
            expecting: .sessionsChecked
        )
    }
}
