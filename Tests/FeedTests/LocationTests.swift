import Database
import TestKit
import Testing
import Transit
import Web

@testable import FeedService

/// What a driver's report leaves behind, and how often one may come (spec 1.6).
@Suite(.timeLimit(.minutes(2))) struct LocationTests {
    private let driver = UniqueID.random()

    /// The stored points as text, by vehicle and time.
    private func points(_ world: DriverWorld) async throws -> [String] {
        try await world.query { connection throws(DatabaseError) in
            let rows = try connection.query(
                """
                SELECT concat_ws(' ', vehicle_id, extract(epoch FROM timestamp)::bigint - $1,
                    trip_id, route_id, start_date, coalesce(bearing::text, '-'),
                    coalesce(speed::text, '-'), coalesce(accuracy::text, '-'),
                    extract(epoch FROM received_at)::bigint - $1) AS point
                FROM feed.location_points ORDER BY vehicle_id, timestamp
                """,
                [.int64(ManualClock().now)]
            )
            var points: [String] = []
            for row in rows { points.append(try row.text(0)) }
            return points
        }
    }

    @Test func `a report is acknowledged after it is stored, with the driver of the token`()
        async throws
    {
        try await withDrivers { world async throws in
            let body = ReportBody("bus.1", at: world.now - 7).on("T1", "20260216")
                .with("route_id", "\"R1\"").with("bearing", "0").with("speed", "0")
            let answer = try await world.post(
                "/api/v1/locations",
                as: .driver(driver),
                body.text
            )
            #expect(answer.status == 201)
            #expect(answer.text == "{\"status\":\"ok\"}")
            #expect(try await points(world) == ["bus.1 -7 T1 R1 20260216 0 0 - 0"])
            let reporter = try await world.query { connection throws(DatabaseError) in
                try connection.query("SELECT driver_id FROM feed.location_points").one().uuid(0)
            }
            #expect(reporter == driver)
            // Nobody had named the vehicle.
            let vehicle = try await world.get("/api/v1/admin/vehicles/bus.1")
            #expect(try vehicle.json["active"]?.flag == true)
        }
    }

    @Test func `what was not reported is stored as NULL`() async throws {
        try await withDrivers { world async throws in
            try await world.report(driver, ReportBody())
            #expect(try await points(world) == ["bus-1 0    - - - 0"])
        }
    }

    @Test(arguments: [
        (-300, true), (-61, true), (-60, false), (60, false), (61, true), (300, true),
    ])
    func `a time that is more than a minute off is accepted and counted`(
        offset: Int64,
        isSkewed: Bool
    ) async throws {
        try await withDrivers { world async throws in
            let answer = try await world.post(
                "/api/v1/locations",
                as: .driver(driver),
                ReportBody(at: world.now + offset).text
            )
            #expect(answer.status == 201)
            #expect(
                answer.text
                    == (isSkewed ? "{\"status\":\"ok\",\"skewed\":true}" : "{\"status\":\"ok\"}")
            )
            let status = try await world.get("/api/v1/admin/status")
            #expect(try status.json["skewed_reports"]?.number == (isSkewed ? 1 : 0))
        }
    }

    // MARK: - The limit

    @Test func `a driver may report once in five seconds, whichever replica and vehicle`()
        async throws
    {
        try await withDrivers(replicas: 2) { world async throws in
            #expect(try await world.report(driver, ReportBody(at: world.now)) == 201)
            world.clock.advance(by: 4)
            let refused = try await world.post(
                "/api/v1/locations",
                as: .driver(driver),
                ReportBody("bus-2", at: world.now).text,
                at: 1
            )
            #expect(refused.status == 429)
            #expect(
                refused.refusal
                    == "rate limit exceeded: at most one location report per 5 seconds per driver"
            )
            #expect(refused.headers.first("Retry-After") == "1")
            #expect(try await world.number("SELECT count(*) FROM feed.location_points") == 1)
            #expect(try await world.number("SELECT count(*) FROM feed.vehicles") == 1)
            // Another driver is not held up, and what is refused costs nothing.
            #expect(try await world.report(.random(), ReportBody("bus-2", at: world.now)) == 201)
            world.clock.advance(by: 1)
            #expect(try await world.report(driver, ReportBody(at: world.now), at: 1) == 201)
        }
    }

    @Test func `a report that breaks a rule is not charged`() async throws {
        try await withDrivers { world async throws in
            #expect(try await world.report(driver, ReportBody(latitude: "91")) == 400)
            #expect(try await world.report(driver, ReportBody()) == 201)
        }
    }

    @Test func `of many reports at once one is taken for each driver`() async throws {
        try await withDrivers(replicas: 2) { world async throws in
            let drivers = (0..<8).map { _ in UniqueID.random() }
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for (number, driver) in drivers.enumerated() {
                    for attempt in 0..<6 {
                        group.addTask {
                            try await world.report(
                                driver,
                                ReportBody("bus-\(number)", at: world.now - Int64(attempt)),
                                at: attempt % 2
                            )
                        }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.count { $0 == 201 } == drivers.count)
            #expect(statuses.count { $0 == 429 } == 5 * drivers.count)
            let stored = try await world.number("SELECT count(*) FROM feed.location_points")
            #expect(stored == drivers.count)
        }
    }

    @Test func `the same report sent again is acknowledged and stored once`() async throws {
        try await withDrivers { world async throws in
            let body = ReportBody(at: world.now)
            #expect(try await world.report(driver, body) == 201)
            world.clock.advance(by: 5)
            #expect(try await world.report(driver, body) == 201)
            #expect(try await world.number("SELECT count(*) FROM feed.location_points") == 1)
        }
    }

    @Test func `an older report goes to the history only`() async throws {
        try await withDrivers { world async throws in
            let start = world.now
            try await world.report(driver, ReportBody(at: start))
            world.clock.advance(by: 10)
            #expect(try await world.report(driver, ReportBody(at: start - 20)) == 201)
            #expect(try await world.number("SELECT count(*) FROM feed.location_points") == 2)
            let live = world.first.intake.tracker.live(at: world.now)
            #expect(live.map(\.timestamp) == [start])
        }
    }

    // MARK: - Who may

    @Test func `a token's subject must be an account's id`() async throws {
        try await withDrivers { world async throws in
            let claims = TokenPayload.driver(subject: "7", now: world.now)
            for path in ["/api/v1/locations", "/api/v1/locations/batch", "/api/v1/trips/start"] {
                let answer = try await world.post(path, as: .token(claims), ReportBody().text)
                #expect(answer.status == 401)
                #expect(answer.refusal == "invalid token: invalid subject")
            }
        }
    }

    @Test func `an admin may report, too`() async throws {
        try await withDrivers { world async throws in
            let answer = try await world.post("/api/v1/locations", ReportBody().text)
            #expect(answer.status == 201)
        }
    }
}
