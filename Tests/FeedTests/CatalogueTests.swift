import Schedule
import ServiceKit
import TestKit
import Testing
import Transit
import Web

@testable import FeedService

/// The schedule as drivers' apps show it (spec 1.12), over the fixture feed.
@Suite(.timeLimit(.minutes(2))) struct CatalogueTests {
    /// Wednesday 2026-09-02, 12:00 in Los Angeles.
    private static let noon: UnixSeconds = 1_788_375_600

    private func withCatalogue(
        at now: UnixSeconds = noon,
        _ environment: [String: String] = [:],
        _ body: (DriverWorld) async throws -> Void
    ) async throws {
        let index = try ScheduleLoader.load(path: ProjectPaths.fixtures + "/fixture.zip")
        try await withDrivers(environment, clock: ManualClock(now), schedule: { index }, body)
    }

    private func get(_ world: DriverWorld, _ path: String) async throws -> HTTPClientResponse {
        try await world.get("/api/v1/gtfs/\(path)", as: .driver(.random()))
    }

    @Test func `routes that can be driven are listed`() async throws {
        try await withCatalogue { world async throws in
            #expect(
                try await get(world, "routes").text
                    == #"{"routes":[{"id":"R1","short_name":"1","long_name":"Straight","#
                    + #""color":"0044AA","text_color":"","type":3},"#
                    + #"{"id":"R2","short_name":"2","long_name":"Loop","color":"AA4400","#
                    + #""text_color":"","type":3}]}"#
            )
        }
    }

    @Test func `the trips of a route are those of the date, with its own times`() async throws {
        try await withCatalogue { world async throws in
            #expect(
                try await get(world, "routes/R1/trips").text
                    == #"{"route_id":"R1","service_date":"20260902","#
                    + #""timezone":"America/Los_Angeles","trips":[{"id":"T1","headsign":"North","#
                    + #""direction_id":0,"starts_at":"2026-09-02T08:00:00-07:00","#
                    + #""ends_at":"2026-09-02T08:10:00-07:00","first_stop":"South","#
                    + #""last_stop":"North"}]}"#
            )
            for (date, ids) in [
                ("20260902", ["T1"]), ("20260905", ["T2"]), ("20260906", []),
                // The holiday runs as a Saturday.
                ("20260907", ["T2"]), ("20270101", []),
            ] {
                let list = try await get(world, "routes/R1/trips?date=\(date)").json
                #expect(list["trips"]?.elements.map { $0["id"]?.text } == ids)
                #expect(list["service_date"]?.text == date)
            }
        }
    }

    @Test func `times past midnight fall on the next day`() async throws {
        try await withCatalogue { world async throws in
            let trip = try await get(world, "routes/R2/trips").json["trips"]?[0]
            #expect(trip?["starts_at"]?.text == "2026-09-03T01:00:00-07:00")
            #expect(trip?["ends_at"]?.text == "2026-09-03T01:20:00-07:00")
        }
    }

    @Test func `a day of changing clocks counts from noon`() async throws {
        // On Sunday 1 November the clocks are set back; the trip of Saturday passes midnight.
        let zone = try TimeZoneRules(named: "America/Los_Angeles")
        let start = zone.startOfService(on: try #require(ServiceDate("20261101")))
        #expect(LocalTimestamp.text(start, in: zone) == "2026-11-01T01:00:00-07:00")
        #expect(LocalTimestamp.text(start + 8 * 3600, in: zone) == "2026-11-01T08:00:00-08:00")
        let india = try TimeZoneRules(named: "Asia/Kolkata")
        #expect(LocalTimestamp.text(0, in: india) == "1970-01-01T05:30:00+05:30")
    }

    @Test func `a trip comes with route, path, stops and limits`() async throws {
        try await withCatalogue { world async throws in
            let trip = try await get(world, "trips/T1").json
            #expect(trip["id"]?.text == "T1")
            #expect(trip["service_date"]?.text == "20260902")
            #expect(
                trip["route"]?.keys == ["short_name", "long_name", "color", "text_color"]
            )
            #expect(trip["route"]?["long_name"]?.text == "Straight")
            let length = try #require(trip["shape"]?["length_m"]?.number)
            #expect(abs(length - 1000.754) < 0.01)
            let points = trip["shape"]?["points"]?.elements ?? []
            #expect(points.map { $0.elements.compactMap(\.number) }.first == [47.6, -122.33])
            #expect(points.count == 3)
            let stops = trip["stops"]?.elements ?? []
            #expect(stops.map { $0["id"]?.text } == ["ST1", "ST2", "ST3"])
            #expect(
                stops.first?.keys == [
                    "id", "name", "sequence", "lat", "lon", "along_shape_m", "arrival_at",
                    "departure_at",
                ]
            )
            #expect(stops.last?["name"]?.text == "North")
            #expect(stops.last?["arrival_at"]?.text == "2026-09-02T08:10:00-07:00")
            #expect(trip["thresholds"]?["max_shape_distance_m"]?.number == 60)
            #expect(trip["thresholds"]?["schedule_early_s"]?.number == 900)
            #expect(trip["thresholds"]?["schedule_late_s"]?.number == 5400)
        }
    }

    @Test func `the limits are those that are set`() async throws {
        let environment = [
            "RIDER_MAX_SHAPE_DISTANCE": "80", "RIDER_SCHEDULE_EARLY": "5m",
            "RIDER_SCHEDULE_LATE": "no",
        ]
        try await withCatalogue(environment) { world async throws in
            let limits = try await get(world, "trips/T1").json["thresholds"]
            #expect(limits?["max_shape_distance_m"]?.number == 80)
            #expect(limits?["schedule_early_s"]?.number == 300)
            #expect(limits?["schedule_late_s"]?.number == 5400)
        }
    }

    @Test(
        arguments: [
            // 02:59 and 03:00 in Los Angeles on Saturday 5 September.
            (1_788_602_340, "20260904", ["T1"]), (1_788_602_400, "20260905", ["T2"]),
        ] as [(UnixSeconds, String, [String])]
    )
    func `the service date changes at three`(
        now: UnixSeconds,
        date: String,
        trips: [String]
    )
        async throws
    {
        try await withCatalogue(at: now) { world async throws in
            let list = try await get(world, "routes/R1/trips").json
            #expect(list["service_date"]?.text == date)
            #expect(list["trips"]?.elements.map { $0["id"]?.text } == trips)
        }
    }

    @Test func `a trip without a date is today's when it does not run on the service date`()
        async throws
    {
        // 00:30 on Saturday: the service date is Friday, on which T2 does not run.
        try await withCatalogue(at: 1_788_593_400) { world async throws in
            #expect(try await get(world, "trips/T2").json["service_date"]?.text == "20260905")
            #expect(try await get(world, "trips/T1").json["service_date"]?.text == "20260904")
        }
    }

    @Test(arguments: [
        ("routes/none/trips", 404, "unknown route"), ("trips/none", 404, "unknown trip"),
        // It has no shape, so nobody can be guided along it.
        ("trips/T4", 404, "unknown trip"),
        ("routes/R1/trips?date=20261399", 400, "date must be YYYYMMDD"),
        ("routes/R1/trips?date=2026-9-2", 400, "date must be YYYYMMDD"),
        ("trips/T1?date=x", 400, "date must be YYYYMMDD"),
        ("trips/T1?date=20260905", 422, "trip not active on date"),
        ("trips/T2", 422, "trip not active on date"),
    ])
    func `what the schedule does not have is refused`(
        path: String,
        status: Int,
        error: String
    )
        async throws
    {
        try await withCatalogue { world async throws in
            let answer = try await get(world, path)
            #expect(answer.status == status)
            #expect(answer.refusal == error)
        }
    }

    @Test(arguments: ["routes", "routes/R1/trips", "trips/T1"])
    func `without a schedule it is 503`(path: String) async throws {
        try await withDrivers { world async throws in
            let answer = try await get(world, path)
            #expect(answer.status == 503)
            #expect(answer.refusal == "schedule data unavailable")
            #expect(answer.headers.first("Retry-After") == "2")
        }
    }

    // MARK: - Order

    @Test func `routes stand as people expect them`() {
        func route(_ name: String, long: String = "", order: Int? = nil) -> Route {
            Route(id: RouteID(name + long), shortName: name, longName: long, sortOrder: order)
        }
        let sorted = [
            route("Z", order: 1), route("A", order: 2), route(""), route("7"), route("07a"),
            route("10"), route("10A"), route("10B"), route("100"), route("A"),
            route("A", long: "North"), route("A", long: "South"), route("B"),
        ]
        // A route without a name has no number and stands before the letters.
        let expected =
            sorted.filter { $0.shortName != "" || $0.sortOrder != nil }
        for _ in 0..<20 {
            let shuffled = expected.shuffled().sorted(by: RouteOrder.precedes)
            #expect(shuffled == expected)
        }
        #expect(RouteOrder.precedes(route("99999999999999999999"), route("A")))
    }

    // MARK: - Map

    @Test(arguments: [nil, "https://tiles.example/agency.pmtiles?token=x"] as [String?])
    func `the map's address is handed out`(url: String?) async throws {
        let environment = url.map { ["MAP_PMTILES_URL": $0] } ?? [:]
        try await withDrivers(environment) { world async throws in
            let answer = try await world.get("/api/v1/map", as: .driver(.random()))
            let expected = url.map { "\"\($0)\"" } ?? "null"
            #expect(answer.text == "{\"pmtiles_url\":\(expected)}")
        }
    }

    @Test(arguments: [
        ("https://a.example/x", true), ("HTTP://a.example", true), ("http://a:8080/x@y", true),
        ("ftp://a.example/x", false), ("//a.example", false), ("https://", false),
        ("https:///x", false), ("https://:8080/x", false), ("https://u@a.example/x", false),
        ("https://u:p@a.example/x", false), ("https://a .example/x", false), ("tiles", false),
    ])
    func `an address that cannot be handed out stops the start`(url: String, isAllowed: Bool) {
        #expect(MapEndpoint.isAllowed(url) == isAllowed)
    }
}
