internal import Database
internal import ServiceKit
internal import Transit

/// Writes revocations, in the transaction of what causes them, and makes them known after it.
///
/// The rows are what counts: every service reads them within a second. ``announce()`` only makes
/// it faster, so a process that dies between commit and announcement loses nothing.
struct Revocations: Sendable {
    private let look: @Sendable () async -> Void

    /// Makes a writer.
    ///
    /// - Parameter look: Reads the new rows at once and publishes them on the bus; without, they are
    ///   found by the next regular look.
    init(announcing look: @escaping @Sendable () async -> Void = {}) { self.look = look }

    /// Revokes one token.
    ///
    /// - Parameters:
    ///   - id: The token's `jti`, not empty.
    ///   - until: When the token expires by itself, POSIX seconds.
    ///   - now: The application clock.
    ///   - connection: Inside the transaction of what causes it.
    /// - Throws: `DatabaseError` when the statement fails.
    func revoke(
        token id: String,
        until: UnixSeconds,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) {
        try write(kind: "token", value: id, until: until, at: now, on: connection)
    }

    /// Revokes every token of a subject that was signed up to now.
    ///
    /// After an earlier revocation the instant moves by a second at least, so that tokens that were
    /// dated just after it (``signingTime(for:at:on:)``) are among them.
    ///
    /// Whoever signs for the subject afterwards dates the token with
    /// ``signingTime(for:at:on:)``, so that it is not taken for one of before.
    ///
    /// - Parameters:
    ///   - subject: The id of the account or rider.
    ///   - until: When the last of these tokens expires by itself, POSIX seconds.
    ///   - now: The application clock.
    ///   - connection: Inside the transaction of what causes it.
    /// - Throws: `DatabaseError` when the statement fails.
    func revoke(
        subject: String,
        until: UnixSeconds,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) {
        let digest = SubjectDigest.text(of: subject)
        try write(kind: "subject", value: digest, until: until, at: now, on: connection)
    }

    /// The `iat` of a token that is signed now: after the last revocation of its subject.
    ///
    /// Tokens are dated in whole seconds. One that is signed in the second of a revocation would
    /// otherwise be revoked too.
    ///
    /// - Parameters:
    ///   - subject: The id of the account or rider.
    ///   - now: The application clock.
    ///   - connection: In the transaction that admits the subject, behind its row's lock.
    /// - Returns: POSIX seconds, `now` or just after the revocation.
    /// - Throws: `DatabaseError` when the statement fails.
    func signingTime(
        for subject: String,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> UnixSeconds {
        guard let standing = try standing(of: subject, on: connection) else { return now }
        return max(now, standing.revokedAt + 1)
    }

    /// Up to when everything of a subject is revoked already.
    struct Standing: Sendable {
        /// Tokens dated up to here are void, POSIX seconds.
        let revokedAt: UnixSeconds
        /// When the last of them expires by itself.
        let until: UnixSeconds
    }

    /// The revocation of a subject that stands; nil for who was never revoked.
    ///
    /// - Throws: `DatabaseError` when the statement fails.
    func standing(
        of subject: String,
        on connection: Connection
    ) throws(DatabaseError) -> Standing? {
        try connection.query(
            "SELECT revoked_at, until FROM auth.revocations WHERE kind = 'subject' AND value = $1",
            [.text(SubjectDigest.text(of: subject))]
        ).first.map { row throws(DatabaseError) in
            Standing(
                revokedAt: try row.timestamp("revoked_at"),
                until: try row.timestamp("until")
            )
        }
    }

    /// Makes known at once what was revoked; called after the commit, by whoever committed.
    ///
    /// Returns when this process refuses the tokens itself. Never fails: what it cannot do now the
    /// regular look does within a second.
    func announce() async { await look() }

    private func write(
        kind: String,
        value: String,
        until: UnixSeconds,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) {
        try connection.execute(
            """
            INSERT INTO auth.revocations AS r (kind, value, revoked_at, until)
            VALUES ($1, $2, $3, $4)
            ON CONFLICT (kind, value) DO UPDATE SET
                revoked_at = GREATEST(r.revoked_at + interval '1 second', excluded.revoked_at),
                until = GREATEST(r.until, excluded.until),
                transaction = pg_current_xact_id()
            """,
            [.text(kind), .text(value), .timestamp(now), .timestamp(until)]
        )
    }
}
