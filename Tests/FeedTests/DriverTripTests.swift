import TestKit
import Testing
import Transit
import Web

@testable import FeedService

/// Drivers' trips from start to end, and what admins see of them (spec 1.5).
@Suite(.timeLimit(.minutes(2))) struct DriverTripTests {
    private let driver = UniqueID.random()

    /// A world in which the driver may drive bus `a`.
    private func withTrips(
        replicas: Int = 1,
        _ body: (DriverWorld) async throws -> Void
    ) async throws {
        try await withDrivers(replicas: replicas) { world async throws in
            _ = try await world.post("/api/v1/admin/vehicles", #"{"id":"a","label":"Seven"}"#)
            try await assign(world, driver)
            try await body(world)
        }
    }

    private func assign(_ world: DriverWorld, _ user: UniqueID) async throws {
        let body = "{\"user_id\":\"\(user)\",\"vehicle_id\":\"a\"}"
        #expect(try await world.post("/api/v1/admin/assignments", body).status == 201)
    }

    private func start(
        _ world: DriverWorld,
        _ user: UniqueID? = nil,
        _ body: String = #"{"vehicle_id":"a"}"#,
        at replica: Int = 0
    ) async throws -> HTTPClientResponse {
        try await world.post(
            "/api/v1/trips/start",
            as: .driver(user ?? driver),
            body,
            at: replica
        )
    }

    private func end(
        _ world: DriverWorld,
        _ id: Int,
        _ user: UniqueID? = nil
    ) async throws -> HTTPClientResponse {
        try await world.post(
            "/api/v1/trips/end",
            as: .driver(user ?? driver),
            "{\"trip_id\":\(id)}"
        )
    }

    private func id(_ answer: HTTPClientResponse) throws -> Int {
        Int(try #require(try answer.json["id"]?.number))
    }

    // MARK: - Starting

    @Test func `a trip starts with what the driver said`() async throws {
        try await withTrips { world async throws in
            let body = #"{"vehicle_id":"a","route_id":"R1","gtfs_trip_id":"T1"}"#
            let answer = try await start(world, nil, body)
            #expect(answer.status == 201)
            let id = try id(answer)
            #expect(
                answer.text
                    == "{\"id\":\(id),\"user_id\":\"\(driver)\",\"vehicle_id\":\"a\","
                    + "\"route_id\":\"R1\",\"gtfs_trip_id\":\"T1\","
                    + "\"start_time\":\"2026-02-16T16:00:00Z\",\"status\":\"active\"}"
            )
        }
    }

    @Test(
        arguments: [
            (#"{}"#, "vehicle_id is required"),
            (
                #"{"vehicle_id":"a b"}"#,
                "vehicle_id must contain only alphanumeric characters, dots, hyphens, and underscores"
            ),
            (
                "{\"vehicle_id\":\"a\",\"route_id\":\"\(String(repeating: "é", count: 101))\"}",
                "route_id must be at most 100 characters"
            ),
            ("{\"vehicle_id\":\"a\",\"route_id\":\"\(String(repeating: "é", count: 100))\"}", nil),
            (
                "{\"vehicle_id\":\"a\",\"gtfs_trip_id\":\"\(String(repeating: "é", count: 101))\"}",
                "gtfs_trip_id must be at most 100 characters"
            ),
            (
                "{\"vehicle_id\":\"a\",\"gtfs_trip_id\":\"\(String(repeating: "é", count: 100))\"}",
                nil
            ),
            (#"{"vehicle_id":"a","user_id":"x"}"#, #"invalid JSON: unknown field "user_id""#),
        ] as [(String, String?)]
    )
    func `a start's rules`(body: String, error: String?) async throws {
        try await withTrips { world async throws in
            let answer = try await start(world, nil, body)
            #expect(answer.status == (error == nil ? 201 : 400))
            #expect(answer.refusal == error)
        }
    }

    @Test func `a vehicle of somebody else is 403, also one that does not exist`() async throws {
        try await withTrips { world async throws in
            for (user, body) in [
                (UniqueID.random(), #"{"vehicle_id":"a"}"#), (driver, #"{"vehicle_id":"none"}"#),
            ] {
                let answer = try await start(world, user, body)
                #expect(answer.status == 403)
                #expect(answer.refusal == "driver is not assigned to this vehicle")
            }
        }
    }

    @Test func `a second trip of a driver is 409 until the first has ended`() async throws {
        try await withTrips { world async throws in
            let first = try id(try await start(world))
            let second = try await start(world)
            #expect(second.status == 409)
            #expect(second.refusal == "driver already has an active trip")
            #expect(try await end(world, first).text == "{\"status\":\"trip ended\"}")
            #expect(try await start(world).status == 201)
        }
    }

    @Test func `of starts at once exactly one wins`() async throws {
        try await withTrips(replicas: 2) { world async throws in
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for attempt in 0..<8 {
                    group.addTask { try await start(world, at: attempt % 2).status }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.sorted() == [201] + Array(repeating: 409, count: 7))
        }
    }

    @Test func `the caller is looked at after the media type and before the body`() async throws {
        try await withTrips { world async throws in
            let token = DriverWorld.Caller.token(TokenPayload.driver(subject: "7", now: world.now))
            for path in ["/api/v1/trips/start", "/api/v1/trips/end"] {
                let media = try await world.send(
                    .post,
                    path,
                    as: token,
                    "x",
                    contentType: "text/plain"
                )
                #expect(media.status == 415)
                #expect(try await world.post(path, as: token, "x").status == 401)
                #expect(try await world.post(path, as: .driver(driver), "x").status == 400)
            }
        }
    }

    // MARK: - Ending

    @Test func `a trip is ended once, by its driver`() async throws {
        try await withTrips { world async throws in
            let trip = try id(try await start(world))
            for (id, user) in [(trip, UniqueID.random()), (trip + 1, driver)] {
                let foreign = try await end(world, id, user)
                #expect(foreign.status == 404)
                #expect(foreign.refusal == "active trip not found")
            }
            #expect(try await end(world, trip).status == 200)
            #expect(try await end(world, trip).status == 404)
        }
    }

    @Test(arguments: [
        ("{}", "trip_id is required and must be positive"),
        ("{\"trip_id\":0}", "trip_id is required and must be positive"),
        ("{\"trip_id\":-1}", "trip_id is required and must be positive"),
        ("{\"trip_id\":null}", "trip_id is required and must be positive"),
        ("{\"trip_id\":\"1\"}", "field \"trip_id\" has invalid type"),
        ("{\"trip_id\":1.5}", "field \"trip_id\" has invalid type"),
    ])
    func `an end's rules`(body: String, error: String) async throws {
        try await withTrips { world async throws in
            let answer = try await world.post("/api/v1/trips/end", as: .driver(driver), body)
            #expect(answer.status == 400)
            #expect(answer.refusal == error)
        }
    }

    // MARK: - For admins

    @Test func `an admin sees a trip with label and driver, while active without an end`()
        async throws
    {
        try await withTrips { world async throws in
            world.accounts.set(driver, .known(name: "Ann Driver"))
            let trip = try id(try await start(world))
            let active = try await world.get("/api/v1/admin/trips/\(trip)").json
            #expect(
                active.keys == [
                    "id", "vehicle_id", "vehicle_label", "user_id", "driver_name", "route_id",
                    "gtfs_trip_id", "start_time", "status",
                ]
            )
            #expect(active["driver_name"]?.text == "Ann Driver")
            #expect(active["vehicle_label"]?.text == "Seven")
            world.clock.advance(by: 60)
            _ = try await end(world, trip)
            let ended = try await world.get("/api/v1/admin/trips/\(trip)").json
            #expect(ended["end_time"]?.text == "2026-02-16T16:01:00Z")
            #expect(ended["status"]?.text == "completed")
        }
    }

    @Test func `the list is filtered and cut`() async throws {
        try await withTrips { world async throws in
            let other = UniqueID.random()
            try await assign(world, other)
            world.accounts.set(driver, .known(name: "Ann 100%"))
            let one = try id(try await start(world, nil, #"{"vehicle_id":"a","route_id":"R_1"}"#))
            _ = try await end(world, one)
            world.clock.advance(by: 1)
            let two = try id(
                try await start(world, nil, #"{"vehicle_id":"a","gtfs_trip_id":"Tx"}"#)
            )
            world.clock.advance(by: 1)
            let three = try id(try await start(world, other))
            for (query, expected, hasMore) in [
                ("", [three, two, one], false), ("?limit=2", [three, two], true),
                ("?limit=2&offset=2", [one], false), ("?limit=3", [three, two, one], false),
                ("?status=active", [three, two], false), ("?status=completed", [one], false),
                ("?vehicle_id=a&status=", [three, two, one], false), ("?vehicle_id=b", [], false),
                ("?user_id=\(other)", [three], false), ("?q=r_1", [one], false),
                ("?q=R%251", [], false), ("?q=tX", [two], false), ("?q=ann", [two, one], false),
                ("?q=100%25", [two, one], false), ("?q=nobody", [], false),
            ] as [(String, [Int], Bool)] {
                let list = try await world.get("/api/v1/admin/trips\(query)").json
                #expect(
                    list["trips"]?.elements.compactMap { $0["id"]?.number }
                        == expected.map { Double($0) },
                    "\(query)"
                )
                #expect(list["count"]?.number == Double(expected.count))
                #expect(list["has_more"]?.flag == hasMore)
            }
        }
    }

    @Test(arguments: [
        ("status=ended", "status must be \"active\" or \"completed\""),
        ("user_id=7", "user_id must be a UUID"),
    ])
    func `a senseless filter is 400`(query: String, error: String) async throws {
        try await withDrivers { world async throws in
            let answer = try await world.get("/api/v1/admin/trips?\(query)")
            #expect(answer.status == 400)
            #expect(answer.refusal == error)
        }
    }

    @Test(arguments: ["1", "0", "x", "9223372036854775808", "-1"])
    func `what was never a trip is 404`(id: String) async throws {
        try await withDrivers { world async throws in
            for path in ["/api/v1/admin/trips/\(id)", "/api/v1/admin/trips/\(id)/locations"] {
                let answer = try await world.get(path)
                #expect(answer.status == 404)
                #expect(answer.refusal == "trip not found")
            }
        }
    }

    @Test func `a trip's trail is what its driver reported of its vehicle meanwhile`()
        async throws
    {
        try await withTrips { world async throws in
            try await world.report(driver, ReportBody("a", at: world.now, latitude: "1"))
            world.clock.advance(by: 100)
            let began = world.now
            let trip = try id(try await start(world))
            // Measured before the start and received after it.
            try await world.report(driver, ReportBody("a", at: began - 3, latitude: "2"))
            world.clock.advance(by: 5)
            try await world.report(driver, ReportBody("a", at: world.now, latitude: "3"))
            try await world.report(.random(), ReportBody("a", at: world.now + 1))
            world.clock.advance(by: 5)
            try await world.report(driver, ReportBody("b", at: world.now))
            world.clock.advance(by: 10)
            _ = try await end(world, trip)
            world.clock.advance(by: 10)
            // Measured during the trip, kept by the phone and received after it.
            let kept = batch([
                ReportBody("a", at: began + 15, latitude: "4"),
                ReportBody("a", at: began - 50, latitude: "5"),
            ])
            _ = try await world.post("/api/v1/locations/batch", as: .driver(driver), kept)
            try await world.report(driver, ReportBody("a", at: world.now, latitude: "6"))
            let trail = try await world.get("/api/v1/admin/trips/\(trip)/locations").json
            #expect(trail["trip"]?["id"]?.number == Double(trip))
            let points = trail["points"]?.elements ?? []
            #expect(points.compactMap { $0["latitude"]?.number } == [2, 3, 4])
            #expect(
                points.first?.keys == [
                    "latitude", "longitude", "bearing", "speed", "accuracy", "reported_at",
                    "received_at",
                ]
            )
            #expect(points.first?["reported_at"]?.number == Double(began - 3))
            #expect(points.first?["received_at"]?.text == "2026-02-16T16:01:40Z")
        }
    }
}
