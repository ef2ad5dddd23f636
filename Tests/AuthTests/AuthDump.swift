import Database
import TestKit

/// Everything that the schema of auth holds, as text: what a thief of a backup would read.
struct AuthDump {
    /// Every row of every table, by table.
    let rows: [String: [String]]

    /// All rows under each other.
    var text: String { rows.values.joined().joined(separator: "\n") }

    init(_ database: TestDatabase) async throws {
        rows = try await database.query { connection throws(DatabaseError) in
            var rows: [String: [String]] = [:]
            let tables = try connection.query(
                "SELECT tablename::text FROM pg_tables WHERE schemaname = 'auth'"
            )
            for table in tables {
                let name = try table.text(0)
                var texts: [String] = []
                for row in try connection.query("SELECT t::text FROM auth.\"\(name)\" t") {
                    texts.append(try row.text(0))
                }
                rows[name] = texts
            }
            return rows
        }
    }
}
