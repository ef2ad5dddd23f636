import Database
import Messages
import TestKit
import Testing
import Transit
import Web

@testable import FeedService

/// Forgetting a driver, and handing out what is stored about one (architecture, section 8).
@Suite(.timeLimit(.minutes(3))) struct DriverErasureTests {
    private let dora = UniqueID.random()
    private let dan = UniqueID.random()

    private func erase(
        _ driver: UniqueID,
        _ world: DriverWorld,
        at replica: Int = 0
    ) async throws
        -> Bool
    {
        let request = EraseAccount(accountID: driver, receivedAt: world.now)
        let bytes = await world.replicas[replica].intake.desk.answer(request.encoded())
        return try EraseAccountAnswer(decoding: bytes).isClean
    }

    /// Both drivers have done everything that a driver can; two seconds lie between their reports.
    private func work(_ world: DriverWorld) async throws {
        for (driver, bus) in [(dora, "bus-1"), (dan, "bus-2")] {
            _ = try await world.post("/api/v1/admin/vehicles", "{\"id\":\"\(bus)\"}")
            let assignment = "{\"user_id\":\"\(driver)\",\"vehicle_id\":\"\(bus)\"}"
            #expect(try await world.post("/api/v1/admin/assignments", assignment).status == 201)
            let start = "{\"vehicle_id\":\"\(bus)\",\"gtfs_trip_id\":\"T1\"}"
            let started = try await world.post("/api/v1/trips/start", as: .driver(driver), start)
            #expect(started.status == 201)
            let old = (1...5).map { ReportBody(bus, at: world.now - 600 + 10 * $0) }
            let batch = batch(old)
            let sent = try await world.post("/api/v1/locations/batch", as: .driver(driver), batch)
            #expect(sent.status == 200)
            #expect(try await world.report(driver, ReportBody(bus).on("T1")) == 201)
        }
    }

    /// The tables of the feed with a row that names a driver.
    private func traces(of driver: UniqueID, _ world: DriverWorld) async throws -> [String] {
        try await world.query { connection throws(DatabaseError) in
            let tables = try connection.query(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'feed' ORDER BY tablename"
            )
            var traces: [String] = []
            for table in tables {
                let name = try table.text(0)
                let isFound = try connection.query(
                    """
                    SELECT EXISTS (SELECT FROM feed.\(name) t
                        WHERE t::text LIKE '%' || $1 || '%')
                    """,
                    [.text(driver.description)]
                ).one().bool(0)
                if isFound { traces.append(name) }
            }
            return traces
        }
    }

    @Test func `an erased driver leaves no row, and the vehicle keeps its history`() async throws {
        try await withDrivers(replicas: 2) { world async throws in
            try await work(world)
            #expect(try await traces(of: dora, world).count >= 5)
            let kept = try await traces(of: dan, world)
            for _ in 0..<2 { #expect(try await erase(dora, world)) }
            #expect(try await traces(of: dora, world) == [])
            #expect(try await traces(of: dan, world) == kept)
            let history = try await world.get("/api/v1/admin/vehicles/bus-1/locations")
            #expect(try history.json["count"]?.number == 6)
            // The bus is still on its trip, and every replica forgets who drives it.
            for replica in 0..<2 {
                try await eventually("replica \(replica) forgets the driver") {
                    let live = world.replicas[replica].intake.tracker.live(at: world.now)
                    return live.map(\.driverID) == [nil, dan]
                }
            }
            let list = try await world.get("/api/v1/admin/vehicles/live")
            let driver = try list.json["vehicles"]?[0]?["driver_name"]
            #expect(driver != nil && driver?.text == nil)
            #expect(try await world.get("/api/v1/admin/trips").json["count"]?.number == 1)
        }
    }

    @Test func `a token that was on its way brings nothing back, until it has expired`()
        async throws
    {
        try await withDrivers { world async throws in
            try await work(world)
            #expect(try await erase(dora, world))
            world.clock.advance(by: 10)
            #expect(try await world.report(dora, ReportBody("bus-1", at: world.now)) == 401)
            let late = batch([ReportBody("bus-1", at: world.now)])
            let sent = try await world.post("/api/v1/locations/batch", as: .driver(dora), late)
            #expect(sent.status == 401)
            #expect(sent.refusal == "invalid token")
            let start = #"{"vehicle_id":"bus-1"}"#
            let started = try await world.post("/api/v1/trips/start", as: .driver(dora), start)
            #expect(started.status == 403)
            let assignment = "{\"user_id\":\"\(dora)\",\"vehicle_id\":\"bus-1\"}"
            #expect(try await world.post("/api/v1/admin/assignments", assignment).status == 404)
            #expect(try await traces(of: dora, world) == [])
            #expect(try await world.report(dan, ReportBody("bus-2", at: world.now)) == 201)
            let until = world.now - 10 + DriverErasure.markSeconds
            for (now, marks) in [(until - 1, 1), (until, 0)] {
                try await world.query { connection throws(DatabaseError) in
                    try DriverErasure.forgetMarks(at: now, on: connection)
                }
                #expect(try await world.number("SELECT count(*) FROM feed.erased_drivers") == marks)
            }
        }
    }

    @Test func `long histories are taken in pieces`() async throws {
        try await withDrivers { world async throws in
            try await work(world)
            let driver = dora
            world.clock.advance(by: 20 * 3600)
            #expect(try await world.report(driver, ReportBody("bus-1", at: world.now)) == 201)
            for isDone in [false, false, true] {
                let answer = try await world.query { connection throws(DatabaseError) in
                    try DriverErasure.anonymise(pointsOf: driver, on: connection)
                }
                #expect(answer == isDone)
            }
            #expect(
                try await world.number(
                    "SELECT count(*) FROM feed.location_points WHERE driver_id IS NULL"
                ) == 7
            )
        }
    }

    @Test func `reports and trips that race with an erasure leave nothing`() async throws {
        try await withDrivers(replicas: 2) { world async throws in
            for _ in 0..<8 {
                let driver = UniqueID.random()
                let assignment = "{\"user_id\":\"\(driver)\",\"vehicle_id\":\"bus-9\"}"
                _ = try await world.post("/api/v1/admin/vehicles", #"{"id":"bus-9"}"#)
                #expect(try await world.post("/api/v1/admin/assignments", assignment).status == 201)
                world.clock.advance(by: 1)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for replica in 0..<2 {
                        group.addTask {
                            let body = ReportBody("bus-9", at: world.now - Int64(replica))
                            _ = try await world.report(driver, body, at: replica)
                        }
                        group.addTask {
                            let isClean = try await erase(driver, world, at: replica)
                            #expect(isClean)
                        }
                        group.addTask {
                            _ = try await world.post(
                                "/api/v1/trips/start",
                                as: .driver(driver),
                                #"{"vehicle_id":"bus-9"}"#,
                                at: replica
                            )
                        }
                    }
                    try await group.waitForAll()
                }
                #expect(try await traces(of: driver, world) == [])
            }
        }
    }

    @Test(arguments: [1, 2, 3, 6, 7, 5000])
    func `the parts of an export are one JSON value with everything`(limit: Int) async throws {
        try await withDrivers { world async throws in
            try await work(world)
            let driver = dora
            var json: [UInt8] = []
            var cursor: DriverExport.Cursor?
            repeat {
                let part = try await world.query { [cursor] connection throws(DatabaseError) in
                    try DriverExport.part(of: driver, after: cursor, limit: limit, on: connection)
                }
                json += part.json
                cursor = part.next.flatMap(DriverExport.Cursor.init)
            } while cursor != nil
            let value = try JSONValue(parsing: json)
            #expect(value.keys == ["name", "assignments", "trips", "reports"])
            #expect(value["name"]?.text == "Somebody")
            #expect(value["assignments"]?[0]?["vehicle_id"]?.text == "bus-1")
            #expect(value["trips"]?.elements.map { $0["gtfs_trip_id"]?.text } == ["T1"])
            let rows = value["reports"]?["rows"]?.elements ?? []
            #expect(rows.map { $0[0]?.text } == Array(repeating: "bus-1", count: 6))
            #expect(rows.map { $0[1]?.number } == rows.compactMap { $0[1]?.number }.sorted())
            #expect(value["reports"]?["columns"]?.elements.count == rows[0].elements.count)
        }
    }

    @Test func `whoever never drove has an empty export`() async throws {
        try await withDrivers { world async throws in
            let query = AccountDataQuery(accountID: .random())
            let bytes = await world.first.intake.desk.answer(query.encoded())
            guard case .part(let json, next: nil) = try AccountDataAnswer(decoding: bytes).body
            else {
                Issue.record("no last part")
                return
            }
            #expect(
                String(decoding: json, as: UTF8.self).hasPrefix(
                    #"{"name":null,"assignments":[],"trips":[],"reports":{"columns":["#
                )
            )
            #expect(json.reversed().starts(with: #""rows":[]}}"#.utf8.reversed()))
        }
    }
}
