import Database
import ServiceKit
import TestKit
import Testing

@testable import Operations

/// What the role of each service may do, by PostgreSQL's own catalogue.
@Suite(.timeLimit(.minutes(1))) struct GrantTests {
    /// What every service may do beyond its own schema.
    private static let shared: Set<String> = [
        "SELECT auth.revocations", "SELECT feed.schedule_archive", "SELECT feed.schedule_chunks",
        "SELECT bus.clock", "INSERT bus.clock", "UPDATE bus.clock", "DELETE bus.clock",
        "SELECT bus.instances", "INSERT bus.instances", "UPDATE bus.instances",
        "DELETE bus.instances",
    ]

    private func prepared() async throws -> Database {
        let database = try await ThrowawayPostgres.shared.database()
        _ = try await Fleet.migrate(database.url)
        try await Logins.local.allow(in: database.url)
        return database.open(connections: 1)
    }

    private func rows(_ pool: Database, _ sql: String, _ role: String) async throws -> [String] {
        try await pool.withConnection { connection throws(DatabaseError) in
            var texts: [String] = []
            for row in try connection.query(sql, [.text(role)]) { texts.append(try row.text(0)) }
            return texts
        }
    }

    @Test func `a service reaches nothing of another's schema but what all share`() async throws {
        let pool = try await prepared()
        let reach = """
            SELECT may || ' ' || n.nspname || '.' || c.relname
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace,
                unnest(string_to_array('SELECT INSERT UPDATE DELETE TRUNCATE TRIGGER', ' ')) may
            WHERE c.relkind IN ('r', 'p', 'v', 'm') AND n.nspname !~ '^(pg_|information_schema)'
                AND has_schema_privilege($1, n.oid, 'USAGE')
                AND has_table_privilege($1, c.oid, may)
            """
        for service in Fleet.definitions {
            let own = service.schema.map { ".*\($0.name)\\..*" } ?? "none"
            let foreign = try await rows(
                pool,
                reach + " AND may || ' ' || n.nspname || '.' || c.relname !~ '\(own)'",
                service.loginRole
            )
            let expected = Self.shared.filter { !$0.contains(" \(service.schema?.name ?? "-").") }
            #expect(Set(foreign) == expected, "\(service.name)")
        }
        await pool.close()
    }

    @Test func `logins are let in for several databases of one server at once`() async throws {
        let folder = try OwnFolder()
        try SecretsCommand(
            arguments: [folder.path + "/secrets"],
            try UpSettings.table.read(environment: [:])
        ).run { _ in }
        let logins = try Logins(folder: folder.path + "/secrets")
        var databases: [TestDatabase] = []
        for _ in 0..<4 { databases.append(try await ThrowawayPostgres.shared.database()) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for database in databases {
                group.addTask {
                    for _ in 0..<5 { try await logins.allow(in: database.url) }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func `a service's role makes nothing outside its schema and is nobody else`() async throws
    {
        let pool = try await prepared()
        for service in Fleet.definitions {
            let schemas = try await rows(
                pool,
                """
                SELECT nspname::text FROM pg_namespace
                WHERE has_schema_privilege($1, oid, 'CREATE') AND nspname !~ '^pg_'
                """,
                service.loginRole
            )
            #expect(schemas == (service.schema.map { [$0.name] } ?? []), "\(service.name)")
            let powers = try await rows(
                pool,
                """
                SELECT rolname::text FROM pg_roles WHERE rolname = $1 AND (rolsuper OR rolcreaterole
                    OR rolcreatedb OR rolreplication OR rolbypassrls
                    OR has_database_privilege(rolname, current_database(), 'CREATE'))
                UNION ALL
                SELECT 'member of ' || roleid::regrole FROM pg_auth_members
                WHERE member = $1::regrole
                UNION ALL
                SELECT 'runs as its owner: ' || proname FROM pg_proc
                WHERE prosecdef AND pronamespace::regnamespace::text !~ '^pg_'
                """,
                service.loginRole
            )
            #expect(powers == [], "\(service.name)")
        }
        await pool.close()
    }
}
