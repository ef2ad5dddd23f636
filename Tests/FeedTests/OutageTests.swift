import Database
import Telemetry
import TestKit
import Testing
import Transit
import Web

@testable import FeedService

/// What drivers and admins hear while the database is away, and afterwards (architecture, section 10).
@Suite(.timeLimit(.minutes(3))) struct OutageTests {
    /// Calls that need the database, as an admin.
    private static let calls: [(HTTPMethod, String, String?)] = [
        (.get, "/api/v1/admin/vehicles", nil), (.get, "/api/v1/admin/vehicles/a", nil),
        (.get, "/api/v1/admin/vehicles/live", nil), (.delete, "/api/v1/admin/vehicles/a", nil),
        (.post, "/api/v1/admin/vehicles", #"{"id":"a"}"#), (.get, "/api/v1/vehicles", nil),
        (
            .post, "/api/v1/admin/assignments",
            #"{"user_id":"7d1d0000-0000-4000-8000-000000000001","vehicle_id":"a"}"#
        ),
        (.post, "/api/v1/trips/start", #"{"vehicle_id":"a"}"#),
        (.post, "/api/v1/trips/end", #"{"trip_id":1}"#), (.get, "/api/v1/admin/trips", nil),
        (.get, "/api/v1/admin/trips/1/locations", nil),
        (.get, "/api/v1/admin/vehicles/a/locations", nil), (.get, "/api/v1/admin/api-keys", nil),
        (.post, "/api/v1/admin/api-keys", #"{"name":"k"}"#),
        (.post, "/api/v1/locations", ReportBody().text),
        (.post, "/api/v1/locations/batch", batch([ReportBody()])),
    ]

    @Test func `nothing is acknowledged, the feed goes on, and all is well afterwards`()
        async throws
    {
        let postgres = try await ThrowawayPostgres.fresh(settings: ["fsync=off"])
        let database = try await feedDatabase(postgres)
        try await withDrivers(database: database) { world async throws in
            let driver = UniqueID.random()
            #expect(try await world.report(driver, ReportBody("a", at: world.now)) == 201)
            try await postgres.stop()
            for (method, path, body) in Self.calls {
                let answer = try await world.send(method, path, as: .admin, body)
                #expect(answer.status == 503, "\(path)")
                #expect(answer.headers.first("Retry-After") == "2", "\(path)")
                #expect(answer.refusal == "the database is unavailable, try again", "\(path)")
            }
            let status = try await world.get("/api/v1/admin/status").json
            #expect(status["status"]?.text == "degraded")
            #expect(status["active_vehicles"]?.number == 1)
            world.first.publisher.tick(at: world.now)
            #expect(world.first.publisher.published.entityCount == 1)
            world.clock.advance(by: 91)
            world.first.publisher.tick(at: world.now)
            #expect(world.first.publisher.published.entityCount == 0)
            try await postgres.start()
            try await eventually("reports are taken again") {
                try await world.report(driver, ReportBody("a", at: world.now)) == 201
            }
            // What was answered 503 is not there.
            #expect(try await world.number("SELECT count(*) FROM feed.location_points") == 2)
            try await eventually("the status is well again") {
                try await world.get("/api/v1/admin/status").json["status"]?.text == "ok"
            }
        }
    }

    @Test func `reports from many drivers survive a database that dies under them`()
        async throws
    {
        let postgres = try await ThrowawayPostgres.fresh()
        let database = try await feedDatabase(postgres)
        try await withDrivers(replicas: 2, database: database) { world async throws in
            let acknowledged = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<40 {
                    group.addTask {
                        let body = ReportBody("bus-\(number)", at: world.now)
                        let status = try await world.report(.random(), body, at: number % 2)
                        #expect([201, 503].contains(status), "\(status)")
                        return status == 201 ? 1 : 0
                    }
                }
                group.addTask {
                    try await postgres.restart()
                    return 0
                }
                return try await group.reduce(0, +)
            }
            // A lost answer to COMMIT may have stored what was not acknowledged, never less.
            let stored = try await world.number("SELECT count(*) FROM feed.location_points")
            #expect(stored >= acknowledged)
            for number in 0..<40 {
                try await eventually("what was refused is taken when it is sent again") {
                    let body = ReportBody("bus-\(number)", at: world.now)
                    return try await world.report(.random(), body, at: number % 2) == 201
                }
            }
            let all = try await world.number("SELECT count(*) FROM feed.location_points")
            #expect(all == 40)
            for replica in world.replicas {
                try await eventually("every replica knows every vehicle") {
                    replica.intake.tracker.live(at: world.now).count == 40
                }
            }
        }
    }

    @Test func `a statement that fails is 500 for the report that it broke, and no other`()
        async throws
    {
        try await withDrivers { world async throws in
            try await world.run(
                """
                CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                    IF NEW.vehicle_id = 'bad' THEN RAISE 'broken by the test'; END IF;
                    RETURN NEW; END $$;
                CREATE TRIGGER broken BEFORE INSERT ON feed.location_points
                    FOR EACH ROW EXECUTE FUNCTION public.fail()
                """
            )
            let driver = UniqueID.random()
            let results = try await withThrowingTaskGroup(of: (String, Int).self) { group in
                for (vehicle, driver) in [
                    ("bad", driver), ("good", .random()), ("fine", .random()),
                ] {
                    group.addTask {
                        (vehicle, try await world.report(driver, ReportBody(vehicle)))
                    }
                }
                return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
            }
            #expect(results == ["bad": 500, "good": 201, "fine": 201])
            let answer = try await world.post(
                "/api/v1/locations",
                as: .driver(driver),
                ReportBody("bad").text
            )
            // What failed was not charged.
            #expect(answer.status == 500)
            #expect(answer.refusal == "failed to save location")
            let tracker = world.first.intake.tracker
            #expect(tracker.live(at: world.now).map(\.vehicleID) == ["fine", "good"])
            #expect(try await world.report(driver, ReportBody("mended")) == 201)
        }
    }
}
