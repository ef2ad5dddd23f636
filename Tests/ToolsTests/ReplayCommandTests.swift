import Testing
import Transit

@testable import Operations

/// `alongside replay` over a schedule of one straight trip and recordings written here.
@Suite struct ReplayCommandTests {
    private static let date = ServiceDate(daysSince1970: 20_500)
    private static let start = UnixSeconds(20_500 * 86_400 + 8 * 3600)

    private static func index() throws -> ScheduleIndex {
        let shape = try #require(
            ShapeGeometry(points: [47.6, 47.69].map { Coordinate(latitude: $0, longitude: 8) })
        )
        let stops = [("A", 0.0), ("B", 0.5), ("C", 1)].enumerated().map { index, stop in
            let time = 8 * 3600 + index * 600
            return StopTime(
                stopID: StopID(stop.0),
                stopSequence: index,
                alongShape: shape.length * stop.1,
                arrival: time,
                departure: time,
                coordinate: shape.point(at: shape.length * stop.1)
            )
        }
        let trip = Trip(
            id: "T",
            routeID: "R",
            serviceID: "S",
            shape: shape,
            stopTimes: stops
        )
        return ScheduleIndex(
            timeZone: try TimeZoneRules(named: "Etc/UTC"),
            trips: [trip],
            calendars: [:]
        )
    }

    /// A vehicle that waits before its first stop, drives the trip in twenty minutes, and waits again.
    private static func latitude(_ minute: Int) -> Double {
        minute < 0 ? 47.59 : minute > 20 ? 47.7 : 47.6 + 0.0045 * Double(minute)
    }

    private static let archive: String = {
        let head =
            "vehicle.trip.trip_id,vehicle.trip.start_date,vehicle.position.latitude,"
            + "vehicle.position.longitude,vehicle.timestamp,vehicle.vehicle.id\n"
        return head
            + (-3...23).map { minute in
                "T,\(date),\(latitude(minute)),8,\(start + Int64(minute) * 60),bus 7\n"
            }.joined()
    }()

    private static let log: String = {
        let head = "\"vehicleId\",\"time\",\"heading\",\"latitude\",\"longitude\"\r\n"
        return head
            + (0...20).map { minute in
                let time = "2026-02-16 08:\(minute < 10 ? "0" : "")\(minute):00"
                return "7,\"\(time)\",0,\(latitude(minute)),8\r\n"
            }.joined()
    }()

    private func run(_ trace: String, _ options: [String] = []) throws -> String {
        try ReplayCommand.run(
            try ReplayCommand.Options(["s.zip", "t.csv"] + options),
            on: try Self.index(),
            trace: trace.utf8
        )
    }

    @Test func `replays what a rider aboard would have reported`() throws {
        let text = try run(Self.archive)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(
            lines.first == """
                vehicle bus 7, trip T:20260216: verified at 08:02:00, under way at the end; \
                21 of 21 points matched
                """
        )
        #expect(text.contains("| recorded trip | 1 | 1 | 1 | 0 | none | 21 | none |"))
    }

    @Test func `replays the whole recording and lists its points`() throws {
        let text = try run(Self.archive, ["--whole", "--points"])
        #expect(text.contains("21 of 27 points matched"))
        #expect(text.contains("  07:57:00 off_route pending, 0 m along, 1113 m off: Off route: "))
        #expect(text.contains("  08:02:00 matched verified, 1000 m along, 0 m off: Matched; "))
    }

    @Test func `gives a log the trip that it is told`() throws {
        let text = try run(Self.log, ["--trip", "T", "--date", "20260216"])
        #expect(text.hasPrefix("vehicle 7, trip T:20260216: verified at 08:02:00"))
    }

    static let mistakes: [(trace: String, options: [String], message: String)] = [
        (log, [], "the recording names no trips: --trip and --date are needed"),
        (log, ["--trip", "X"], "there is no trip X with a shape in the schedule"),
        ("", [], "t.csv: the file is empty"),
        ("a,b\n1,2\n", [], "t.csv: line 1: there is neither a column vehicle.timestamp nor time"),
        (
            archive + "T,20260216,north,8,1,bus 7\n", [],
            "t.csv: line 29: vehicle.position.latitude is no number: \"north\""
        ),
        (
            "time,latitude,longitude\nnoon,1,2\n", ["--trip", "T", "--date", "20260216"],
            "t.csv: line 2: time is no time: \"noon\""
        ),
        (
            archive.replacing("\nT,", with: "\nU,"), [],
            "t.csv: no vehicle on a trip of the schedule"
        ),
        (archive, ["--date", "20260230"], "--date 20260230 is no date YYYYMMDD"),
        (archive, ["--fast"], ReplayCommand.Options.usage),
    ]

    @Test(arguments: mistakes.indices)
    func `says what is wrong`(row: Int) throws {
        let mistake = Self.mistakes[row]
        let error = #expect(throws: OperationError.self) {
            try run(mistake.trace, mistake.options)
        }
        #expect(error.map { "\($0)" } == mistake.message)
    }

    @Test(arguments: [[], ["s.zip"], ["--points", "t.csv"], ["s.zip", "--points"]])
    func `needs a schedule and a recording`(arguments: [String]) {
        #expect(throws: OperationError.self) { try ReplayCommand.Options(arguments) }
    }
}
