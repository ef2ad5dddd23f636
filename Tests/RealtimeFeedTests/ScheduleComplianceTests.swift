import RealtimeFeed
import Schedule
import TestKit
import Testing
import Transit

/// The rules that hold a feed against its schedule, both sides of each.
@Suite struct ScheduleComplianceTests {
    private static let schedule: ScheduleIndex = {
        let path = ProjectPaths.root + "/Tests/Fixtures/fixture.zip"
        guard let index = try? ScheduleLoader.load(path: path) else {
            preconditionFailure("\(path) is a schedule")
        }
        return index
    }()

    /// The fixture's straight trip once more, as frequencies.txt would name it.
    private static func frequent(_ kind: TripFacts.Frequency) -> ScheduleIndex {
        ScheduleIndex(
            timeZone: schedule.timeZone,
            trips: schedule.tripIDs.compactMap { schedule.trip($0) },
            calendars: [:],
            routes: Array(schedule.routes),
            stops: Array(schedule.stops),
            frequencies: ["T1": kind]
        )
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let rule: String
        let what: String
        let breaks: Bool
        let entity: FeedEntity
        var schedule = ScheduleComplianceTests.schedule
        var positions: FeedMessage?
        var testDescription: String { "\(rule) \(breaks ? "found" : "not found"): \(what)" }
    }

    private static func trip(
        _ rule: String,
        _ what: String,
        breaks: Bool,
        _ descriptor: TripDescriptor,
        in schedule: ScheduleIndex? = nil
    ) -> Case {
        var vehicle = Samples.vehicle(latitude: 47.6, longitude: -122.33)
        vehicle.vehicle?.trip = descriptor
        return Case(
            rule: rule,
            what: what,
            breaks: breaks,
            entity: vehicle,
            schedule: schedule ?? Self.schedule
        )
    }

    private static func place(
        _ rule: String,
        _ what: String,
        breaks: Bool,
        _ latitude: Float,
        _ longitude: Float,
        trip: TripID? = "T1"
    ) -> Case {
        var vehicle = Samples.vehicle(latitude: latitude, longitude: longitude)
        vehicle.vehicle?.trip = trip.map { TripDescriptor(tripID: $0) }
        return Case(rule: rule, what: what, breaks: breaks, entity: vehicle)
    }

    private static func speed(_ what: String, breaks: Bool, _ speed: Float) -> Case {
        Case(rule: "W004", what: what, breaks: breaks, entity: Samples.vehicle(speed: speed))
    }

    private static func stop(_ what: String, breaks: Bool, _ id: StopID) -> Case {
        var vehicle = Samples.vehicle()
        vehicle.vehicle?.stopID = id
        let schedule = ScheduleIndex(
            timeZone: schedule.timeZone,
            trips: [],
            calendars: [:],
            stops: [Stop(id: "S", locationType: 1), Stop(id: "P")]
        )
        return Case(rule: "E015", what: what, breaks: breaks, entity: vehicle, schedule: schedule)
    }

    private static func stops(
        _ rule: String,
        _ what: String,
        breaks: Bool,
        trip: TripID = "T1",
        _ updates: [StopTimeUpdate],
        relation: TripDescriptor.ScheduleRelationship = .scheduled
    ) -> Case {
        let update = TripUpdate(
            trip: TripDescriptor(tripID: trip, scheduleRelationship: relation),
            stopTimeUpdates: updates,
            timestamp: Samples.now
        )
        return Case(
            rule: rule,
            what: what,
            breaks: breaks,
            entity: FeedEntity(id: "u", tripUpdate: update)
        )
    }

    private static func call(
        _ sequence: UInt32?,
        _ stop: StopID?,
        arrival: Int64? = 100,
        departure: Int64? = nil,
        _ relation: StopTimeUpdate.ScheduleRelationship? = .scheduled
    ) -> StopTimeUpdate {
        StopTimeUpdate(
            stopSequence: sequence,
            stopID: stop,
            arrival: arrival.map { StopTimeEvent(time: $0) },
            departure: departure.map { StopTimeEvent(time: $0) },
            scheduleRelationship: relation
        )
    }

    private static func pair(
        _ what: String,
        breaks: Bool,
        _ trip: TripID,
        _ vehicle: VehicleID
    ) -> Case {
        let update = TripUpdate(
            trip: TripDescriptor(tripID: trip),
            vehicle: VehicleDescriptor(id: vehicle)
        )
        var known = Samples.vehicle("v")
        known.vehicle?.trip = TripDescriptor(tripID: "T1")
        known.vehicle?.vehicle = VehicleDescriptor(id: "v")
        return Case(
            rule: "E047",
            what: what,
            breaks: breaks,
            entity: FeedEntity(id: "u", tripUpdate: update),
            positions: Samples.feed([known])
        )
    }

