import Database
import ServiceKit
import TestKit
import Testing

@testable import Operations

@Suite(.timeLimit(.minutes(2))) struct MigrateTests {
    @Test func `brings an empty database up to date, then has nothing to do`() async throws {
        let database = try await ThrowawayPostgres.shared.database()
        let applied = try await Fleet.migrate(database.url)
        let all = Fleet.schemas.flatMap { schema in
            schema.migrations.map { "\(schema.name)/\($0.name)" }
        }
        #expect(applied.count == all.count)
        #expect(try await Fleet.migrate(database.url).isEmpty)
        let pool = database.open(connections: 1)
        let schemas = try await pool.withConnection { connection throws(DatabaseError) in
            try connection.query(
                "SELECT count(*) FROM pg_namespace WHERE nspname = ANY(string_to_array($1, ','))",
                [.text(Fleet.schemas.map(\.name).joined(separator: ","))]
            ).one().int(0)
        }
        await pool.close()
        #expect(schemas == Fleet.schemas.count)
    }

    @Test(arguments: [
        ([:], "DATABASE_URL is missing"),
        (["DATABASE_URL": "postgresql://127.0.0.1:9/x?connect_timeout=1"], ""),
    ])
    func `the command fails without a database`(
        environment: [String: String],
        _: String
    ) async throws {
        let code = try await onOneThread {
            Alongside.run(arguments: ["migrate"], environment: environment)
        }
        #expect(code == 1)
    }

    @Test func `says that the database does not answer and what to do`() async {
        let error = await #expect(throws: OperationError.self) {
            try await Fleet.migrate("postgresql://127.0.0.1:9/x?connect_timeout=1")
        }
        #expect(error?.description.contains("the database is not reachable") == true)
        #expect(error?.description.contains("start it or check DATABASE_URL") == true)
    }
}
