import Database
import ServiceKit
import TestKit

@testable import GroupsService

/// What a statement did in a number of calls, as PostgreSQL counted it.
struct StatementCount: Equatable, Comparable, CustomStringConvertible {
    let statement: String
    let calls: Int
    /// Rows that it gave or changed.
    let rows: Int
    /// Pages of tables and indexes that it looked at.
    var pages: Int

    var description: String { "\(calls) calls, \(rows) rows, \(pages) pages: \(statement)" }

    static func < (one: StatementCount, other: StatementCount) -> Bool {
        one.statement < other.statement
    }

    /// How often it ran and what it gave, whatever it looked at for that.
    var outcome: String { "\(calls) calls, \(rows) rows: \(statement)" }
}

extension GroupsWorld {
    /// Counts what the processes' statements do while `calls` runs.
    ///
    /// Of five tries it is the least that counts: now and then a session looks into the catalogue as
    /// well, because something else changed it.
    ///
    /// - Parameter calls: Always the same calls, one behind the other.
    /// - Returns: Every statement in the order of the texts.
    /// - Throws: `DatabaseError`; what `calls` throws.
    func statements(_ calls: () async throws -> Void) async throws -> [StatementCount] {
        try await query { connection throws(DatabaseError) in
            try connection.script("CREATE EXTENSION IF NOT EXISTS pg_stat_statements")
        }
        // The first five times a session plans a statement for its values.
        for _ in 0..<6 { try await calls() }
        var least: [StatementCount] = []
        for _ in 0..<5 {
            try await query { connection throws(DatabaseError) in
                try connection.query("SELECT pg_stat_statements_reset(0, \(Self.thisDatabase), 0)")
            }
            try await calls()
            let counted = try await query { connection throws(DatabaseError) in
                try Self.counts(on: connection)
            }
            guard counted.map(\.outcome) == least.map(\.outcome) else {
                least = counted
                continue
            }
            for index in counted.indices {
                least[index].pages = min(least[index].pages, counted[index].pages)
            }
        }
        return least
    }

    private static let thisDatabase =
        "(SELECT oid FROM pg_database WHERE datname = current_database())"

    private static func counts(
        on connection: Connection
    ) throws(DatabaseError) -> [StatementCount] {
        let rows = try connection.query(
            """
            SELECT query, calls, rows, shared_blks_hit + shared_blks_read AS pages
            FROM pg_stat_statements
            WHERE dbid = \(thisDatabase) AND userid = '\(Groups.schema.role)'::regrole
            """
        )
        var counts: [StatementCount] = []
        for row in rows {
            counts.append(
                StatementCount(
                    statement: try row.text("query"),
                    calls: try row.int("calls"),
                    rows: try row.int("rows"),
                    pages: try row.int("pages")
                )
            )
        }
        return counts.sorted()
    }
}
