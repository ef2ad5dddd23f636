internal import Database
internal import ServiceKit
internal import Transit

/// How often a caller may try something in a minute, counted in the database for all replicas.
///
/// No address and no identity is stored: a caller's row carries a keyed hash that differs from kind
/// to kind, or a rider who registers and a person who signs up could be told to be one.
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
    /// Makes the marks.
    let keys: KeyRing

    /// Whether the caller may go on, and if not for how many seconds.
    enum Answer: Equatable {
        case allowed
        case refused(retryAfterSeconds: Int)
    }

    /// The start of the window that an instant lies in.
    static func window(at now: UnixSeconds) -> UnixSeconds { now - now % windowSeconds }

    /// Counts one attempt.
    ///
    /// - Parameters:
    ///   - caller: An address, already reduced to the network that counts as one, or an identity.
    ///   - now: The application clock.
    ///   - connection: Inside a transaction or not.
    /// - Returns: The decision; a refused attempt counts too.
    /// - Throws: `DatabaseError` when the statement fails; nothing was counted then.
    func attempt(
        by caller: String,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> Answer {
        let start = Self.window(at: now)
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
            [.text(kind), .text(mark(of: caller)), .timestamp(start), .int(Self.callerLimit)]
        )
        guard let row = rows.first else { return refused }
        return try row.int("count") <= limit ? .allowed : refused
    }

    /// Forgets the attempts of a caller in this window.
    func clear(
        _ caller: String,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) {
        try connection.execute(
            "DELETE FROM auth.attempts WHERE kind = $1 AND caller = $2 AND window_start = $3",
            [
                .text(kind), .text(mark(of: caller)), .timestamp(Self.window(at: now)),
            ]
        )
    }

    /// Forgets the windows that are over, of every kind.
    ///
    /// Rows that another process is deleting are left to it, as two that wait for each other would
    /// deadlock.
    static func sweep(at now: UnixSeconds, on connection: Connection) throws(DatabaseError) {
        try connection.execute(
            """
            DELETE FROM auth.attempts WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM auth.attempts WHERE window_start <= $1 FOR UPDATE SKIP LOCKED))
            """,
            [.timestamp(now - windowSeconds)]
        )
    }

    private func mark(of caller: String) -> String {
        guard let mark = keys.mark(ofCaller: caller, for: kind) else {
            preconditionFailure("auth signs tokens, so it holds the secret")
        }
        return mark
    }
}
