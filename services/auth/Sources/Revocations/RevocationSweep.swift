internal import Database
internal import Transit

/// Removes revocations that concern no valid token any more.
enum RevocationSweep {
    /// Seconds beyond the end, as the processes' clocks may differ.
    static let margin: Int64 = 60
    /// Rows in one statement, so that a sweep never holds many locks.
    static let batch = 10_000

    /// Deletes what has ended; rows that another auth is deleting are left to it.
    ///
    /// - Parameters:
    ///   - now: The application clock.
    ///   - connection: Outside a transaction.
    /// - Returns: How many rows went.
    /// - Throws: `DatabaseError` when a statement fails.
    @discardableResult
    static func run(at now: UnixSeconds, on connection: Connection) throws(DatabaseError) -> Int {
        var total = 0
        while true {
            let count = try connection.execute(
                """
                DELETE FROM auth.revocations WHERE ctid = ANY (ARRAY(
                    SELECT ctid FROM auth.revocations WHERE until < $1 LIMIT $2
                    FOR UPDATE SKIP LOCKED))
                """,
                [.timestamp(now - margin), .int(batch)]
            )
            total += count
            if count < batch { return total }
        }
    }
}
