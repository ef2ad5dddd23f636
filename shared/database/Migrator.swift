/// One step of a schema's history; its name sorts it and its text never changes once applied.
public struct Migration: Hashable, Sendable {
    /// A name like `0001_rides`, unique in its schema.
    public let name: String
    /// One or several statements, without transaction control.
    public let sql: String

    /// Makes a migration.
    public init(name: String, sql: String) {
        self.name = name
        self.sql = sql
    }

    /// Makes a migration from a file that was embedded in the program.
    public init(name: String, bytes: [UInt8]) {
        self.init(name: name, sql: String(decoding: bytes, as: UTF8.self))
    }
}

/// Brings a service's schema to the state its program needs.
public enum Migrator {
    /// How long to wait for another process that migrates the same schema.
    static let lockTimeout = Duration.seconds(120)

    /// Makes role and schema where they are missing and applies the migrations that are new.
    ///
    /// Processes that migrate the same schema at once wait for each other (an advisory lock). Each
    /// migration is one transaction together with its row in `<schema>.migrations`, run as the
    /// schema's role with the schema as search path; a failing one leaves the earlier ones applied.
    ///
    /// - Parameters:
    ///   - schema: The service's schema, owned by `role`.
    ///   - role: The service's role, made without log-in when it is missing.
    ///   - migrations: All migrations from the first one on, names rising.
    ///   - connection: A connection of the owner, who may make schemas and roles; not in a
    ///     transaction.
    /// - Returns: The names that were applied now.
    /// - Throws: ``DatabaseError`` when a statement fails, when an applied migration's text has
    ///   changed since, or when the database is ahead of this program.
    @discardableResult
    public static func migrate(
        schema: String,
        role: String,
        migrations: [Migration],
        on connection: Connection
    ) throws(DatabaseError) -> [String] {
        precondition(
            zip(migrations, migrations.dropFirst()).allSatisfy { $0.name < $1.name },
            "the names of migrations rise and are unique"
        )
        let timeout = connection.answerTimeout
        let statementTimeout = try connection.query("SHOW statement_timeout").one().text(0)
        connection.answerTimeout = lockTimeout + timeout
        defer { connection.answerTimeout = timeout }
        try connection.script("SET statement_timeout = \(lockTimeout.milliseconds)")
        let lock = AdvisoryLock(class: .migration, key: hash(schema))
        defer {
            // On a dead connection lock and setting are gone with the session.
            _ = try? lock.unlock(on: connection)
            try? connection.script("SET statement_timeout = '\(statementTimeout)'")
        }
        try lock.lock(on: connection)
        do throws(DatabaseError) {
            try ensureRole(role, on: connection)
            try ensureSchema(schema, role: role, on: connection)
        } catch {
            throw withRemedy(error)
        }
        let applied = try history(schema, on: connection)
        try check(applied, against: migrations, schema: schema, on: connection)
        var done: [String] = []
        for migration in migrations.dropFirst(applied.count) {
            try apply(migration, schema: schema, role: role, on: connection)
            done.append(migration.name)
        }
        return done
    }

    // MARK: - Details

    /// Says what an operator can do about a user who may not make roles or schemas.
    private static func withRemedy(_ error: DatabaseError) -> DatabaseError {
        let remedy: String
        switch error.sqlState {
        case "42501":
            remedy =
                "the user of DATABASE_URL must make roles and schemas; as a superuser run: "
                + "ALTER ROLE <user> CREATEROLE; GRANT CREATE ON DATABASE <database> TO <user>"
        case "25006": remedy = "the database is read-only: set DATABASE_URL to the primary server"
        default: return error
        }
        return DatabaseError(
            error.kind,
            "\(error.message): \(remedy)",
            sqlState: error.sqlState
        )
    }

    /// Roles belong to the whole cluster, so another database's migration may make it meanwhile.
    private static func ensureRole(
        _ role: String,
        on connection: Connection
    ) throws(DatabaseError) {
        let exists = try connection.query(
            "SELECT 1 FROM pg_roles WHERE rolname = $1",
            [.text(role)]
        )
        if exists.isEmpty {
            do throws(DatabaseError) {
                try connection.script("CREATE ROLE \(Connection.quoted(role)) NOLOGIN")
            } catch  where error.sqlState == "42710" || error.isUniqueViolation {
                // Someone else made it.
            }
        }
        let member = try connection.query(
            "SELECT pg_has_role(session_user, $1, 'MEMBER')",
            [.text(role)]
        )
        guard try !member.one().bool(0) else { return }
        try connection.script("GRANT \(Connection.quoted(role)) TO SESSION_USER")
    }

