internal import Database

/// Decides whether a service may go on with the database it found.
struct DatabaseGate: Sendable {
    /// What is in the way.
    struct Obstacle: Sendable, Equatable {
        /// One sentence that says what to do next.
        let sentence: String
        /// Whether waiting can help.
        let mayPass: Bool
    }

    let schema: ServiceSchema?

    /// What is in the way now, or nil.
    func obstacle(_ pool: Database) async -> Obstacle? {
        do throws(DatabaseError) {
            guard let schema else {
                try await pool.withConnection { connection throws(DatabaseError) in
                    _ = try connection.query("SELECT 1")
                }
                return nil
            }
            let names = try await pool.withConnection { connection throws(DatabaseError) in
                var names: [String] = []
                for row in try connection.query("SELECT name FROM migrations ORDER BY name") {
                    names.append(try row.text(0))
                }
                return names
            }
            return obstacle(applied: names, schema)
        } catch {
            return obstacle(error)
        }
    }

    func obstacle(applied: [String], _ schema: ServiceSchema) -> Obstacle? {
        let known = schema.migrations.map(\.name)
        if let missing = known.first(where: { !applied.contains($0) }) {
            return Obstacle(
                sentence: "the schema \(schema.name) lacks migration \(missing): "
                    + "run `alongside migrate`",
                mayPass: true
            )
        }
        if let newer = applied.first(where: { !known.contains($0) }) {
            return Obstacle(
                sentence: "the schema \(schema.name) has migration \(newer) of a newer version: "
                    + "run that version, or use another database",
                mayPass: false
            )
        }
        return nil
    }

    private func obstacle(_ error: DatabaseError) -> Obstacle {
        switch error.sqlState {
        // No such table, schema or role (SET ROLE of one is "invalid parameter value").
        case "42P01"?, "3F000"?, "42704"?, "22023"?:
            Obstacle(
                sentence: "the database is not migrated (\(error.message)): "
                    + "run `alongside migrate`",
                mayPass: true
            )
        case let state? where state.hasPrefix("28") || state == "3D000" || state == "42501":
            Obstacle(
                sentence: "the database refuses us (\(error.message)): check user, password and "
                    + "database name in DATABASE_URL",
                mayPass: false
            )
        default:
            Obstacle(
                sentence: "the database is not reachable (\(error.message)): start it, or check "
                    + "DATABASE_URL",
                mayPass: true
            )
        }
    }
}
