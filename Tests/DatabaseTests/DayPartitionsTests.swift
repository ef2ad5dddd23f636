import Database
import TestKit
import Testing
import Transit

/// Partitions by day: made ahead, filled from the default one, dropped when they are old.
@Suite(.timeLimit(.minutes(1))) struct DayPartitionsTests {
    /// Points come up to an hour late.
    private let partitions = DayPartitions(
        schema: "public",
        table: "points",
        column: "at",
        receivedColumn: "received",
        lateness: 3600
    )
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
            CREATE TABLE points (id int, at timestamptz, received timestamptz NOT NULL,
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
            try await test.run(
                "INSERT INTO points SELECT 1, t, t FROM to_timestamp(\(instant)) t"
            )
        }
    }

    @Test(arguments: [(3600, "16"), (3599, "15")] as [(Int64, String)])
    func `the days that points may belong to and two ahead are made, once`(
        second: Int64,
        first: String
    ) async throws {
        try await withTable { _, connection async throws in
            let change = try await maintain(connection, at: midnight + second)
            let days = (Int(first) ?? 0)...18
            #expect(change.made == days.map { "points_202602\($0)" })
            #expect(try await maintain(connection, at: midnight + second).isEmpty)
            #expect(try await maintain(connection, at: midnight + day - 1).isEmpty)
            let next = try await maintain(connection, at: midnight + day)
            #expect(next.made == ["points_20260219"])
        }
    }

    @Test func `rows lie in the day of their time, to the second`() async throws {
        try await withTable { test, connection async throws in
            _ = try await maintain(connection, at: midnight)
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
            #expect(change.made.count == 3)
            #expect(try await test.number("SELECT count(*) FROM points_20260216") == 2)
            #expect(try await test.number("SELECT count(*) FROM points_default") == 1)
            // The key holds over old and new rows.
            let error = await failure { try await insert(test, [midnight]) }
            #expect(error?.isUniqueViolation == true)
        }
    }

    @Test func `points go once they were received before the cutoff, to the second`()
        async throws
    {
        try await withTable { test, connection async throws in
            _ = try await maintain(connection, at: midnight)
            try await insert(test, [midnight - 1, midnight, midnight + 1, midnight - 30 * day])
            // Measured before midnight, received an hour later.
            try await test.run(
                """
                INSERT INTO points VALUES (2, to_timestamp(\(midnight - 1)),
                    to_timestamp(\(midnight + 3599)))
                """
            )
            for (cutoff, dropped, deleted, left) in [
                (midnight - 1, [], 1, 4), (midnight, [], 1, 3), (midnight + 1, [], 1, 2),
                (midnight + 3599, [], 1, 1), (midnight + 3600, ["points_20260215"], 0, 0),
            ] as [(UnixSeconds, [String], Int, Int)] {
                let change = try await maintain(connection, at: midnight, keepingFrom: cutoff)
                #expect(change.dropped == dropped)
                #expect(change.deletedRows == deleted)
                #expect(try await test.number("SELECT count(*) FROM points") == left)
            }
        }
    }

    @Test func `many points go in batches, and nothing goes without a cutoff`() async throws {
        try await withTable { test, connection async throws in
            try await insert(test, (0..<7).map { midnight + $0 })
            #expect(try await maintain(connection, at: now).deletedRows == 0)
            let change = try await maintain(
                connection,
                at: now,
                keepingFrom: midnight + 5,
                batch: 2
            )
            #expect(change.deletedRows == 5)
            #expect(try await test.number("SELECT count(*) FROM points") == 2)
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
                #expect(made == 3)
            }
            await other.close()
        }
    }

    @Test func `a row that was routed before its day was attached may be sent again`()
        async throws
    {
        try await withTable { test, connection async throws in
            let writer = DedicatedConnection(test.configuration(), name: "writer")
            let insert = "INSERT INTO points SELECT 1, t, t FROM to_timestamp(\(midnight)) t"
            let insertion = Shared<Task<DatabaseError?, Never>?>(nil)
            try await connection.run { connection throws(DatabaseError) in
                try connection.script("BEGIN; LOCK TABLE points_default IN ACCESS EXCLUSIVE MODE")
                let task = Task {
                    await failure {
                        try await writer.run { connection throws(DatabaseError) in
                            try connection.script(insert)
                        }
                    }
                }
                insertion.change { $0 = task }
                while try connection.query(
                    "SELECT count(*) FROM pg_locks WHERE NOT granted"
                ).one().int(0) == 0 {}
                try connection.script(
                    """
                    CREATE TABLE points_20260216 (LIKE points INCLUDING ALL);
                    ALTER TABLE points ATTACH PARTITION points_20260216
                        FOR VALUES FROM ('2026-02-16Z') TO ('2026-02-17Z');
                    COMMIT
                    """
                )
            }
            let error = await insertion.value?.value
            #expect(error?.sqlState == "23514")
            #expect(error?.isRetryable == true)
            try await test.run(insert)
            #expect(try await test.number("SELECT count(*) FROM points_20260216") == 1)
            await writer.close()
        }
    }

    @Test func `a check with a name is not worth another try`() async throws {
        let test = try await ThrowawayPostgres.shared.database()
        try await test.run("CREATE TABLE t (a int CONSTRAINT small CHECK (a < 5))")
        let error = await failure { try await test.run("INSERT INTO t VALUES (9)") }
        #expect(error?.sqlState == "23514")
        #expect(error?.constraint == "small")
        #expect(error?.isRetryable == false)
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
            try await eventually("the reader holds its lock") {
                try await test.number(
                    "SELECT count(*) FROM pg_locks WHERE relation = 'points_default'::regclass"
                ) > 0
            }
            let error = await failure { try await maintain(connection, at: now) }
            #expect(error?.sqlState == "55P03")
            _ = try await blocking.value
            #expect(try await maintain(connection, at: now).made.count == 3)
            await reader.close()
        }
    }
}
