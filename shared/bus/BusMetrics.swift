internal import Telemetry

/// Everything the bus counts.
final class BusMetrics: Sendable {
    let sent, resent, received, expired, undecodable, undeliverable, lateAnswers: Counter
    let publicationsSent, publicationsDropped, publicationsReceived, publicationsMissed: Counter
    let publicationsRepeated, statesResent, connectionsRefused, connectionsLost: Counter
    let unretained: Counter
    let seconds: Histogram
    let serving, waiting, instances: Gauge
    private let failed: [String: Counter]
    private let refused: [AnswerHeader.Status: Counter]

    init(_ metrics: Metrics) {
        sent = metrics.counter("bus_requests_sent_total", help: "Requests handed to the network.")
        resent = metrics.counter(
            "bus_requests_resent_total",
            help: "Requests sent once more after a lost connection."
        )
        received = metrics.counter("bus_requests_received_total", help: "Requests decoded.")
        expired = metrics.counter(
            "bus_requests_expired_total",
            help: "Received requests dropped past their deadline."
        )
        undecodable = metrics.counter(
            "bus_messages_undecodable_total",
            help: "Messages dropped because they do not decode."
        )
        undeliverable = metrics.counter(
            "bus_answers_undeliverable_total",
            help: "Answers whose asker is gone or does not read."
        )
        lateAnswers = metrics.counter(
            "bus_answers_late_total",
            help: "Answers to requests that nobody waits for."
        )
        publicationsSent = metrics.counter("bus_publications_sent_total", help: "Published.")
        publicationsDropped = metrics.counter(
            "bus_publications_dropped_total",
            help: "Publications refused by a limit of this process."
        )
        publicationsReceived = metrics.counter(
            "bus_publications_received_total",
            help: "Publications handed over."
        )
        publicationsMissed = metrics.counter(
            "bus_publications_missed_total",
            help: "Publications lost because this subscriber was slow or cut off."
        )
        publicationsRepeated = metrics.counter(
            "bus_publications_repeated_total",
            help: "Publications dropped because they were heard before."
        )
        statesResent = metrics.counter(
            "bus_states_resent_total",
            help: "Retained states sent to new subscribers."
        )
        connectionsRefused = metrics.counter(
            "bus_connections_refused_total",
            help: "Connections without the fleet's key."
        )
        connectionsLost = metrics.counter(
            "bus_connections_lost_total",
            help: "Connections to other instances that broke."
        )
        unretained = metrics.counter(
            "bus_states_unretained_total",
            help: "States published but not retained because of the limit."
        )
        seconds = metrics.histogram(
            "bus_request_seconds",
            help: "From asking to the answer, failures left out."
        )
        serving = metrics.gauge("bus_serving_requests", help: "Handlers running.")
        waiting = metrics.gauge("bus_waiting_requests", help: "Requests waiting for a handler.")
        instances = metrics.gauge("bus_known_instances", help: "Live instances known.")
        let reasons = [
            "unknown_instance", "full", "busy", "closing", "unreachable", "timeout",
            "connection_lost", "too_large", "cancelled", "closed", "system",
        ]
        failed = Dictionary(
            uniqueKeysWithValues: reasons.map { reason in
                (
                    reason,
                    metrics.counter(
                        "bus_requests_failed_total",
                        help: "Requests that failed, by reason.",
                        labels: ["reason": reason]
                    )
                )
            }
        )
        let statuses: [(AnswerHeader.Status, String)] = [
            (.busy, "busy"), (.closing, "closing"), (.misdirected, "misdirected"),
            (.tooLarge, "too_large"),
        ]
        refused = Dictionary(
            uniqueKeysWithValues: statuses.map { status, reason in
                (
                    status,
                    metrics.counter(
                        "bus_requests_refused_total",
                        help: "Received requests that were refused, by reason.",
                        labels: ["reason": reason]
                    )
                )
            }
        )
    }

    func count(_ error: BusError) { failed[error.name]?.add() }
    func countRefusal(_ status: AnswerHeader.Status) { refused[status]?.add() }
}
