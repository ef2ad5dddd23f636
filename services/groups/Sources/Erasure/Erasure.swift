internal import Database
internal import Messages
internal import Transit

/// Forgets an account: after it no row names it (decision 11, architecture section 8).
enum Erasure {
    /// How long an erased account is kept in mind, in seconds from when the erasure was asked for: as
    /// long as an access token of a member can be set to live.
    static let markSeconds: Int64 = 24 * 3600
    /// How an erased account is kept in mind, of the id `$1`; not the id itself.
    static let digest = "substring(sha256(uuid_send($1)) FOR 16)"

    /// Removes the account from every group, ends its friendships and deletes its rows.
    ///
    /// Its groups go to the longest-standing accepted member. A group that is left without any row
    /// of anybody is deleted: nobody could ever enter it again. Safe to repeat.
    ///
    /// - Parameters:
    ///   - account: Whom to forget.
    ///   - until: When its last token has expired by itself; until then it is not written again.
    ///   - connection: Inside a transaction.
    /// - Returns: What changed in groups.
    /// - Throws: `DatabaseError`.
    static func erase(
        _ account: UniqueID,
        until: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> [GroupChanged] {
        try shut(account, until: until, on: connection)
        try Locks.accounts([account], on: connection)
        let groups = try Locks.groups(try groups(of: account, on: connection), on: connection)
        var changes: [GroupChanged] = []
        for group in groups {
            if let change = try leave(group, account, on: connection) { changes.append(change) }
        }
        for sql in [
            "DELETE FROM groups.events WHERE account_id = $1",
            "DELETE FROM groups.event_answers WHERE account_id = $1",
            "DELETE FROM groups.friendships WHERE low_id = $1 OR high_id = $1",
            "DELETE FROM groups.accounts WHERE id = $1",
        ] {
            try connection.execute(sql, [.uuid(account)])
        }
        return changes
    }

    /// Forgets the marks whose tokens have all expired.
    static func forgetMarks(
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) {
        try connection.execute(
            "DELETE FROM groups.erased_accounts WHERE until <= $1",
            [.timestamp(now)]
        )
    }

    /// Marks the account as erased and takes its row, which waits for whoever is writing it: after
    /// this statement either they have committed or they find the mark.
    private static func shut(
        _ account: UniqueID,
        until: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) {
        try connection.execute(
            """
            INSERT INTO groups.erased_accounts AS e (digest, until) VALUES (\(digest), $2)
            ON CONFLICT (digest) DO UPDATE SET until = GREATEST(e.until, excluded.until)
            """,
            [.uuid(account), .timestamp(until)]
        )
        try connection.execute(
            """
            INSERT INTO groups.accounts (id, handle, seen_at) VALUES ($1, '---', $2)
            ON CONFLICT (id) DO NOTHING
            """,
            [.uuid(account), .timestamp(until)]
        )
    }

    /// The groups that have a row of the account or an invitation by it, those it owns, as an owner
    /// has a seat but what is to be forgotten must not hang on it, and those that it left with events
    /// behind, which are deleted behind the group's lock like all others.
    private static func groups(
        of account: UniqueID,
        on connection: Connection
    ) throws(DatabaseError) -> [UniqueID] {
        let rows = try connection.query(
            """
            SELECT group_id FROM groups.members WHERE account_id = $1
            UNION SELECT group_id FROM groups.members WHERE invited_by = $1
            UNION SELECT id FROM groups.groups WHERE owner_id = $1
            UNION SELECT group_id FROM groups.events WHERE account_id = $1
            UNION SELECT group_id FROM groups.event_answers WHERE account_id = $1
            """,
            [.uuid(account)]
        )
        var groups: [UniqueID] = []
        for row in rows { groups.append(try row.uuid("group_id")) }
        return groups
    }

    private static func leave(
        _ group: LockedGroup,
        _ account: UniqueID,
        on connection: Connection
    ) throws(DatabaseError) -> GroupChanged? {
        try connection.execute(
            "DELETE FROM groups.members WHERE group_id = $1 AND invited_by = $2",
            [.uuid(group.id), .uuid(account)]
        )
        let status = try connection.query(
            "SELECT status FROM groups.members WHERE group_id = $1 AND account_id = $2",
            [.uuid(group.id), .uuid(account)]
        ).first?.text("status")
        var change: GroupChanged?
        if status == "Accepted" || group.ownerID == account {
            change = try Departure.remove(account, from: group, because: .erased, on: connection)
        } else if status != nil {
            try Departure.withdrawInvitation(of: account, from: group, on: connection)
        }
        if let change, change.isGone { return change }
        guard try isDeserted(group, on: connection) else { return change }
        var gone = try Departure.drop(group, on: connection)
        gone.withdrawals = change?.withdrawals ?? []
        return gone
    }

    private static func isDeserted(
        _ group: LockedGroup,
        on connection: Connection
    ) throws(DatabaseError) -> Bool {
        try connection.query(
            "SELECT NOT EXISTS (SELECT FROM groups.members WHERE group_id = $1)",
            [.uuid(group.id)]
        ).one().bool(0)
    }
}
