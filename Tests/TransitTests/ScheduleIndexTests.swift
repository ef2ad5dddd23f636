import Testing
import Transit

@Suite struct TripTests {
    private let trip: Trip

    init() throws {
        let shape = try #require(ShapeGeometry(points: FixtureShapes.straight))
        let stops: [(StopID, Double, Int, Int)] = [
            ("ST1", 0, 28_800, 28_800), ("ST2", 500.377, 29_100, 29_160),
            ("ST3", 1000.754, 29_400, 29_400),
        ]
        trip = Trip(
            id: "T1",
            routeID: "R1",
            serviceID: "WEEKDAY",
            shape: shape,
            stopTimes: stops.enumerated().map { index, stop in
                StopTime(
                    stopID: stop.0,
                    stopSequence: index + 1,
                    alongShape: stop.1,
                    arrival: stop.2,
                    departure: stop.3,
                    coordinate: shape.point(at: stop.1)
                )
            }
        )
    }

    @Test(arguments: [
        (-10.0, 28_800.0), (0, 28_800), (250.1885, 28_950), (500.377, 29_100),
        (500.377_000_001, 29_160), (750.5655, 29_280), (1000.754, 29_400), (5000, 29_400),
    ])
    func `draws a line between departure and arrival`(along: Double, offset: Double) {
        #expect(abs(trip.scheduledOffset(at: along) - offset) < 0.01)
    }

    @Test func `names the next stop`() {
        #expect(trip.nextStop(at: -1)?.stopID == "ST1")
        #expect(trip.nextStop(at: 30)?.stopID == "ST2")
        #expect(trip.nextStop(at: 500.377)?.stopID == "ST2")
        #expect(trip.nextStop(at: 1000.754)?.stopSequence == 3)
        #expect(trip.nextStop(at: 1001) == nil)
    }

    @Test func `starts and ends with arrivals`() {
        #expect(trip.startTime == 28_800)
        #expect(trip.endTime == 29_400)
    }
}

@Suite struct ScheduleIndexTests {
    private let index: ScheduleIndex
    private static let zoneName = "America/Los_Angeles"

    init() throws {
        let shape = try #require(ShapeGeometry(points: FixtureShapes.straight))
        let trips = [("T2", "SAT"), ("T1", "WEEKDAY"), ("T9", "NONE")].map { id, service in
            Trip(
                id: TripID(id),
                routeID: "R1",
                serviceID: ServiceID(service),
                shape: shape,
                stopTimes: [
                    StopTime(
                        stopID: "ST1",
                        stopSequence: 1,
                        alongShape: 0,
                        arrival: 0,
                        departure: 0,
                        coordinate: FixtureShapes.straight[0]
                    )
                ]
            )
        }
        let year = try #require(ServiceDate("20260101"))...(try #require(ServiceDate("20261231")))
        let holiday = try #require(ServiceDate("20260907"))
        index = ScheduleIndex(
            timeZone: try TimeZoneRules(named: Self.zoneName),
            trips: trips,
            calendars: [
                "WEEKDAY": ServiceCalendar(
                    weekdays: ServiceCalendar.mondayToFriday,
                    period: year,
                    removed: [holiday]
                ),
                "SAT": ServiceCalendar(weekdays: 0b010_0000, period: year, added: [holiday]),
            ]
        )
    }

    @Test(arguments: [
        ("T1", "20260902", true), ("T1", "20260905", false), ("T1", "20260907", false),
        ("T2", "20260907", true), ("T2", "20260905", true), ("T1", "20251231", false),
        ("T1", "20270101", false), ("T1", "20260101", true), ("T1", "20261231", true),
        ("T9", "20260902", false),
    ])
    func `knows when a trip runs`(trip: TripID, date: String, runs: Bool) throws {
        let trip = try #require(index.trip(trip))
        #expect(index.isActive(trip, on: try #require(ServiceDate(date))) == runs)
    }

    // 2026-09-02 in Los Angeles is UTC-7.
    @Test(arguments: [
        (1_788_343_140 as Int64, "20260901"), (1_788_343_199, "20260901"),
        (1_788_343_200, "20260902"), (1_788_341_400, "20260901"),
    ])
    func `turns the service date at three in the morning`(now: Int64, date: String) {
        #expect(index.serviceDate(at: now).description == date)
    }

    @Test func `prefers the date on which the trip runs after midnight`() throws {
        let weekday = try #require(index.trip("T1"))
        let saturday = try #require(index.trip("T2"))
        let zone = index.timeZone
        func halfPastMidnight(_ date: String) throws -> UnixSeconds {
            zone.unixSeconds(date: try #require(ServiceDate(date)), secondsOfDay: 1800)
        }
        // Saturday 00:30: Friday's weekday trip, Saturday's own trip.
        let night = try halfPastMidnight("20260905")
        #expect(index.defaultStartDate(for: weekday, at: night).description == "20260904")
        #expect(index.defaultStartDate(for: saturday, at: night).description == "20260905")
        // Wednesday 00:30: the Saturday trip runs on neither day.
        let wednesday = try halfPastMidnight("20260902")
        #expect(index.defaultStartDate(for: saturday, at: wednesday).description == "20260901")
    }

    @Test func `sorts ids and counts what it was given`() {
        #expect(index.tripIDs == ["T1", "T2", "T9"])
        #expect(index.tripIDs(of: "R1") == ["T1", "T2", "T9"])
        #expect(index.tripIDs(of: "R2").isEmpty)
        #expect(index.counts.riderTrips == 3)
        #expect(index.counts.shapes == 1)
        #expect(index.counts.shapePoints == 3)
        #expect(index.trip("T4") == nil)
    }
}
