import Database
import Foundation
import ServiceKit
import Synchronization
import TestKit
import Testing
import Transit

@testable import AuthService
@testable import Operations

/// `alongside user add`.
@Suite(.timeLimit(.minutes(1))) struct UserCommandTests {
    private func database() async throws -> TestDatabase {
        let template = ThrowawayPostgres.Template("auth_tools") {
            connection throws(DatabaseError) in
            try Migrator.migrate(
                schema: Auth.schema.name,
                role: Auth.schema.role,
                migrations: Auth.schema.migrations,
                on: connection
            )
        }
        return try await ThrowawayPostgres.shared.database(template)
    }

    /// Runs the command on a thread of its own, as it blocks.
    private func run(
        _ arguments: [String],
        _ environment: [String: String]
    ) async throws
        -> [String]
    {
        let lines = Mutex<[String]>([])
        let result: Result<Void, any Error> = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    returning: Result {
                        try UserCommand(arguments: arguments).run(environment: environment) {
                            line in lines.withLock { $0.append(line) }
                        }
                    }
                )
            }
        }
        try result.get()
        return lines.withLock { $0 }
    }

    @Test(arguments: [("admin", "Root"), ("driver", nil)])
    func `makes staff with a password that is shown once`(
        role: String,
        name: String?
    )
        async throws
    {
        let database = try await database()
        var arguments = ["--role", role, "--email", "Root@example.org", "--generate"]
        if let name { arguments += ["--name", name] }
        let lines = try await run(arguments, ["DATABASE_URL": database.url])
        try #require(lines.count == 2)
        let pool = database.open(connections: 1)
        let row = try await pool.withConnection { connection throws(DatabaseError) in
            let row = try connection.query("SELECT * FROM auth.accounts").one()
            return [
                try row.text("role"), try row.text("name"), try row.text("email"),
                try row.text("password_hash"), try row.uuid("id").description,
            ]
        }
        await pool.close()
        #expect(row[0] == role)
        #expect(row[1] == name ?? "Root@example.org")
        #expect(row[2] == "Root@example.org")
        #expect(lines[0] == "\(role) Root@example.org added, id \(row[4])")
        let password = String(lines[1].dropFirst("password ".count))
        #expect(password.count == 29)
        #expect(Argon2.verify(Array(password.utf8), against: row[3]))
        let error = await #expect(throws: OperationError.self) {
            try await run(arguments, ["DATABASE_URL": database.url])
        }
        #expect(
            error?.description == "an account with the address Root@example.org exists already"
        )
    }

    @Test func `dates the account by the fleet's clock`() async throws {
        let database = try await database()
        let pool = database.open(connections: 1)
        try await pool.withConnection { connection throws(DatabaseError) in
            try connection.script(
                """
                CREATE SCHEMA bus;
                CREATE TABLE bus.clock (offset_seconds bigint NOT NULL);
                INSERT INTO bus.clock VALUES (7000000);
                GRANT USAGE ON SCHEMA bus TO PUBLIC;
                GRANT SELECT ON bus.clock TO PUBLIC;
                """
            )
        }
        _ = try await run(
            ["--role", "driver", "--email", "d@example.org", "--generate"],
            ["DATABASE_URL": database.url]
        )
        let made = try await pool.withConnection { connection throws(DatabaseError) in
            try connection.query("SELECT created_at FROM auth.accounts").one().timestamp(0)
        }
        await pool.close()
        #expect(abs(made - ApplicationClock.live().now() - 7_000_000) <= 60)
    }

    @Test(arguments: [
        [], ["--role", "admin"], ["--email", "a@b"], ["--role", "member", "--email", "a@b"],
        ["--role", "admin", "--email"], ["--role", "admin", "--email", "a@b", "more"],
        ["--role", "admin", "--email", "a@b", "--password", "x"],
    ])
    func `says what it takes`(arguments: [String]) {
        let error = #expect(throws: OperationError.self) {
            try UserCommand(arguments: arguments)
        }
        #expect(error?.description.hasSuffix(UserCommand.usage) == true)
    }

    @Test func `without a database it says which one to name`() async {
        let error = await #expect(throws: OperationError.self) {
            try await run(
                ["--role", "admin", "--email", "a@b", "--generate"],
                ["ALONGSIDE_DATA": "/nonexistent"]
            )
        }
        #expect(error?.description.hasPrefix("DATABASE_URL is missing") == true)
    }

    @Test func `a database that is away is said to be`() async {
        let error = await #expect(throws: OperationError.self) {
            try await run(
                ["--role", "admin", "--email", "a@b", "--generate"],
                ["DATABASE_URL": "postgresql:///x?host=/nonexistent"]
            )
        }
        #expect(error?.description.hasPrefix("the database is not reachable") == true)
    }
}
