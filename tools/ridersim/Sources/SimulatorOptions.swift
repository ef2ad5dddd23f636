internal import FoundationEssentials
internal import ServiceKit
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
        let (line, unread) = CommandLineArguments.read(
            Array(arguments.dropFirst()),
            options: Self.flags
        )
        var faults: [String] = []
        for (name, value) in line.options {
            if let fault = set(name, value) { faults.append(fault) }
        }
        faults += unread.map(\.description)
        faults += line.positional.map { "unexpected argument \"\($0)\"" }
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
        case "url":
            guard let address = URL(string: value), ["http", "https"].contains(address.scheme),
                address.host()?.isEmpty == false
            else { return "-url must be an http or https URL, not \"\(value)\"" }
            url = value
        case "gtfs": gtfs = value
        case "trip": trips.append(value)
        case "random": return Self.read(name, value, 1...1000, Int.init) { random = $0 }
        case "start-date":
            guard ServiceDate(value) != nil else { return "-start-date must be YYYYMMDD" }
            startDate = value
        case "interval":
            return Self.read(name, value, .seconds(1)...(.seconds(60))) { intervalSeconds = $0 }
        case "speed": return Self.read(name, value, 0.1...60, Double.init) { speed = $0 }
        case "noise": return Self.read(name, value, 0...500, Double.init) { noise = $0 }
        case "offroute-after":
            return Self.read(name, value, Self.rideTimes) { offRouteAfterSeconds = $0 }
        case "riders-per-trip":
            return Self.read(name, value, 1...1000, Int.init) { ridersPerTrip = $0 }
        case "duration":
            return Self.read(name, value, Self.rideTimes) { durationSeconds = $0 }
        case "expect-end":
            guard RideEndReason(rawValue: value) != nil else {
                return "-expect-end must be an end reason such as arrived or off_route"
            }
            expectedEnd = value
        case "seed": return Self.read(name, value, 0...UInt64.max, Self.whole) { seed = $0 }
        case "clock-offset":
            return Self.read(name, value, Self.clockOffsets) { clockOffsetSeconds = $0 }
        case "installations": installations = value
        case "from-start": startsAtShapeStart = true
        case "follow-schedule": followsSchedule = true
        case "repeat": repeats = true
        case "help": wantsHelp = true
        default: preconditionFailure("the flag -\(name) is declared but not read")
        }
        return nil
    }

    private static let rideTimes: ClosedRange<Duration> = .zero ... .seconds(86_400)
    /// A duration holds 292 years.
    private static let clockOffsets: ClosedRange<Duration> =
        .seconds(-9_000_000_000) ... .seconds(9_000_000_000)

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

    private static func read(
        _ name: String,
        _ text: String,
        _ range: ClosedRange<Duration>,
        _ store: (_ seconds: Double) -> Void
    ) -> String? {
        guard let value = GoDuration.parse(text), range.contains(value) else {
            let bounds =
                "\(GoDuration.text(range.lowerBound)) to \(GoDuration.text(range.upperBound))"
            return "-\(name) must be from \(bounds) with a unit, such as 5s, not \"\(text)\""
        }
        let parts = value.components
        store(Double(parts.seconds) + Double(parts.attoseconds) * 1e-18)
        return nil
    }

    // MARK: - Flags

    private static let flags =
        [
            "url", "gtfs", "trip", "random", "start-date", "interval", "speed", "noise",
            "offroute-after", "riders-per-trip", "duration", "expect-end", "seed", "clock-offset",
            "installations",
        ].map { CommandLineOption($0, takesValue: true) }
        + ["from-start", "follow-schedule", "repeat", "help"].map { CommandLineOption($0) }
}

/// Everything that is wrong with a command line.
public struct OptionFaults: Error, Equatable {
    /// One sentence each.
    public let sentences: [String]
}
