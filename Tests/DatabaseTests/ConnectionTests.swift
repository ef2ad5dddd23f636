import Database
import TestKit
import Testing
import Transit

@Suite(.timeLimit(.minutes(1))) struct ConnectionTests {
    @Test func `reads every type back as it was written`() async throws {
        let database = try await ThrowawayPostgres.shared.database().open()
        let id = UniqueID.random()
        try await database.withConnection { connection throws(DatabaseError) in
            let row = try connection.query(
                """
                SELECT $1::text AS t, $2::int AS i, $3::bigint AS b, $4 AS d, $5::bool AS f,
                    $6 AS u, $7 AS y, $8 AS at, $9::int AS missing, '{"a": 1}'::jsonb AS j,
                    1.5::real AS r, (-1)::smallint AS s
                """,
                [
                    "grüße \"x\"", 42, .int64(.max), 0.1, true, .uuid(id), .bytes([0, 255, 0]),
                    .timestamp(1_771_257_600), nil,
                ]
            ).one()
            #expect(try row.text("t") == "grüße \"x\"")
            #expect(try row.int("i") == 42)
            #expect(try row.int64("b") == .max)
            #expect(try row.double("d") == 0.1)
            #expect(try row.bool("f"))
            #expect(try row.uuid("u") == id)
            #expect(try row.bytes("y") == [0, 255, 0])
            #expect(try row.timestamp("at") == 1_771_257_600)
            #expect(try row.optionalInt("missing") == nil)
            #expect(try row.isNull("missing"))
            #expect(try row.text("j") == #"{"a": 1}"#)
            #expect(try row.double("r") == 1.5)
            #expect(try row.int(11) == -1)
        }
        await database.close()
    }

    @Test func `inserts rows from arrays with NULLs, none and many`() async throws {
        let database = try await ThrowawayPostgres.shared.database().open()
        let ids = (0..<1000).map { _ in UniqueID.random() }
        try await database.withConnection { connection throws(DatabaseError) in
            try connection.execute(
                """
                CREATE TABLE points (id uuid, n int, small smallint, x float8, r real, t text,
                    at timestamptz, f bool, y bytea)
                """
            )
            let insert = """
                INSERT INTO points SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::smallint[],
                    $4::float8[], $5::real[], $6::text[], $7::timestamptz[], $8::bool[],
                    $9::bytea[])
                """
            #expect(
                try connection.execute(
                    insert,
                    [
                        .uuidArray([]), .intArray([]), .smallintArray([]), .doubleArray([]),
                        .realArray([]), .textArray([]), .timestampArray([]), .boolArray([]),
                        .bytesArray([]),
                    ]
                ) == 0
            )
            let count = try connection.execute(
                insert,
                [
                    .uuidArray(ids), .intArray((0..<1000).map { $0 == 7 ? nil : Int64($0) }),
                    .smallintArray(Array(repeating: -2, count: 1000)),
                    .doubleArray(Array(repeating: 0.25, count: 1000)),
                    .realArray(Array(repeating: nil, count: 1000)),
                    .textArray((0..<1000).map { $0 == 7 ? nil : "stop {\($0), \"q\"}" }),
                    .timestampArray(Array(repeating: -1, count: 1000)),
                    .boolArray(Array(repeating: true, count: 1000)),
                    .bytesArray(Array(repeating: [], count: 1000)),
                ]
            )
            #expect(count == 1000)
            let row = try connection.query(
                "SELECT * FROM points WHERE id = $1",
                [.uuid(ids[8])]
            ).one()
            #expect(try row.int("n") == 8)
            #expect(try row.int("small") == -2)
            #expect(try row.optionalDouble("r") == nil)
            #expect(try row.text("t") == "stop {8, \"q\"}")
            #expect(try row.timestamp("at") == -1)
            #expect(try row.bytes("y") == [])
            let arrays = try connection.query(
                """
                SELECT array_agg(n ORDER BY n NULLS FIRST) AS n, array_agg(t ORDER BY n NULLS FIRST)
                    AS t, array_agg(id ORDER BY n NULLS FIRST) AS id, '{}'::int[] AS none
                FROM points WHERE n IS NULL OR n < 2
                """
            ).one()
            #expect(try arrays.ints("n") == [nil, 0, 1])
            #expect(try arrays.texts("t").first == .some(nil))
            #expect(try arrays.uuids("id") == [ids[7], ids[0], ids[1]])
            #expect(try arrays.ints("none") == [])
        }
        await database.close()
    }

    @Test func `names SQLSTATE and constraint of a refused row`() async throws {
        let database = try await ThrowawayPostgres.shared.database().open()
        try await database.withConnection { connection throws(DatabaseError) in
            try connection.script("CREATE TABLE rides (rider text CONSTRAINT one_ride UNIQUE)")
            try connection.execute("INSERT INTO rides VALUES ($1)", ["a"])
        }
        let error = await #expect(throws: DatabaseError.self) {
            try await database.withConnection { connection throws(DatabaseError) in
                try connection.execute("INSERT INTO rides VALUES ($1)", ["a"])
            }
        }
        #expect(error?.kind == .statement)
        #expect(error?.sqlState == "23505")
        #expect(error?.constraint == "one_ride")
        #expect(error?.isUniqueViolation == true)
        #expect(error?.isRetryable == false)
        await database.close()
    }

    @Test func `refuses a NUL in text instead of cutting it`() async throws {
        let database = try await ThrowawayPostgres.shared.database().open()
        for value in [SQLValue.text("a\0b"), .textArray(["a\0b"])] {
            let error = await #expect(throws: DatabaseError.self) {
                try await database.withConnection { connection throws(DatabaseError) in
                    try connection.query("SELECT $1", [value])
                }
            }
            #expect(error?.sqlState == "22021")
        }
        await database.close()
    }

    @Test func `a getter of another type, a missing column and NULL throw`() async throws {
        let database = try await ThrowawayPostgres.shared.database().open()
        try await database.withConnection { connection throws(DatabaseError) in
            let row = try connection.query("SELECT 1 AS i, NULL::int AS n").one()
            #expect(throws: DatabaseError.self) { try row.text("i") }
            #expect(throws: DatabaseError.self) { try row.int("nothing") }
            #expect(throws: DatabaseError.self) { try row.int(2) }
            #expect(throws: DatabaseError.self) { try row.int("n") }
            #expect(throws: DatabaseError.self) {
                try connection.query("SELECT 1 WHERE false").one()
            }
        }
        await database.close()
    }

    @Test func `keeps working through more texts than it keeps prepared`() async throws {
        let database = try await ThrowawayPostgres.shared.database().open(connections: 1)
        let sum = try await database.withConnection { connection throws(DatabaseError) in
            var sum = 0
            for number in 0..<600 {
                sum += try connection.query("SELECT \(number % 300)").one().int(0)
            }
            return sum
        }
        #expect(sum == 2 * 299 * 150)
        await database.close()
    }

    @Test func `prepares a statement anew after its table changed`() async throws {
        let database = try await ThrowawayPostgres.shared.database().open(connections: 1)
        try await database.withConnection { connection throws(DatabaseError) in
            try connection.script("CREATE TABLE t (a int); INSERT INTO t VALUES (1)")
            #expect(try connection.query("SELECT * FROM t").one().int("a") == 1)
            try connection.script("ALTER TABLE t ADD b text DEFAULT 'x'")
            #expect(throws: DatabaseError.self) { try connection.query("SELECT * FROM t") }
            #expect(try connection.query("SELECT * FROM t").one().text("b") == "x")
        }
        await database.close()
    }
}
