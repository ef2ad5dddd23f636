import Database
import TestKit
import Testing
import Transit

/// Partitions by day: made ahead, filled from the default one, dropped when they are old.
@Suite(.timeLimit(.minutes(1))) struct DayPartitionsTests {
    private let partitions = DayPartitions(schema: "public", table: "points", column: "at")
    /// 2026-02-16T16:00:00Z.
    private let now: UnixSeconds = 1_771_257_600
    /// 2026-02-16T00:00:00Z.
    private let midnight: UnixSeconds = 1_771_200_000
    private let day: Int64 = 86_400

    private func withTable(
        _ body: (TestDatabase, DedicatedConnection) async throws -> Void
    ) async throws {
        let test = try await ThrowawayPostgres.shared.database()
        try await test.run(
            """
            CREATE TABLE points (id int, at timestamptz, note text NOT NULL DEFAULT 'x',
                PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
            CREATE TABLE points_default PARTITION OF points DEFAULT;
            """
        )
        let connection = DedicatedConnection(test.configuration(), name: "partitions")
        try await body(test, connection)
        await connection.close()
    }

    private func maintain(
        _ connection: DedicatedConnection,
        at now: UnixSeconds,
        keepingFrom cutoff: UnixSeconds? = nil,
        batch: Int = 10_000
    ) async throws -> DayPartitions.Change {
        try await connection.run { [partitions] connection throws(DatabaseError) in
            try partitions.maintain(at: now, keepingFrom: cutoff, batch: batch, on: connection)
        }
    }

    private func insert(_ test: TestDatabase, _ instants: [UnixSeconds]) async throws {
        for instant in instants {
            try await test.run("INSERT INTO points VALUES (1, to_timestamp(\(instant)))")
        }
    }

    @Test func `yesterday, today and two days ahead are made, once`() async throws {
        try await withTable { test, connection async throws in
            let first = try await maintain(connection, at: now)
            let names = ["15", "16", "17", "18"].map { "points_202602\($0)" }
            #expect(first.made == names)
            #expect(try await maintain(connection, at: now).isEmpty)
            let next = try await maintain(connection, at: midnight + day)
            #expect(next.made == ["points_20260219"])
            #expect(try await maintain(connection, at: midnight + day - 1).isEmpty)
        }
    }

    @Test func `rows lie in the day of their time, to the second`() async throws {
        try await withTable { test, connection async throws in
            _ = try await maintain(connection, at: now)
            try await insert(
                test,
                [midnight - 1, midnight, midnight + day - 1, midnight + day, midnight - 5 * day]
            )
            for (name, count) in [
                ("20260215", 1), ("20260216", 2), ("20260217", 1), ("default", 1),
            ] {
                #expect(try await test.number("SELECT count(*) FROM points_\(name)") == count)
            }
        }
    }

    @Test func `rows that came before their partition are moved into it`() async throws {
        try await withTable { test, connection async throws in
            try await insert(test, [midnight, midnight + 1, midnight - 9 * day])
            let change = try await maintain(connection, at: now)
            #expect(change.made.count == 4)
            #expect(try await test.number("SELECT count(*) FROM points_20260216") == 2)
            #expect(try await test.number("SELECT count(*) FROM points_default") == 1)
            // The key holds over old and new rows.
            let error = await failure { try await insert(test, [midnight]) }
            #expect(error?.isUniqueViolation == true)
        }
    }

    @Test func `a day is dropped when all of it is older than the cutoff`() async throws {
        try await withTable { test, connection async throws in
            _ = try await maintain(connection, at: now)
            try await insert(test, [midnight - 1, midnight])
            let early = try await maintain(connection, at: now, keepingFrom: midnight - 1)
            #expect(early.dropped == [])
            let change = try await maintain(connection, at: now, keepingFrom: midnight)
            #expect(change.dropped == ["points_20260215"])
            #expect(change.made == [])
            #expect(try await test.number("SELECT count(*) FROM points") == 1)
            // A dropped day is not made again, and its late rows go from the default partition.
            try await insert(test, [midnight - 1, midnight - 2, midnight - 3])
            let again = try await maintain(connection, at: now, keepingFrom: midnight, batch: 2)
            #expect(again.made == [])
            #expect(again.deletedRows == 3)
            #expect(try await test.number("SELECT count(*) FROM points") == 1)
        }
    }

    @Test func `tables of other names are left alone`() async throws {
        try await withTable { test, connection async throws in
            try await test.run(
                """
                CREATE TABLE points_archive PARTITION OF points
                    FOR VALUES FROM ('2020-01-01') TO ('2021-01-01');
                CREATE TABLE points_20200101 (id int);
                """
            )
            let change = try await maintain(connection, at: now, keepingFrom: now)
            #expect(change.dropped == [])
            #expect(try await test.number("SELECT count(*) FROM points_20200101") == 0)
        }
    }

    @Test func `two processes at once make each partition once`() async throws {
        try await withTable { test, connection async throws in
            let other = DedicatedConnection(test.configuration(), name: "other")
            for round in 0..<5 as Range<Int64> {
                async let first = maintain(connection, at: now + round * 10 * day)
                async let second = maintain(other, at: now + round * 10 * day)
                let made = try await (first.made + second.made).count
                #expect(made == 4)
            }
            await other.close()
        }
    }

    @Test func `a reader that stays too long makes it wait for the next round`() async throws {
        try await withTable { test, connection async throws in
            let reader = DedicatedConnection(test.configuration(), name: "reader")
            try await reader.run { connection throws(DatabaseError) in
                try connection.script("BEGIN; SELECT FROM points; COMMIT")
            }
            let blocking = Task {
                try await reader.run { connection throws(DatabaseError) in
                    try connection.transaction { () throws(DatabaseError) in
                        try connection.query("SELECT id FROM points")
                        try connection.query("SELECT pg_sleep(3)")
                    }
                }
            }
            try await eventually {
                try await test.number(
                    "SELECT count(*) FROM pg_locks WHERE relation = 'points_default'::regclass"
                ) > 0
            }
            let error = await failure { try await maintain(connection, at: now) }
            #expect(error?.sqlState == "55P03")
            _ = try await blocking.value
            #expect(try await maintain(connection, at: now).made.count == 4)
            await reader.close()
        }
    }
}
