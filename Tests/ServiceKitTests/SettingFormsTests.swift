import ServiceKit
import Testing
import Transit

@Suite struct GoDurationTests {
    @Test(arguments: [
        ("0", Duration.zero), ("+0", .zero), ("0s", .zero), ("300ms", .milliseconds(300)),
        ("1.5h", .seconds(5400)), ("1h30m", .seconds(5400)), (".5s", .milliseconds(500)),
        ("-15m", .seconds(-900)), ("1us", .microseconds(1)), ("2µs", .microseconds(2)),
        ("3μs", .microseconds(3)), ("7ns", .nanoseconds(7)), ("168h", .seconds(604_800)),
        ("1m1m", .seconds(120)), ("2562047h", .seconds(9_223_369_200)),
    ])
    func `reads what Go reads`(text: String, duration: Duration) {
        #expect(GoDuration.parse(text) == duration)
    }

    @Test(arguments: [
        "", "-", "5", "1d", "1 h", "h", ".", ".s", "1h-5m", "1H", "--1s", "1e3s", "١s", "2562048h",
        "9223372036854775808ns",
    ])
    func `refuses what Go refuses`(text: String) {
        #expect(GoDuration.parse(text) == nil)
    }

    @Test(arguments: ["0s", "90ms", "1m30s", "1h30m", "168h", "-15m", "1s500ms", "7us", "9ns"])
    func `writes what it reads`(text: String) throws {
        let duration = try #require(GoDuration.parse(text))
        #expect(GoDuration.text(duration) == text)
    }
}

@Suite struct RFC3339Tests {
    @Test(arguments: [
        ("1970-01-01T00:00:00Z", UnixSeconds(0)), ("2026-02-16T16:00:00Z", 1_771_257_600),
        ("2026-02-16t16:00:00.999z", 1_771_257_600), ("2026-02-16 16:00:00+00:00", 1_771_257_600),
        ("2026-02-16T11:00:00-05:00", 1_771_257_600), ("2024-02-29T23:59:59Z", 1_709_251_199),
        ("1969-12-31T23:59:59Z", -1),
    ])
    func `reads an instant`(text: String, seconds: UnixSeconds) {
        #expect(RFC3339.parse(text) == seconds)
    }

    @Test(arguments: [
        "", "2026-02-16", "2026-02-16T16:00:00", "2026-02-30T16:00:00Z", "2026-02-16T24:00:00Z",
        "2026-02-16T16:60:00Z", "2026-02-16T16:00:60Z", "2026-02-16T16:00:00.Z",
        "2026-02-16T16:00:00+0100", "2026-02-16T16:00:00+24:00", "2026-02-16T16:00:00Zx",
        "2026/02/16T16:00:00Z", "+026-02-16T16:00:00Z", "0000-01-01T00:00:00Z",
    ])
    func `refuses what is not one`(text: String) {
        #expect(RFC3339.parse(text) == nil)
    }
}

@Suite struct CommandLineArgumentsTests {
    private let known = [
        CommandLineOption("help"), CommandLineOption("port", takesValue: true),
        CommandLineOption("print-configuration"),
    ]

    @Test(arguments: [
        ["-port", "1"], ["--port", "1"], ["-port=1"], ["--port=1"], ["--po", "1"],
        ["--port", "2", "-port", "1"],
    ])
    func `takes one dash and two, a value beside and behind`(arguments: [String]) throws {
        let line = try CommandLineArguments(arguments, options: known)
        #expect(line.value(of: "port") == "1")
        #expect(!line.has("help"))
    }

    @Test func `keeps what is no option, in order`() throws {
        let line = try CommandLineArguments(["a", "-help", "b", "--", "-port"], options: known)
        #expect(line.positional == ["a", "b", "-port"])
        #expect(line.has("help"))
    }

    @Test func `stops at a subcommand when told to`() throws {
        let line = try CommandLineArguments(
            ["-help", "up", "--demo"],
            options: known,
            stopsAtPositional: true
        )
        #expect(line.positional == ["up", "--demo"])
    }

    @Test(arguments: [
        (["--prot", "1"], "unknown or ambiguous option --prot"),
        (["--p"], "unknown or ambiguous option --p"),
        (["x", "-q"], "unknown or ambiguous option -q"),
        (["--port"], "the option --port needs a value"),
        (["--help=yes"], "unknown or ambiguous option --help=yes"),
    ])
    func `names the option it does not take`(arguments: [String], sentence: String) {
        let error = #expect(throws: UsageError.self) {
            try CommandLineArguments(arguments, options: known)
        }
        #expect(error?.description == sentence)
    }

    @Test func `goes on after a fault for who wants them all`() {
        let (line, faults) = CommandLineArguments.read(
            ["x", "--prot", "1", "-help", "-q", "--port"],
            options: known
        )
        #expect(
            faults.map(\.description) == [
                "unknown or ambiguous option --prot", "unknown or ambiguous option -q",
                "the option --port needs a value",
            ]
        )
        #expect(line.has("help"))
        #expect(line.positional == ["x", "1"])
    }

    @Test func `works on many threads at once`() async throws {
        try await withThrowingTaskGroup(of: String?.self) { group in
            for index in 0..<100 {
                group.addTask { [known] in
                    try CommandLineArguments(["-port", "\(index)"], options: known)
                        .value(of: "port")
                }
            }
            var seen: Set<String> = []
            for try await value in group { seen.insert(value ?? "") }
            #expect(seen.count == 100)
        }
    }
}