    static let descriptors = [
        trip("E003", "in the schedule", breaks: false, TripDescriptor(tripID: "T1")),
        trip("E003", "in it without a shape", breaks: false, TripDescriptor(tripID: "T4")),
        trip("E003", "not in it", breaks: true, TripDescriptor(tripID: "X")),
        trip(
            "E003",
            "not in it, but added",
            breaks: false,
            TripDescriptor(tripID: "X", scheduleRelationship: .added)
        ),
        trip("E003", "a route alone", breaks: false, TripDescriptor(routeID: "R1")),
        trip("E004", "a route of the schedule", breaks: false, TripDescriptor(routeID: "R1")),
        trip("E004", "another", breaks: true, TripDescriptor(routeID: "R9")),
        trip(
            "E006",
            "a run without its start",
            breaks: true,
            TripDescriptor(tripID: "T1", startDate: "20260216"),
            in: frequent(.approximate)
        ),
        trip(
            "E006",
            "a run with it",
            breaks: false,
            TripDescriptor(tripID: "T1", startTime: "08:07:00", startDate: "20260216"),
            in: frequent(.approximate)
        ),
        trip(
            "E006",
            "exact times",
            breaks: false,
            TripDescriptor(tripID: "T1"),
            in: frequent(.exact)
        ),
        trip(
            "E013",
            "scheduled",
            breaks: true,
            TripDescriptor(tripID: "T1", scheduleRelationship: .scheduled),
            in: frequent(.approximate)
        ),
        trip(
            "E013",
            "unscheduled",
            breaks: false,
            TripDescriptor(tripID: "T1", scheduleRelationship: .unscheduled),
            in: frequent(.approximate)
        ),
        trip(
            "E016",
            "added, in the schedule",
            breaks: true,
            TripDescriptor(tripID: "T1", scheduleRelationship: .added)
        ),
        trip(
            "E016",
            "scheduled, in the schedule",
            breaks: false,
            TripDescriptor(tripID: "T1", scheduleRelationship: .scheduled)
        ),
        trip("E020", "no zero", breaks: true, TripDescriptor(tripID: "T1", startTime: "8:00:00")),
        trip(
            "E020",
            "60 minutes",
            breaks: true,
            TripDescriptor(tripID: "T1", startTime: "08:60:00")
        ),
        trip(
            "E020",
            "past 24 h",
            breaks: false,
            TripDescriptor(tripID: "T3", startTime: "25:00:00")
        ),
        trip(
            "E023",
            "the schedule's",
            breaks: false,
            TripDescriptor(tripID: "T1", startTime: "08:00:00")
        ),
        trip("E023", "another", breaks: true, TripDescriptor(tripID: "T1", startTime: "08:00:01")),
        trip(
            "E023",
            "a frequency's run",
            breaks: false,
            TripDescriptor(tripID: "T1", startTime: "08:07:00"),
            in: frequent(.exact)
        ),
        trip("E024", "its own", breaks: false, TripDescriptor(tripID: "T1", directionID: 0)),
        trip("E024", "the other", breaks: true, TripDescriptor(tripID: "T1", directionID: 1)),
        trip("E024", "none", breaks: false, TripDescriptor(tripID: "T1")),
        trip("E035", "its route", breaks: false, TripDescriptor(tripID: "T1", routeID: "R1")),
        trip("E035", "another route", breaks: true, TripDescriptor(tripID: "T1", routeID: "R2")),
        trip("E035", "no route", breaks: false, TripDescriptor(tripID: "T1", routeID: "R9")),
        trip("W006", "no trip", breaks: true, TripDescriptor(routeID: "R1")),
        trip("W006", "a trip", breaks: false, TripDescriptor(tripID: "T1")),
        trip("W009", "silent", breaks: true, TripDescriptor(tripID: "T1")),
        trip(
            "W009",
            "said",
            breaks: false,
            TripDescriptor(tripID: "T1", scheduleRelationship: .scheduled)
        ),
    ]

    // One degree is 111,195 m; at this latitude 200 m of the rule are 0.0018 degrees either way.
    static let places = [
        speed("26 m/s", breaks: false, 26),
        speed("faster", breaks: true, Float(26).nextUp),
        stop("a platform", breaks: false, "P"),
        stop("a station", breaks: true, "S"),
        place("E028", "in the box", breaks: false, 47.605, -122.328, trip: nil),
        place("E028", "1,600 m south of it", breaks: false, 47.6 - 0.01438, -122.33, trip: nil),
        place("E028", "1,620 m south of it", breaks: true, 47.6 - 0.01457, -122.33, trip: nil),
        place("E028", "no number", breaks: false, .nan, -122.33, trip: nil),
        place("E029", "on the shape", breaks: false, 47.6045, -122.33),
        place("E029", "199 m behind its end", breaks: false, 47.609 + 0.00179, -122.33),
        place("E029", "202 m behind its end", breaks: true, 47.609 + 0.00182, -122.33),
        place("E029", "0.0017 degrees west", breaks: false, 47.6045, -122.3317),
        place("E029", "0.0019 degrees west", breaks: true, 47.6045, -122.3319),
        place("E029", "without a trip", breaks: false, 47.6045, -122.3319, trip: nil),
        place("E029", "outside everything", breaks: false, 48, -122.33),
    ]

