import Database
import TestKit
import Testing

@Suite(.timeLimit(.minutes(1))) struct MigratorTests {
    private let first = Migration(name: "0001_rides", sql: "CREATE TABLE rides (id int)")
    private let second = Migration(
        name: "0002_more",
        sql: "ALTER TABLE rides ADD t text; CREATE INDEX ON rides (t)"
    )

    private func migrate(
        _ test: TestDatabase,
        _ migrations: [Migration],
        role: String = "migrated_role",
        user: String = "postgres"
    ) async throws(DatabaseError) -> [String] {
        // A later parameter of the URL wins.
        let configuration = DatabaseConfiguration(url: test.url + "&user=\(user)", connections: 1)
        let database = Database(configuration)
        let result: Result<[String], DatabaseError>
        do throws(DatabaseError) {
            result = .success(
                try await database.withConnection { connection throws(DatabaseError) in
                    try Migrator.migrate(
                        schema: "verifier",
                        role: role,
                        migrations: migrations,
                        on: connection
                    )
                }
            )
        } catch {
            result = .failure(error)
        }
        await database.close()
        return try result.get()
    }

    @Test func `applies what is new, once, as the schema's role`() async throws {
        let test = try await ThrowawayPostgres.shared.database()
        #expect(try await migrate(test, [first]) == ["0001_rides"])
        #expect(try await migrate(test, [first]) == [])
        #expect(try await migrate(test, [first, second]) == ["0002_more"])
        let owned = try await test.number(
            """
            SELECT count(*) FROM pg_tables
            WHERE schemaname = 'verifier' AND tableowner = 'migrated_role' AND tablename = 'rides'
            """
        )
        #expect(owned == 1)
        // The service works as that role and sees its own schema only.
        var configuration = DatabaseConfiguration(url: test.url, role: "migrated_role")
        configuration.schema = "verifier"
        let service = Database(configuration)
        try await service.withConnection { connection throws(DatabaseError) in
            try connection.execute("INSERT INTO rides (id) VALUES (1)")
            #expect(throws: DatabaseError.self) { try connection.script("CREATE SCHEMA x") }
        }
        await service.close()
    }

    @Test func `says what a user needs who may not make roles or schemas`() async throws {
        let test = try await ThrowawayPostgres.shared.database()
        let superuser = test.open(connections: 1)
        try await superuser.withConnection { connection throws(DatabaseError) in
            try connection.script("CREATE ROLE poor_owner LOGIN")
        }
        func refusal() async -> String {
            do throws(DatabaseError) {
                _ = try await migrate(test, [first], role: "made_by_poor", user: "poor_owner")
                return "migrated"
            } catch {
                return error.message
            }
        }
        #expect(await refusal().contains("ALTER ROLE <user> CREATEROLE"))
        try await superuser.withConnection { connection throws(DatabaseError) in
            try connection.script("ALTER ROLE poor_owner CREATEROLE")
        }
        #expect(await refusal().contains("GRANT CREATE ON DATABASE"))
        try await superuser.withConnection { connection throws(DatabaseError) in
            try connection.script("GRANT CREATE ON DATABASE \(test.name) TO poor_owner")
        }
        #expect(await refusal() == "migrated")
        try await superuser.withConnection { connection throws(DatabaseError) in
            try connection.script(
                "ALTER ROLE poor_owner SET default_transaction_read_only = on"
            )
        }
        #expect(await refusal().contains("primary server"))
        await superuser.close()
    }

    @Test func `refuses a changed migration and names it`() async throws {
        let test = try await ThrowawayPostgres.shared.database()
        _ = try await migrate(test, [first])
        let changed = Migration(name: first.name, sql: first.sql + " ")
        let error = await failure { _ = try await migrate(test, [changed, second]) }
        #expect(
            error?.message
                == "migration 0001_rides of schema verifier was changed after it was applied: "
                + "put its text back and write a new migration instead"
        )
        #expect(try await migrate(test, [first, second]) == ["0002_more"])
    }

    @Test func `refuses a database of a newer program and a migration put in between`()
        async throws
    {
        let test = try await ThrowawayPostgres.shared.database()
        _ = try await migrate(test, [first, second])
        let newer = await failure { _ = try await migrate(test, [first]) }
        #expect(newer?.message.contains("0002_more, which this program does not know") == true)
        let between = Migration(name: "0001_z", sql: "SELECT 1")
        let early = await failure { _ = try await migrate(test, [first, between, second]) }
        #expect(early?.message.contains("new migrations go behind all applied ones") == true)
    }

    @Test func `leaves nothing of a migration that fails`() async throws {
        let test = try await ThrowawayPostgres.shared.database()
        let bad = Migration(name: "0002_bad", sql: "CREATE TABLE half (n int); SELECT 1/0")
        let error = await failure { _ = try await migrate(test, [first, bad]) }
        #expect(error?.sqlState == "22012")
        #expect(error?.message.hasPrefix("migration 0002_bad of schema verifier: ") == true)
        let ends = Migration(name: "0002_ends", sql: "CREATE TABLE half (n int); COMMIT")
        _ = await failure { _ = try await migrate(test, [first, ends]) }
        #expect(
            try await test.number("SELECT count(*) FROM verifier.migrations") == 1
        )
        #expect(
            try await test.number(
                "SELECT count(*) FROM pg_tables WHERE tablename = 'half' AND schemaname = 'none'"
            ) == 0
        )
    }

    @Test(arguments: 0..<3)
    func `processes that migrate at once apply each migration once`(round: Int) async throws {
        let test = try await ThrowawayPostgres.shared.database()
        let other = try await ThrowawayPostgres.shared.database()
        let role = "race_role_\(round)"
        let migrations = (1...9).map {
            Migration(name: "000\($0)", sql: "CREATE TABLE t\($0) (n int)")
        }
        let applied = try await withThrowingTaskGroup(of: [String].self) { group in
            // The role is the cluster's, so another database's migration races for it as well.
            for number in 0..<6 {
                group.addTask {
                    try await migrate(number == 5 ? other : test, migrations, role: role)
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(applied.count == 18)
    }
}
