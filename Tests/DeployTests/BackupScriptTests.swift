import Database
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Operations

/// `deploy/backup` and `deploy/restore` as an operator with containers runs them; a whole product is rehearsed in EndToEnd.
@Suite(.timeLimit(.minutes(1))) struct BackupScriptTests {
    @Test func `a backup of an older version comes into a newer one through containers`()
        async throws
    {
        let folder = "/tmp/alongside-containers-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(
            atPath: folder + "/secrets/auth",
            withIntermediateDirectories: true
        )
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try "s3cret\n".write(
            toFile: folder + "/secrets/auth/jwt-secret",
            atomically: true,
            encoding: .utf8
        )
        let old = try await Self.server()
        try await Self.fillOlder(old)
        let backup = [folder + "/backup", folder + "/secrets"]
        let saved = try run("backup", backup, on: old, folder)
        #expect(saved.status == 0, "\(saved.output)")

        let new = try await Self.server()
        try FileManager.default.removeItem(atPath: folder + "/secrets")
        let restored = try run("restore", backup, on: new, folder)
        #expect(restored.status == 0, "\(restored.output)")
        let secret = try String(
            contentsOfFile: folder + "/secrets/auth/jwt-secret",
            encoding: .utf8
        )
        #expect(secret == "s3cret\n")
        let applied = try await Fleet.migrate(new.url)
        #expect(applied.sorted() == Self.latest.sorted())
        try await Logins.local.allow(in: new.url)
        let asRelay = new.url.replacing("user=postgres", with: "user=alongside_relay")
        let pool = Database(DatabaseConfiguration(url: asRelay, connections: 1))
        let kept = try await pool.withConnection { connection throws(DatabaseError) in
            try connection.query("SELECT value FROM auth.revocations").one().text(0)
        }
        await pool.close()
        #expect(kept == "token-7")
        // Over a database in use nothing is restored.
        let again = try run("restore", [backup[0]], on: new, folder)
        #expect(again.status == 1)
        #expect(again.output.contains("make an empty one"))
    }

    // MARK: - Two servers

    private struct Server {
        let postgres: ThrowawayPostgres
        let folder: String
        var url: String { "postgresql:///alongside?host=\(folder)&user=postgres" }
    }

    /// A server as the database's image makes it: the owner `alongside` and a database of that name.
    private static func server() async throws -> Server {
        let postgres = try await ThrowawayPostgres.fresh(settings: ["fsync=off"])
        let first = try await postgres.database().open(connections: 1)
        try await first.withConnection { connection throws(DatabaseError) in
            try connection.script("CREATE ROLE alongside SUPERUSER LOGIN")
            try connection.script("CREATE DATABASE alongside OWNER alongside")
        }
        await first.close()
        return Server(postgres: postgres, folder: try await postgres.folder())
    }

    /// The last migration of each schema that has several: what the older version lacks.
    private static var latest: [String] {
        Fleet.schemas.filter { $0.migrations.count > 1 }.compactMap { schema in
            schema.migrations.last.map { "\(schema.name)/\($0.name)" }
        }
    }

    private static func fillOlder(_ server: Server) async throws {
        let pool = Database(DatabaseConfiguration(url: server.url, connections: 1))
        try await pool.withConnection { connection throws(DatabaseError) in
            for schema in Fleet.schemas {
                let older =
                    schema.migrations.count > 1
                    ? schema.migrations.dropLast() : schema.migrations[...]
                try Migrator.migrate(
                    schema: schema.name,
                    role: schema.role,
                    migrations: Array(older),
                    on: connection
                )
            }
            try connection.execute(
                """
                INSERT INTO auth.revocations (kind, value, revoked_at, until)
                VALUES ('token', 'token-7', now(), now() + interval '1 year')
                """
            )
        }
        await pool.close()
    }

    /// Runs a script with a `docker` that has the database's programs and none of this machine's files beside it.
    private func run(
        _ script: String,
        _ arguments: [String],
        on server: Server,
        _ folder: String
    ) throws -> FinishedProgram {
        let docker = """
            #!/bin/sh
            [ "$1 $2 $(basename "$3")" = "compose -f docker-compose.yml" ] || exit 64
            shift 3
            [ "$*" != "up -d --wait postgres" ] || exit 0
            [ "$1 $2 $3" = "exec -T postgres" ] || exit 64
            shift 3
            export PGHOST=\(server.folder)
            cd / && exec "$@"

            """
        try docker.write(toFile: folder + "/docker", atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes(
            [.posixPermissions: 0o755],
            ofItemAtPath: folder + "/docker"
        )
        return try FinishedProgram(
            ["deploy/" + script] + arguments,
            environment: ["PATH": "\(folder):/usr/bin:/bin", "DATABASE_URL": ""]
        )
    }
}
