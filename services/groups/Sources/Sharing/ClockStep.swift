internal import Database
internal import Transit

/// What is dated ahead of our clock, because the clock was once ahead of the time.
///
/// Who shares "since tomorrow" would be seen by nobody until then, without a word, and a fix of tomorrow
/// would be the newest one all day.
enum ClockStep {
    /// So far ahead may be what another process wrote in this second, milliseconds.
    static let tolerance: Int64 = 60_000

    /// Lets who shares since a time to come share since now, and deletes fixes of such times.
    ///
    /// - Parameters:
    ///   - now: The application clock, POSIX milliseconds.
    ///   - connection: Inside a transaction.
    /// - Throws: `DatabaseError`.
    static func settle(at now: Int64, on connection: Connection) throws(DatabaseError) {
        let limit = SQLValue.int64(now + tolerance)
        var ids: [UniqueID] = []
        for row in try connection.query(
            """
            SELECT group_id FROM groups.members WHERE sharing_since_ms > $1
            UNION SELECT group_id FROM groups.fixes WHERE received_at_ms > $1
            """,
            [limit]
        ) {
            ids.append(try row.uuid("group_id"))
        }
        guard !ids.isEmpty else { return }
        let groups = try Locks.groups(ids, on: connection)
        try connection.execute(
            "DELETE FROM groups.fixes WHERE received_at_ms > $1 AND group_id = ANY ($2)",
            [limit, .uuidArray(ids)]
        )
        try connection.execute(
            """
            UPDATE groups.members SET sharing_since_ms = $3
            WHERE sharing_since_ms > $1 AND group_id = ANY ($2)
            """,
            [limit, .uuidArray(ids), .int64(now)]
        )
        // Relays find the new versions by their sweep.
        for group in groups { _ = try group.changed(on: connection) }
    }
}
