internal import Database
internal import Transit

/// How often a caller may try something in a minute, counted in the database for all replicas.
struct AttemptLimiter: Sendable {
    /// The length of a window in seconds (spec 1.2, 2.1).
    static let windowSeconds: Int64 = 60
    /// Callers in one window; beyond it every new caller is refused, so that a flood of addresses
    /// cannot buy attempts (fails closed).
    static let callerLimit = 10_000

    /// What is counted, such as `register`.
    let kind: String
    /// Attempts in one window.
    let limit: Int

    /// Whether the caller may go on, and if not for how many seconds.
    enum Answer: Equatable {
        case allowed
        case refused(retryAfterSeconds: Int)
    }

    /// Counts one attempt.
    ///
    /// - Parameters:
    ///   - caller: An address, already reduced to the network that counts as one.
    ///   - now: The application clock.
    ///   - connection: Inside a transaction or not.
    /// - Returns: The decision; a refused attempt counts too.
    /// - Throws: `DatabaseError` when the statement fails; nothing was counted then.
    func attempt(
        by caller: String,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> Answer {
        let start = now - now % Self.windowSeconds
        let refused = Answer.refused(
            retryAfterSeconds: Int(start + Self.windowSeconds - now)
        )
        let rows = try connection.query(
            """
            INSERT INTO auth.attempts AS a (kind, caller, window_start, count)
            SELECT $1, $2, $3, 1 WHERE (
                EXISTS (SELECT FROM auth.attempts
                    WHERE kind = $1 AND caller = $2 AND window_start = $3)
                OR (SELECT count(*) FROM (SELECT FROM auth.attempts
                    WHERE kind = $1 AND window_start = $3 LIMIT $4) known) < $4)
            ON CONFLICT (kind, caller, window_start) DO UPDATE SET count = a.count + 1
            RETURNING count
            """,
            [.text(kind), .text(caller), .timestamp(start), .int(Self.callerLimit)]
        )
        guard let row = rows.first else { return refused }
        let count = try row.int("count")
        if count == 1 {
            // The first attempt of a caller tidies up what nobody reads any more; rows that another
            // process is deleting are left to it, as two that wait for each other would deadlock.
            try connection.execute(
                """
                DELETE FROM auth.attempts WHERE ctid = ANY (ARRAY(
                    SELECT ctid FROM auth.attempts WHERE kind = $1 AND window_start < $2
                    FOR UPDATE SKIP LOCKED))
                """,
                [.text(kind), .timestamp(start - Self.windowSeconds)]
            )
        }
        return count <= limit ? .allowed : refused
    }
}