    static let calls = [
        stops("E002", "rising", breaks: false, [call(1, "ST1"), call(2, "ST2")]),
        stops("E002", "falling", breaks: true, [call(2, "ST2"), call(1, "ST1")]),
        stops("E009", "a loop by sequence", breaks: false, trip: "T3", [call(1, "LP1")]),
        stops("E009", "a loop without", breaks: true, trip: "T3", [call(nil, "LP1")]),
        stops("E009", "no loop", breaks: false, [call(nil, "ST1")]),
        stops("E011", "a stop", breaks: false, [call(1, "ST1")]),
        stops("E011", "no stop", breaks: true, [call(1, "X")]),
        stops("E022", "same second", breaks: false, [call(1, "ST1", arrival: 5, departure: 5)]),
        stops(
            "E022",
            "rising",
            breaks: false,
            [call(1, "ST1", arrival: 5), call(2, "ST2", arrival: 6)]
        ),
        stops(
            "E022",
            "standing",
            breaks: true,
            [call(1, "ST1", arrival: 5), call(2, "ST2", arrival: 5)]
        ),
        stops(
            "E022",
            "before the stop was left",
            breaks: true,
            [call(1, "ST1", arrival: 5, departure: 9), call(2, "ST2", arrival: 8)]
        ),
        stops(
            "E022",
            "back",
            breaks: true,
            [call(1, "ST1", arrival: 5), call(2, "ST2", arrival: 4)]
        ),
        stops("E025", "leaves first", breaks: true, [call(1, "ST1", arrival: 5, departure: 4)]),
        stops("E025", "at once", breaks: false, [call(1, "ST1", arrival: 5, departure: 5)]),
        stops("E036", "twice", breaks: true, [call(1, "ST1"), call(1, "ST2")]),
        stops("E036", "no sequence", breaks: false, [call(nil, "ST1"), call(nil, "ST2")]),
        stops("E037", "twice", breaks: true, [call(1, "ST1"), call(2, "ST1")]),
        stops("E037", "others", breaks: false, [call(1, "ST1"), call(2, "ST2")]),
        stops("E040", "neither", breaks: true, [call(nil, nil)]),
        stops("E040", "one", breaks: false, [call(nil, "ST1")]),
        stops("E041", "none", breaks: true, []),
        stops("E041", "canceled", breaks: false, [], relation: .canceled),
        stops("E042", "a time", breaks: true, [call(1, "ST1", .noData)]),
        stops("E042", "no time", breaks: false, [call(1, "ST1", arrival: nil, .noData)]),
        stops("E043", "nothing", breaks: true, [call(1, "ST1", arrival: nil)]),
        stops("E043", "skipped", breaks: false, [call(1, "ST1", arrival: nil, .skipped)]),
        stops(
            "E044",
            "empty",
            breaks: true,
            [StopTimeUpdate(stopSequence: 1, arrival: StopTimeEvent(uncertainty: 3))]
        ),
        stops(
            "E044",
            "a delay",
            breaks: false,
            [StopTimeUpdate(stopSequence: 1, arrival: StopTimeEvent(delay: 0))]
        ),
        stops("E045", "its stop", breaks: false, [call(2, "ST2")]),
        stops("E045", "another stop", breaks: true, [call(2, "ST3")]),
        stops("E051", "its sequence", breaks: false, [call(3, "ST3")]),
        stops("E051", "no such", breaks: true, [call(9, "ST3")]),
        pair("the same pair", breaks: false, "T1", "v"),
        pair("another vehicle", breaks: true, "T1", "w"),
        pair("another trip", breaks: true, "T2", "v"),
        pair("neither known", breaks: false, "T2", "w"),
    ]

    static var all: [Case] { descriptors + places + calls }

    @Test(arguments: all) func `holds the rule`(sample: Case) throws {
        let rule = try #require(ComplianceRule.all.first { $0.id == sample.rule })
        let context = ComplianceContext(
            now: Samples.now,
            schedule: sample.schedule,
            positions: sample.positions
        )
        let found = rule.findings(in: Samples.feed([sample.entity]), context)
        #expect(found.isEmpty == !sample.breaks)
    }

    @Test(arguments: [0, 59, 3599, 3600, 86_399, 90_000, 359_999])
    func `times are written as they are read`(seconds: Int) {
        let text = TripDescriptor.time(ofSeconds: seconds)
        #expect(text.utf8.count == 8)
        #expect(TripDescriptor.seconds(ofTime: text) == seconds)
    }
}
