import Synchronization
import Telemetry
import Testing

@Suite struct LoggerTests {
    private final class Lines: Sendable {
        let all = Mutex<[String]>([])
    }

    @Test func `writes one JSON object with escaped values`() throws {
        let lines = Lines()
        let logger = Logger(
            level: .info,
            sink: { _, line in lines.all.withLock { $0.append(line) } }
        )
        .with(["service.name": "feed"])
        logger.info("started", ["note": .text("a \"b\"\n\u{1}"), "port": 8080, "ok": .flag(true)])
        let line = try #require(lines.all.withLock { $0.first })
        #expect(line.hasPrefix("{\"time\":\"20"))
        #expect(
            line.hasSuffix(
                ",\"level\":\"info\",\"message\":\"started\",\"service.name\":\"feed\","
                    + "\"note\":\"a \\\"b\\\"\\n\\u0001\",\"port\":8080,\"ok\":true}"
            )
        )
    }

    @Test(arguments: LogLevel.allCases)
    func `writes a line only at its level or above`(level: LogLevel) {
        let lines = Lines()
        let logger = Logger(
            level: .warning,
            sink: { _, line in lines.all.withLock { $0.append(line) } }
        )
        logger.log(level, "x")
        #expect(lines.all.withLock { $0.count } == (level >= .warning ? 1 : 0))
    }
}

@Suite struct TimestampsTests {
    @Test(arguments: [
        (Int64(0), "1970-01-01T00:00:00Z"), (951_782_400, "2000-02-29T00:00:00Z"),
        (1_771_257_600, "2026-02-16T16:00:00Z"), (-1, "1969-12-31T23:59:59Z"),
        (4_102_444_799, "2099-12-31T23:59:59Z"),
    ])
    func `writes RFC 3339 in UTC`(seconds: Int64, text: String) {
        #expect(Timestamps.text(ofSeconds: seconds) == text)
    }
}

@Suite struct TraceIDTests {
    @Test func `reads and writes the id of a traceparent`() throws {
        let trace = try #require(
            TraceID(traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
        )
        #expect(trace.description == "0af7651916cd43dd8448eb211c80319c")
    }

    @Test(arguments: [
        "", "00-0af7651916cd43dd8448eb211c80319c",
        "00-00000000000000000000000000000000-b7ad6b7169203331-01",
        "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
    ])
    func `refuses what is not a traceparent`(header: String) {
        #expect(TraceID(traceparent: header) == nil)
    }
}

@Suite struct DurationTests {
    @Test(arguments: [
        (Duration.zero, UInt64(0)), (.nanoseconds(1), 1), (.milliseconds(1500), 1_500_000_000),
        (.seconds(-1), 0), (.nanoseconds(-1), 0), (.seconds(Int64.max), 1 << 63),
    ])
    func `counts whole nanoseconds and never overflows`(duration: Duration, count: UInt64) {
        #expect(duration.nanoseconds == count)
    }
}

@Suite struct MetricsTests {
    @Test func `renders Prometheus text in the order of names`() {
        let metrics = Metrics()
        let refused = metrics.counter("b_total", help: "Refused.", labels: ["reason": "a\"b"])
        let depth = metrics.gauge("a_items", help: "Depth.")
        let wait = metrics.histogram("c_seconds", help: "Wait.", bounds: [1, 2])
        refused.add(2)
        depth.set(1.5)
        wait.observe(1)
        wait.observe(3)
        #expect(
            metrics.rendered() == """
                # HELP a_items Depth.
                # TYPE a_items gauge
                a_items 1.5
                # HELP b_total Refused.
                # TYPE b_total counter
                b_total{reason="a\\"b"} 2
                # HELP c_seconds Wait.
                # TYPE c_seconds histogram
                c_seconds_bucket{le="1.0"} 1
                c_seconds_bucket{le="2.0"} 1
                c_seconds_bucket{le="+Inf"} 2
                c_seconds_sum 4.0
                c_seconds_count 2

                """
        )
    }

    @Test func `a help of two lines is one`() {
        let metrics = Metrics()
        metrics.counter("a_total", help: "One\nand \\ two.").add()
        #expect(
            metrics.rendered() == """
                # HELP a_total One\\nand \\\\ two.
                # TYPE a_total counter
                a_total 1

                """
        )
    }
}
