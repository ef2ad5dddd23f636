internal import Database
internal import ServiceKit
internal import Transit
internal import Web

/// Opens, carries on and ends sessions, always inside a transaction that has locked the account.
///
/// Two ways of revoking are used, each where it is exact:
/// - One session ends by the ids of its tokens, so that other tokens of the same second live on.
/// - All of an account end by one row for its subject, which covers tokens dated up to a second.
///   Later tokens are dated after it: an old token of the same second is dead, a new one is not.
struct Sessions: Sendable {
    /// Sessions of one account at a time; a further log-in ends the oldest.
    static let limit = 100
    /// Ended sessions of anybody that one log-in tidies up.
    private static let sweepLimit = 100

    let lifetimes: SessionLifetimes
    let revocations: Revocations

    /// Where a session is used.
    enum Kind: String, Sendable {
        /// An app or program: short access tokens, each pair replaced by the next.
        case app
        /// The pages of staff: one token in a cookie.
        case browser
    }

    // MARK: - Opening and carrying on

    /// Opens a session and makes its first tokens.
    func open(
        _ kind: Kind,
        for account: Account,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> IssuedTokens {
        try sweep(at: now, on: connection)
        try makeRoom(account.id, at: now, on: connection)
        let session = UniqueID.random()
        try connection.execute(
            """
            INSERT INTO auth.sessions (id, account_id, kind, started_at, used_at, expires_at)
            VALUES ($1, $2, $3, $4, $4, $4)
            """,
            [.uuid(session), .uuid(account.id), .text(kind.rawValue), .timestamp(now)]
        )
        return try issue(kind, for: account, session, at: now, on: connection)
    }

    /// What became of a refresh token that was presented.
    enum Refreshed: Sendable {
        case tokens(IssuedTokens)
        /// Unknown, expired, or of an account that may not log in.
        case refused
        /// Spent before: every session of the account has been ended.
        case reused(account: UniqueID)
    }

    /// Spends a refresh token and makes the next pair.
    ///
    /// Of two uses at once exactly one gets a pair; the other one is told apart from a thief's by
    /// nothing, so it ends all sessions of the account, the fresh pair included (spec 1.2).
    func refresh(
        _ token: String,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> Refreshed {
        let hash = RefreshToken.hash(token)
        let owner = try connection.query(
            """
            SELECT s.account_id FROM auth.session_tokens t JOIN auth.sessions s ON s.id = t.session_id
            WHERE t.refresh_hash = $1
            """,
            [.bytes(hash)]
        ).first
        guard let owner, let account = try AccountRows.lock(owner.uuid(0), on: connection),
            account.isActive
        else { return .refused }
        // Read again under the lock: the other of two uses may just have spent or ended it.
        let row = try connection.query(
            """
            SELECT session_id, refresh_expires_at, spent_at FROM auth.session_tokens
            WHERE refresh_hash = $1
            """,
            [.bytes(hash)]
        ).first
        guard let row, try now < row.timestamp("refresh_expires_at") else { return .refused }
        guard try row.optionalTimestamp("spent_at") == nil else {
            try endAll(of: account.id, at: now, on: connection)
            return .reused(account: account.id)
        }
        try connection.execute(
            "UPDATE auth.session_tokens SET spent_at = $2 WHERE refresh_hash = $1",
            [.bytes(hash), .timestamp(now)]
        )
        let session = try row.uuid("session_id")
        try forgetExpired(session, at: now, on: connection)
        return .tokens(try issue(.app, for: account, session, at: now, on: connection))
    }

    private func issue(
        _ kind: Kind,
        for account: Account,
        _ session: UniqueID,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> IssuedTokens {
        let subject = account.id.description
        let issuedAt = try revocations.signingTime(for: subject, at: now, on: connection)
        let lifetime = kind == .app ? lifetimes.access : SessionLifetimes.browser
        var claims = TokenClaims(
            subject: subject,
            role: account.role,
            issuedAt: issuedAt,
            lifetime: lifetime,
            handle: account.handle,
            // Members are known to each other by handles alone.
            email: account.isStaff ? account.email : nil
        )
        // However far ahead it had to be dated, it counts no longer than another that is signed now.
        claims.expiresAt = now + lifetime.components.seconds
        let refreshToken = kind == .app ? RefreshToken.random() : nil
        let refreshEnd = kind == .app ? now + lifetimes.refresh.components.seconds : nil
        try connection.execute(
            """
            INSERT INTO auth.session_tokens (access_id, session_id, issued_at, access_expires_at,
                refresh_hash, refresh_expires_at)
            VALUES ($1, $2, $3, $4, $5, $6)
            """,
            [
                .text(claims.tokenID ?? ""), .uuid(session), .timestamp(issuedAt),
                .timestamp(claims.expiresAt),
                refreshToken.map { .bytes(RefreshToken.hash($0)) } ?? .null,
                refreshEnd.map { .timestamp($0) } ?? .null,
            ]
        )
        try connection.execute(
            "UPDATE auth.sessions SET used_at = $2, expires_at = $3 WHERE id = $1",
            [
                .uuid(session), .timestamp(now),
                .timestamp(max(claims.expiresAt, refreshEnd ?? claims.expiresAt)),
            ]
        )
        return IssuedTokens(
            claims: claims,
            lifetime: lifetime,
            refreshToken: refreshToken,
            accountID: account.id
        )
    }

    // MARK: - Ending

    /// The session that an access token was signed for; nil for one without `jti` or of an ended
    /// session.
    func session(
        ofToken tokenID: String?,
        of account: UniqueID,
        on connection: Connection
    ) throws(DatabaseError) -> UniqueID? {
        guard let tokenID else { return nil }
        return try connection.query(
            """
            SELECT s.id FROM auth.session_tokens t JOIN auth.sessions s ON s.id = t.session_id
            WHERE t.access_id = $1 AND s.account_id = $2
            """,
            [.text(tokenID), .uuid(account)]
        ).first.map { row throws(DatabaseError) in try row.uuid(0) }
    }

    /// Ends one session: its refresh token works no more, its access tokens are revoked by id.
    func end(
        _ session: UniqueID,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) {
        let tokens = try connection.query(
            """
            SELECT access_id, access_expires_at FROM auth.session_tokens
            WHERE session_id = $1 AND access_expires_at > $2
            """,
            [.uuid(session), .timestamp(now)]
        )
        for token in tokens {
            try revocations.revoke(
                token: token.text("access_id"),
                until: token.timestamp("access_expires_at"),
                at: now,
                on: connection
            )
        }
        try connection.execute("DELETE FROM auth.sessions WHERE id = $1", [.uuid(session)])
    }

    /// Deletes every refresh token of an account: its sessions end with the access tokens they have.
    func dropRefreshTokens(
        of account: UniqueID,
        on connection: Connection
    ) throws(DatabaseError) {
        try connection.execute(
            """
            UPDATE auth.session_tokens t SET refresh_hash = NULL, refresh_expires_at = NULL
            FROM auth.sessions s
            WHERE s.id = t.session_id AND s.account_id = $1 AND t.refresh_hash IS NOT NULL
            """,
            [.uuid(account)]
        )
        try connection.execute(
            """
            UPDATE auth.sessions s SET expires_at = COALESCE(
                (SELECT max(access_expires_at) FROM auth.session_tokens WHERE session_id = s.id),
                expires_at)
            WHERE account_id = $1
            """,
            [.uuid(account)]
        )
    }

    /// Ends every session of an account but one.
    func endOthers(
        than session: UniqueID,
        of account: UniqueID,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) {
        let others = try connection.query(
            "SELECT id FROM auth.sessions WHERE account_id = $1 AND id <> $2",
            [.uuid(account), .uuid(session)]
        )
        for other in others { try end(other.uuid(0), at: now, on: connection) }
    }

    /// Ends every session of an account, and voids whatever was signed for it up to now.
    ///
    /// - Returns: When the last of these tokens has expired by itself.
    @discardableResult
    func endAll(
        of account: UniqueID,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> UnixSeconds {
        // A token may be dated ahead of our clock: by a process whose clock is, or by `issue`. And it
        // may end later than ours do, from before a setting was changed.
        let latest = try connection.query(
            """
            SELECT max(t.issued_at) AS issued, max(t.access_expires_at) AS ending
            FROM auth.session_tokens t JOIN auth.sessions s ON s.id = t.session_id
            WHERE s.account_id = $1
            """,
            [.uuid(account)]
        ).one()
        let issued = try latest.optionalTimestamp("issued")
        if issued == nil,
            let standing = try revocations.standing(of: account.description, on: connection),
            standing.revokedAt >= now
        {
            // All is void, and nothing was signed since. Moving on once more for each of many calls
            // at once would date the next tokens far ahead.
            return standing.until
        }
        let through = max(now, issued ?? now)
        let until = max(
            through + lifetimes.longest.components.seconds,
            try latest.optionalTimestamp("ending") ?? now
        )
        try connection.execute("DELETE FROM auth.sessions WHERE account_id = $1", [.uuid(account)])
        try revocations.revoke(
            subject: account.description,
            until: until,
            at: through,
            on: connection
        )
        return until
    }

    // MARK: - Bounds

    private func makeRoom(
        _ account: UniqueID,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) {
        let oldest = try connection.query(
            """
            SELECT id FROM auth.sessions WHERE account_id = $1
            ORDER BY started_at DESC, id DESC OFFSET $2
            """,
            [.uuid(account), .int(Self.limit - 1)]
        )
        for session in oldest { try end(session.uuid(0), at: now, on: connection) }
    }

    /// Deletes some sessions that are over; those that another process holds are left to it.
    private func sweep(at now: UnixSeconds, on connection: Connection) throws(DatabaseError) {
        try connection.execute(
            """
            DELETE FROM auth.sessions WHERE id = ANY (ARRAY(
                SELECT id FROM auth.sessions WHERE expires_at <= $1 LIMIT $2
                FOR UPDATE SKIP LOCKED))
            """,
            [.timestamp(now), .int(Self.sweepLimit)]
        )
    }

    private func forgetExpired(
        _ session: UniqueID,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) {
        try connection.execute(
            """
            DELETE FROM auth.session_tokens
            WHERE session_id = $1 AND refresh_expires_at <= $2 AND access_expires_at <= $2
            """,
            [.uuid(session), .timestamp(now)]
        )
    }
}
