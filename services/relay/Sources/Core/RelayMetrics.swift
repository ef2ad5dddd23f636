internal import Telemetry

/// What a relay counts; each bound of ``RelayLimits`` has a figure here.
struct RelayMetrics: Sendable {
    /// Why something was dropped; the raw values are labels.
    enum Drop: String, CaseIterable {
        /// No strict JSON object with a `type`.
        case malformed
        /// Longer than a message may be.
        case oversize
        /// A binary message.
        case binary
        /// More frames than the budget allows.
        case overBudget = "over_budget"
        /// A type that nobody knows.
        case unknownType = "unknown_type"
        /// A frame against its rules.
        case invalid
        /// The sender may not, at this moment.
        case gate
        /// The group's view is not confirmed, or too much waited for it.
        case silentGroup = "silent_group"
        /// It came over a socket whose session has ended.
        case sessionEnded = "session_ended"
        /// Too many fixes waited to be stored.
        case unstored
    }

    private let drops: [Drop: Counter]
    private let closes: [CloseReason: Counter]
    private let vanishings: Counter
    private let frames: [String: Counter]
    let viewsFetched: Counter
    let viewsFailed: Counter
    let sweepsFailed: Counter
    let sweepFinds: Counter
    let standstills: Counter
    let storesFailed: Counter
    let fixesTold: Counter
    let fixesHeard: Counter
    let presenceHeard: Counter
    let framesSent: Counter
    let positionsSent: Counter
    let bytesSent: Counter
    let framesMade: Counter
    let gatherings: Counter
    let refusedSockets: Counter
    let refusedOpenings: Counter
    let undecodable: Counter
    let endsTaken: Counter
    let endsUnanswered: Counter
    let turnSeconds: Histogram
    let openSockets: Gauge
    let heldGroups: Gauge
    let silentGroups: Gauge
    let unfinishedBytes: Gauge
    let queuedBytes: Gauge
    let remoteRiders: Gauge

    init(_ metrics: Metrics) {
        drops = Dictionary(
            uniqueKeysWithValues: Drop.allCases.map { drop in
                (
                    drop,
                    metrics.counter(
                        "relay_dropped_total",
                        help: "Frames and news that were dropped.",
                        labels: ["reason": drop.rawValue]
                    )
                )
            }
        )
        closes = Dictionary(
            uniqueKeysWithValues: CloseReason.allCases.map { reason in
                (reason, Self.closed(metrics, reason.rawValue))
            }
        )
        vanishings = Self.closed(metrics, "by_client")
        frames = Dictionary(
            uniqueKeysWithValues: ClientFrame.FrameType.allCases.map { type in
                (
                    type.rawValue,
                    metrics.counter(
                        "relay_frames_received_total",
                        help: "Frames of clients, by type.",
                        labels: ["type": type.rawValue]
                    )
                )
            }
        )
        func counter(_ name: String, _ help: String) -> Counter {
            metrics.counter(name, help: help)
        }
        viewsFetched = counter("relay_view_fetches_total", "Requests for views, answered.")
        viewsFailed = counter("relay_view_fetches_failed_total", "Requests for views, failed.")
        sweepsFailed = counter("relay_sweeps_failed_total", "Sweeps without an answer.")
        sweepFinds = counter("relay_sweep_finds_total", "Changes that only a sweep found.")
        standstills = counter(
            "relay_standstills_total",
            "Times that the relay stood still for so long that all views were fetched anew."
        )
        storesFailed = counter("relay_stores_failed_total", "Batches of fixes not stored.")
        fixesTold = counter("relay_fixes_told_total", "Fixes sent to other relays.")
        fixesHeard = counter("relay_fixes_heard_total", "Fixes that came from other relays.")
        presenceHeard = counter("relay_presence_heard_total", "Parts heard of who is where.")
        framesSent = counter("relay_frames_sent_total", "Frames that clients took.")
        positionsSent = counter("relay_positions_sent_total", "Positions in those frames.")
        bytesSent = counter("relay_sent_bytes_total", "Bytes that clients took.")
        framesMade = counter("relay_position_frames_made_total", "Lists of positions encoded.")
        gatherings = counter(
            "relay_gatherings_total",
            "Times positions for many sockets waited for others."
        )
        refusedSockets = counter("relay_sockets_refused_total", "Upgrades beyond the limit.")
        refusedOpenings = counter(
            "relay_openings_refused_total",
            "Upgrades of accounts that open sockets too often."
        )
        undecodable = counter("relay_messages_undecodable_total", "Messages not understood.")
        endsTaken = counter(
            "relay_session_ends_answered_total",
            "Times another relay confirmed that it took in which sessions had ended."
        )
        endsUnanswered = counter(
            "relay_session_ends_unanswered_total",
            "Times another relay did not confirm that in time."
        )
        turnSeconds = metrics.histogram(
            "relay_turn_duration_seconds",
            help: "Time of one turn of the relay's loop.",
            bounds: [0.0001, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1]
        )
        openSockets = metrics.gauge("relay_open_sockets", help: "Sockets of clients.")
        heldGroups = metrics.gauge("relay_held_groups_items", help: "Groups with someone here.")
        silentGroups = metrics.gauge(
            "relay_silent_groups_items",
            help: "Held groups in which nothing is sent, as their view is not current."
        )
        unfinishedBytes = metrics.gauge(
            "relay_unfinished_messages_bytes",
            help: "Memory of messages that have not ended."
        )
        queuedBytes = metrics.gauge(
            "relay_queued_frames_bytes",
            help: "Bytes that wait for clients; a frame counts for each of them."
        )
        remoteRiders = metrics.gauge(
            "relay_remote_riders_items",
            help: "Riders with a socket at another relay."
        )
    }

    private static func closed(_ metrics: Metrics, _ reason: String) -> Counter {
        metrics.counter(
            "relay_sockets_closed_total",
            help: "Sockets closed, by reason.",
            labels: ["reason": reason]
        )
    }

    func dropped(_ drop: Drop, _ count: Int = 1) { drops[drop]?.add(count) }

    func closed(_ reason: CloseReason) { closes[reason]?.add() }

    func vanished() { vanishings.add() }

    func received(_ frame: ClientFrame) {
        let type: ClientFrame.FrameType =
            switch frame {
            case .join: .join
            case .location: .location
            case .offer: .spinOffer
            case .vote: .spinVote
            case .auth: .auth
            }
        frames[type.rawValue]?.add()
    }
}
