@preconcurrency internal import CLinux
internal import Glibc
internal import Synchronization
internal import Transit
internal import VehiclePositionsKit

/// What the command line asks for.
public struct SimulatorOptions: Sendable, Equatable {
    /// The server.
    public var url = "http://localhost:8080"
    /// The schedule, a path or a URL.
    public var gtfs = "Tests/Fixtures/fixture.zip"
    /// The trips to ride.
    public var trips: [String] = []
    /// How many trips to choose among those under way.
    public var random = 0
    /// The service date `YYYYMMDD`; empty for the one that fits now.
    public var startDate = ""
    /// Seconds between two fixes.
    public var intervalSeconds = 5.0
    /// Metres per second along the shape.
    public var speed = 10.0
    /// Metres of jitter.
    public var noise = 8.0
    /// Seconds until the riders leave the shape; 0 for never.
    public var offRouteAfterSeconds = 0.0
    /// Riders on each trip.
    public var ridersPerTrip = 1
    /// Seconds until the riders get off; 0 to ride to the end.
    public var durationSeconds = 0.0
    /// The reason every ride must end with; empty accepts an arrival, or getting off in time.
    public var expectedEnd = ""
    /// Decides every random choice.
    public var seed: UInt64 = 1
    /// Whether riders begin at the start of the shape whatever the time.
    public var startsAtShapeStart = false
    /// Whether riders move by the timetable instead of at one speed.
    public var followsSchedule = false
    /// Whether riders take another ride after each.
    public var repeats = false
    /// A file that keeps the riders between runs; empty for none.
    public var installations = ""
    /// Seconds the server's clock is ahead of this machine's.
    public var clockOffsetSeconds = 0.0
    /// Whether only the help text is wanted.
    public var wantsHelp = false

    /// Makes the default options.
    public init() {}

    /// Reads a command line; `-flag` and `--flag` mean the same.
    ///
    /// - Parameter arguments: The words, the program's name first.
    /// - Throws: ``OptionFaults`` with a sentence for everything that is wrong.
    public init(arguments: [String]) throws(OptionFaults) {
        var faults: [String] = []
        let rest = Self.scan(arguments) { name, value in
            if let fault = set(name, value) { faults.append(fault) }
        }
        faults += rest.map { "unexpected argument \"\($0)\"" }
        if trips.isEmpty && random == 0 && !wantsHelp {
            faults.append("name a trip with -trip, or let -random choose")
        }
        if !faults.isEmpty { throw OptionFaults(sentences: faults) }
    }

    /// Whether a ride may end like this.
    func expects(_ reason: RideEndReason) -> Bool {
        if !expectedEnd.isEmpty { return reason.rawValue == expectedEnd }
        return reason == .arrived || (durationSeconds > 0 && reason == .userRequested)
    }

    // MARK: - Values

    private mutating func set(_ name: String, _ value: String) -> String? {
        switch name {
        case "url": url = value
        case "gtfs": gtfs = value
        case "trip": trips.append(value)
        case "random": return Self.read(name, value, 1...1000, Int.init) { random = $0 }
        case "start-date":
            guard ServiceDate(value) != nil else { return "-start-date must be YYYYMMDD" }
            startDate = value
        case "interval":
            return Self.read(name, value, 1...60, GoDuration.seconds) { intervalSeconds = $0 }
        case "speed": return Self.read(name, value, 0.1...60, Double.init) { speed = $0 }
        case "noise": return Self.read(name, value, 0...500, Double.init) { noise = $0 }
        case "offroute-after":
            return Self.read(name, value, 0...86_400, GoDuration.seconds) {
                offRouteAfterSeconds = $0
            }
        case "riders-per-trip":
            return Self.read(name, value, 1...1000, Int.init) { ridersPerTrip = $0 }
        case "duration":
            return Self.read(name, value, 0...86_400, GoDuration.seconds) { durationSeconds = $0 }
        case "expect-end":
            guard RideEndReason(rawValue: value) != nil else {
                return "-expect-end must be an end reason such as arrived or off_route"
            }
            expectedEnd = value
        case "seed": return Self.read(name, value, 0...UInt64.max, Self.whole) { seed = $0 }
        case "clock-offset":
            return Self.read(name, value, -1e10...1e10, GoDuration.seconds) {
                clockOffsetSeconds = $0
            }
        case "installations": installations = value
        case "from-start": startsAtShapeStart = true
        case "follow-schedule": followsSchedule = true
        case "repeat": repeats = true
        case "help": wantsHelp = true
        default: return "-\(value) is unknown, ambiguous or lacks its value"
        }
        return nil
    }

    private static func whole(_ text: String) -> UInt64? { UInt64(text) }

    private static func read<Value: Comparable>(
        _ name: String,
        _ text: String,
        _ range: ClosedRange<Value>,
        _ parse: (String) -> Value?,
        _ store: (Value) -> Void
    ) -> String? {
        guard let value = parse(text), range.contains(value) else {
            return
                "-\(name) must be from \(range.lowerBound) to \(range.upperBound), not \"\(text)\""
        }
        store(value)
        return nil
    }

    // MARK: - getopt

    private static let valued = [
        "url", "gtfs", "trip", "random", "start-date", "interval", "speed", "noise",
        "offroute-after", "riders-per-trip", "duration", "expect-end", "seed", "clock-offset",
        "installations",
    ]
    private static let plain = ["from-start", "follow-schedule", "repeat", "help"]

    /// `getopt` keeps its place in global variables: one scan at a time.
    private static let scanner = Mutex(())

    /// Hands over each flag and returns the words that are none; a faulty flag has the name `?`.
    private static func scan(
        _ arguments: [String],
        _ found: (_ name: String, _ value: String) -> Void
    ) -> [String] {
        scanner.withLock { _ in
            let names = valued + plain
            let pointers = names.map { strdup($0) }
            var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
            let owned = words
            defer { for word in pointers + owned { free(word) } }
            var flags = zip(names, pointers).map { name, pointer in
                option(
                    name: UnsafePointer(pointer),
                    has_arg: valued.contains(name) ? 1 : 0,
                    flag: nil,
                    val: 0
                )
            }
            flags.append(option())
            opterr = 0
            optind = 0
            let count = Int32(arguments.count)
            while true {
                var index: Int32 = -1
                let result = getopt_long_only(count, &words, "", flags, &index)
                guard result != -1 else { break }
                if result == 0 {
                    found(names[Int(index)], optarg.map { String(cString: $0) } ?? "")
                } else {
                    let word = words[max(0, Int(optind) - 1)].map { String(cString: $0) } ?? ""
                    found("?", String(word.drop { $0 == "-" }))
                }
            }
            return words[Int(optind)..<arguments.count].map { $0.map { String(cString: $0) } ?? "" }
        }
    }
}

/// Everything that is wrong with a command line.
public struct OptionFaults: Error, Equatable {
    /// One sentence each.
    public let sentences: [String]
}
