internal import Database
internal import Messages
internal import Transit

/// Reads `auth.revocations` past a cursor without missing a row.
///
/// Rows carry the id of the transaction that wrote them, and transactions commit in any order. So a
/// look reads every row that is not older than the oldest transaction that was under way at the
/// look before; some rows come twice, none is skipped.
struct RevocationReader: Sendable {
    /// Before the first look: every row is newer.
    static let start: UInt64 = 0

    /// What a look found.
    struct Page: Sendable {
        /// Where the next look begins.
        let cursor: UInt64
        let entries: [Revocations.Entry]
    }

    /// Reads the rows that are not older than `cursor` and have not expired.
    ///
    /// - Throws: `DatabaseError` when the statement fails, as it does before auth has migrated.
    static func read(
        from cursor: UInt64,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> Page {
        // One statement, so that the cursor is of the snapshot that the rows are seen in.
        let rows = try connection.query(
            """
            SELECT s.cursor, r.kind, r.value, r.revoked_at, r.until
            FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text AS cursor) s
            LEFT JOIN auth.revocations r ON r.transaction >= $1::xid8 AND r.until >= $2
            """,
            [.text(String(cursor)), .timestamp(now)]
        )
        let text = try rows.first?.text("cursor") ?? ""
        guard let next = UInt64(text) else {
            throw DatabaseError(.statement, "the database's snapshot has no number")
        }
        // A snapshot older than the last one is another database, such as a restored one: it is
        // read from its beginning.
        if next < cursor { return try read(from: start, at: now, on: connection) }
        var entries: [Revocations.Entry] = []
        entries.reserveCapacity(rows.count)
        for row in rows {
            guard let kind = try row.optionalText("kind") else { continue }
            let value = try row.text("value")
            entries.append(
                Revocations.Entry(
                    target: kind == "token" ? .token(value) : .subject(value),
                    revokedAt: try row.timestamp("revoked_at"),
                    expiresAt: try row.timestamp("until")
                )
            )
        }
        return Page(cursor: next, entries: entries)
    }
}
