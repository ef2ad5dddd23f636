import Database
import ServiceKit
import Telemetry
import TestKit
import Testing
import Transit
import Web

@testable import FeedService

/// Where a vehicle was, as JSON and CSV, and how long that is kept (spec 1.11).
@Suite(.timeLimit(.minutes(2))) struct HistoryTests {
    private let path = "/api/v1/admin/vehicles/bus-1/locations"

    /// A world with points of these ages in seconds.
    private func withPoints(
        _ ages: [Int64],
        _ change: (ReportBody, Int64) -> ReportBody = { body, _ in body },
        _ body: (DriverWorld) async throws -> Void
    ) async throws {
        try await withDrivers { world async throws in
            let reports = ages.map { change(ReportBody(at: world.now - $0), $0) }
            let answer = try await world.post(
                "/api/v1/locations/batch",
                as: .driver(.random()),
                batch(reports)
            )
            #expect(try answer.json["accepted"]?.number == Double(ages.count))
            try await body(world)
        }
    }

    private func ages(_ world: DriverWorld, _ query: String) async throws -> [Int64] {
        let list = try await world.get("\(path)?\(query)").json
        let locations = list["locations"]?.elements ?? []
        #expect(list["count"]?.number == Double(locations.count))
        return locations.compactMap { $0["timestamp"]?.number }.map { world.now - Int64($0) }
    }

    @Test func `points come with explicit nulls, the newest first`() async throws {
        try await withPoints([10, 0], { $1 == 0 ? $0.on("T1").with("speed", "0") : $0 }) {
            world async throws in
            let answer = try await world.get(path)
            let tail = #""accuracy":null,"timestamp":"#
            let place = #"{"latitude":47.6045,"longitude":-122.33,"bearing":null,"#
            #expect(
                answer.text
                    == #"{"vehicle_id":"bus-1","count":2,"has_more":false,"locations":["#
                    + place + #""speed":0.0,"# + tail + "\(world.now),"
                    + #""trip_id":"T1","received_at":"2026-02-16T16:00:00Z"},"#
                    + place + #""speed":null,"# + tail + "\(world.now - 10),"
                    + #""trip_id":"","received_at":"2026-02-16T16:00:00Z"}]}"#
            )
        }
    }

    @Test func `both ends of the span belong to it`() async throws {
        try await withPoints([0, 1, 10, 11, 20]) { world async throws in
            let now = world.now
            #expect(try await ages(world, "from=\(now - 11)&to=\(now - 1)") == [1, 10, 11])
            #expect(try await ages(world, "from=\(now - 10)&to=\(now - 10)") == [10])
            #expect(try await ages(world, "from=\(now - 19)&to=\(now - 12)") == [])
        }
    }

    @Test func `without a beginning it goes back a day from the end`() async throws {
        try await withPoints([0, 3600, 86_400]) { world async throws in
            #expect(try await ages(world, "") == [0, 3600, 86_400])
            #expect(try await ages(world, "to=\(world.now - 1)") == [3600, 86_400])
            world.clock.advance(by: 1)
            #expect(try await ages(world, "") == [1, 3601])
            #expect(try await ages(world, "to=\(world.now - 86_401)") == [86_401])
        }
    }

    @Test func `more than asked for is said to be there`() async throws {
        try await withPoints(Array(0..<101)) { world async throws in
            for (query, count, hasMore) in [
                ("", 100, true), ("limit=101", 101, false), ("limit=100", 100, true),
                ("limit=1", 1, true), ("limit=1000", 101, false),
            ] {
                let list = try await world.get("\(path)?\(query)").json
                #expect(list["count"]?.number == Double(count))
                #expect(list["has_more"]?.flag == hasMore)
            }
        }
    }

    @Test(
        arguments: [
            ("limit=0", "limit must be between 1 and 1000"),
            ("limit=1001", "limit must be between 1 and 1000"),
            ("limit=x", "limit must be between 1 and 1000"),
            ("from=2&to=1", "from must be less than or equal to to"),
            ("from=x", "from must be a valid unix timestamp"),
            ("to=1.5", "to must be a valid unix timestamp"),
            ("to=9223372036854775808", "to must be a valid unix timestamp"),
            ("format=xml", "format must be json or csv"),
            ("from=-9223372036854775808&to=9223372036854775807", nil),
            ("to=-9223372036854775808", nil),
            ("from=1&to=1", nil), ("format=&limit=&from=&to=", nil),
        ] as [(String, String?)]
    )
    func `bad questions are 400`(query: String, error: String?) async throws {
        try await withPoints([0]) { world async throws in
            let answer = try await world.get("\(path)?\(query)")
            #expect(answer.status == (error == nil ? 200 : 400))
            #expect(answer.refusal == error)
        }
    }

    @Test(arguments: [("none", 404), ("a%20b", 400), (String(repeating: "a", count: 51), 400)])
    func `an unknown vehicle is 404, an impossible one 400`(id: String, status: Int) async throws {
        try await withDrivers { world async throws in
            let answer = try await world.get("/api/v1/admin/vehicles/\(id)/locations")
            #expect(answer.status == status)
        }
    }

    // MARK: - CSV

    @Test func `a table has empty cells for what is absent`() async throws {
        try await withPoints(
            [0, 10],
            { $1 == 0 ? $0.with("speed", "0").with("bearing", "9") : $0 }
        ) {
            world async throws in
            let answer = try await world.get("\(path)?format=csv")
            #expect(answer.headers.first("Content-Type") == "text/csv")
            #expect(
                answer.headers.first("Content-Disposition")
                    == "attachment; filename=\"bus-1_locations.csv\""
            )
            #expect(
                answer.text
                    == """
                    timestamp,latitude,longitude,bearing,speed,accuracy,trip_id,received_at
                    \(world.now),47.6045,-122.33,9.0,0.0,,,2026-02-16T16:00:00Z
                    \(world.now - 10),47.6045,-122.33,,,,,2026-02-16T16:00:00Z

                    """
            )
        }
    }

    @Test(arguments: [
        ("T1", "T1"), ("=1+1", "'=1+1"), ("+1", "'+1"), ("-1", "'-1"), ("@x", "'@x"),
        ("\tx", "'\tx"), ("\rx", "\"'\rx\""), ("a=1", "a=1"), ("", ""), ("a,b", "\"a,b\""),
        ("a\"b", "\"a\"\"b\""), ("=\"x\"", "\"'=\"\"x\"\"\""), ("a\nb", "\"a\nb\""),
    ])
    func `a cell of somebody's text is no formula and no second cell`(text: String, cell: String) {
        #expect(HistoryCSV.cell(text) == cell)
    }

    // MARK: - Retention

    private func retention(
        _ world: DriverWorld,
        _ pool: Database,
        period: Int64?
    )
        -> LocationRetention
    {
        let clock = world.clock
        return LocationRetention(
            database: pool,
            period: period,
            now: { clock.now },
            logger: .silent
        )
    }

    @Test func `points go a retention after their receipt, and their day with them`()
        async throws
    {
        try await withPoints([0, 86_400]) { world async throws in
            let pool = world.database.open(connections: 1, role: Feed.schema.role)
            let count = "SELECT count(*) FROM feed.location_points"
            let days =
                "SELECT count(*) FROM pg_inherits WHERE inhparent = 'feed.location_points'::regclass"
            let week: Int64 = 7 * 86_400
            await retention(world, pool, period: week).step()
            #expect(try await world.number(count) == 2)
            // The second was measured a day earlier, but received with the first.
            world.clock.advance(by: week)
            await retention(world, pool, period: week).step()
            #expect(try await world.number(count) == 2)
            let before = try await world.number(days)
            world.clock.advance(by: 1)
            await retention(world, pool, period: nil).step()
            #expect(try await world.number(count) == 2)
            await retention(world, pool, period: week).step()
            #expect(try await world.number(count) == 0)
            #expect(try await world.number(days) == before)
            // 16:00 on the 16th: the 15th may go a day after its end, eight hours later.
            world.clock.advance(by: 8 * 3600)
            await retention(world, pool, period: week).step()
            #expect(
                try await world.number("\(days) AND inhrelid::regclass::text LIKE '%0215'") == 0
            )
            await pool.close()
        }
    }

    @Test(arguments: ["-1h", "garbage", ""])
    func `a senseless retention keeps everything`(text: String) throws {
        let settings = try Feed.definition.table.read(
            environment: [
                "DATABASE_URL": "x", "JWT_SECRET": TestTokens.secret.revealed(),
                "GTFS_STATIC_URL": "x", "LOCATION_RETENTION_PERIOD": text,
            ]
        )
        #expect(settings[FeedSettings.retention] == .zero)
    }
}
