internal import Glibc
internal import Telemetry
internal import Web

/// The version of the product, as `/health`, `/api/capabilities` and metrics show it.
public enum ProductVersion {
    /// The semantic version.
    public static let current = "0.1.0"
}

/// What operators and the supervisor ask, on a port that the gateway does not route.
func internalEndpoints(
    service: String,
    readiness: ReadinessBoard,
    metrics: Metrics
) -> [Endpoint] {
    let health = HTTPResponse.json(
        bytes: Array(
            "{\"status\":\"ok\",\"service\":\"\(service)\",\"version\":\"\(ProductVersion.current)\"}"
                .utf8
        )
    )
    return [
        Endpoint(.get, "/health", access: .anyone, logLevel: .debug) { _ in health },
        Endpoint(.get, "/ready", access: .anyone, logLevel: .debug) { _ in
            switch readiness.current {
            case .ready: return .json(bytes: Array("{\"status\":\"ready\"}".utf8))
            case .notReady(let reason):
                throw HTTPError(status: 503, code: "service.not_ready", message: reason)
            case .notBuilt:
                throw HTTPError(status: 503, code: "service.not_built", message: "not built")
            }
        },
        Endpoint(.get, "/metrics", access: .anyone, logLevel: .debug) { _ in
            HTTPResponse(
                headers: [("Content-Type", "text/plain; version=0.0.4; charset=utf-8")],
                body: .bytes(Array(metrics.rendered().utf8))
            )
        },
    ]
}

/// Figures about the process that every service shows.
func addProcessMetrics(service: String, readiness: ReadinessBoard, to metrics: Metrics) {
    metrics.gauge(
        "alongside_build_info",
        help: "Always 1; the labels say what runs.",
        labels: ["service": service, "version": ProductVersion.current]
    ) { 1 }
    metrics.gauge("service_ready_flag", help: "1 when /ready answers 200.") {
        readiness.current == .ready ? 1 : 0
    }
    metrics.gauge("process_resident_memory_bytes", help: "Memory in RAM.") { residentBytes() }
    let start = Double(Timestamps.nowMilliseconds()) / 1000
    metrics.gauge("process_start_time_seconds", help: "POSIX time of the start.") { start }
}

/// The second number of `/proc/self/statm`, in pages.
private func residentBytes() -> Double {
    let file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return .nan }
    defer { close(file) }
    var text = [UInt8](repeating: 0, count: 128)
    let count = read(file, &text, text.count)
    let words = text.prefix(max(0, count)).split(separator: UInt8(ascii: " "))
    guard words.count > 1, let pages = Double(String(decoding: words[1], as: UTF8.self)) else {
        return .nan
    }
    return pages * Double(sysconf(Int32(_SC_PAGESIZE)))
}
