internal import Telemetry

/// What a server counts; handles are made once, so that a request looks no name up.
struct ServerMetrics: Sendable {
    private struct PerEndpoint: Sendable {
        let classes: [Counter]
        let duration: Histogram
    }

    let openConnections: Gauge
    let waitingRequests: Gauge
    let openStreams: Gauge
    let cutConnections: Counter
    let abandonedRequests: Counter
    private let endpoints: [PerEndpoint]
    private let unmatched: PerEndpoint

    init(_ endpoints: [Endpoint], _ metrics: Metrics) {
        openConnections = metrics.gauge("http_open_connections", help: "Open HTTP connections.")
        waitingRequests = metrics.gauge(
            "http_waiting_requests",
            help: "Requests whose handler is running."
        )
        openStreams = metrics.gauge(
            "http_open_streams",
            help: "Callers of an answer that goes on until they leave."
        )
        cutConnections = metrics.counter(
            "http_cut_connections_total",
            help:
                "Connections cut because a head, a body or an answer took too long, or to make room for others."
        )
        abandonedRequests = metrics.counter(
            "http_abandoned_requests_total",
            help: "Requests that ended without a whole answer."
        )
        self.endpoints = endpoints.map {
            Self.make(metrics, pattern: $0.pattern, method: $0.method.rawValue)
        }
        unmatched = Self.make(metrics, pattern: "unmatched", method: "any")
    }

    /// Counts one answered request.
    func record(endpoint: Int?, status: Int, seconds: Double) {
        let family = endpoint.map { endpoints[$0] } ?? unmatched
        family.classes[min(max(status / 100, 1), 5) - 1].add()
        family.duration.observe(seconds)
    }

    private static func make(_ metrics: Metrics, pattern: String, method: String) -> PerEndpoint {
        PerEndpoint(
            classes: (1...5).map { statusClass in
                metrics.counter(
                    "http_requests_total",
                    help: "Requests answered.",
                    labels: ["pattern": pattern, "method": method, "status": "\(statusClass)xx"]
                )
            },
            duration: metrics.histogram(
                "http_request_duration_seconds",
                help: "Time from the request line to the end of the answer.",
                labels: ["pattern": pattern, "method": method]
            )
        )
    }
}
