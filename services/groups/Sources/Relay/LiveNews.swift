internal import Bus
internal import Messages
internal import ServiceKit
internal import Telemetry
internal import Transit

/// What groups tells the relays: changes, who is taken away, fixes and place events.
///
/// Taking away is acknowledged, giving may be late (architecture, section 6): who leaves, pauses,
/// is removed or is erased gets the answer after every live relay has let go, or after a second; a
/// relay that stayed silent is counted and finds the change by its own sweep.
struct LiveNews: Sendable {
    /// How long a fix that came over HTTP counts, in seconds (seed, section 6.3).
    static let fixTTLSeconds = 300

    /// What is needed of the bus.
    struct Transport: Sendable {
        /// Says something to whoever listens now.
        let publish: @Sendable (_ topic: String, _ key: String, _ body: [UInt8], TraceID) -> Void
        /// The relays that live.
        let relays: @Sendable () -> [String]
        /// Asks one relay.
        let ask: RelayRound.Ask
    }

    private let transport: Transport
    private let round: RelayRound

    /// Makes the news of a process.
    init(_ transport: Transport, metrics: Metrics) {
        self.transport = transport
        round = RelayRound(
            confirmed: metrics.counter(
                "relay_withdrawals_answered_total",
                help: "Times a relay confirmed that it let go of members."
            ),
            silent: metrics.counter(
                "relay_withdrawals_unanswered_total",
                help: "Times a relay did not confirm in time that it let go of members."
            ),
            ask: transport.ask
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
        let request = RelayRequest(trace: trace, body: .takeAway(withdrawals))
        await Task {
            _ = await round.tell(request, to: transport.relays(), expecting: .takenAway)
        }.value
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
}