    private static func ensureSchema(
        _ schema: String,
        role: String,
        on connection: Connection
    ) throws(DatabaseError) {
        let schema = Connection.quoted(schema)
        let role = Connection.quoted(role)
        try connection.script(
            """
            CREATE SCHEMA IF NOT EXISTS \(schema) AUTHORIZATION \(role);
            CREATE TABLE IF NOT EXISTS \(schema).migrations (
                name text PRIMARY KEY,
                checksum text NOT NULL,
                applied_at timestamptz NOT NULL DEFAULT now()
            );
            GRANT SELECT ON \(schema).migrations TO \(role);
            """
        )
    }

    private static func history(
        _ schema: String,
        on connection: Connection
    ) throws(DatabaseError) -> [(name: String, checksum: String)] {
        let rows = try connection.query(
            """
            SELECT name, checksum FROM \(Connection.quoted(schema)).migrations
            ORDER BY name COLLATE "C"
            """
        )
        var applied: [(name: String, checksum: String)] = []
        for row in rows { applied.append((try row.text("name"), try row.text("checksum"))) }
        return applied
    }

    private static func check(
        _ applied: [(name: String, checksum: String)],
        against migrations: [Migration],
        schema: String,
        on connection: Connection
    ) throws(DatabaseError) {
        for (index, row) in applied.enumerated() {
            guard index < migrations.count else {
                throw DatabaseError(
                    .statement,
                    "schema \(schema) has migration \(row.name), which this program does not know: "
                        + "it was made by a newer version, so run that or another database"
                )
            }
            let migration = migrations[index]
            guard migration.name == row.name else {
                throw DatabaseError(
                    .statement,
                    "schema \(schema) has migration \(row.name) where this program has "
                        + "\(migration.name): new migrations go behind all applied ones"
                )
            }
            guard try checksum(migration, on: connection) == row.checksum else {
                throw DatabaseError(
                    .statement,
                    "migration \(row.name) of schema \(schema) was changed after it was applied: "
                        + "put its text back and write a new migration instead"
                )
            }
        }
    }

    private static func apply(
        _ migration: Migration,
        schema: String,
        role: String,
        on connection: Connection
    ) throws(DatabaseError) {
        let checksum = try checksum(migration, on: connection)
        do throws(DatabaseError) {
            try connection.transaction { () throws(DatabaseError) in
                try connection.script(
                    """
                    SET LOCAL ROLE \(Connection.quoted(role));
                    SET LOCAL search_path = \(Connection.quoted(schema));
                    SET LOCAL statement_timeout = 0;
                    """
                )
                try connection.script(migration.sql)
                guard connection.isInTransaction else {
                    throw DatabaseError(.statement, "it ends the transaction it runs in")
                }
                try connection.script("SET LOCAL ROLE NONE")
                try connection.execute(
                    """
                    INSERT INTO \(Connection.quoted(schema)).migrations (name, checksum)
                    VALUES ($1, $2)
                    """,
                    [.text(migration.name), .text(checksum)]
                )
            }
        } catch {
            throw DatabaseError(
                error.kind,
                "migration \(migration.name) of schema \(schema): \(error.message)",
                sqlState: error.sqlState,
                constraint: error.constraint
            )
        }
    }

    /// SHA-256 of the text, by the server: no cryptography is linked for this.
    private static func checksum(
        _ migration: Migration,
        on connection: Connection
    ) throws(DatabaseError) -> String {
        try connection.query(
            "SELECT encode(sha256($1), 'hex')",
            [.bytes(Array(migration.sql.utf8))]
        ).one().text(0)
    }

    /// FNV-1a of the schema's name: the lock's key, the same in every process.
    private static func hash(_ schema: String) -> Int32 {
        var hash: UInt32 = 2_166_136_261
        for byte in schema.utf8 { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        return Int32(bitPattern: hash)
    }
}
