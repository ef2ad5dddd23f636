internal import Database
internal import Messages

/// Whether a member's position may go to the others, which is kept here and not on the phone.
enum Sharing {
    /// Turns sharing on, for what is received from now on.
    ///
    /// - Parameters:
    ///   - pass: Of the member.
    ///   - now: Milliseconds since 1970.
    ///   - group: The group, locked.
    /// - Returns: What changed; nil when it was on.
    /// - Throws: `DatabaseError`.
    static func resume(
        _ pass: Pass,
        at now: Int64,
        in group: LockedGroup
    ) throws(DatabaseError) -> GroupChanged? {
        guard !pass.isSharing else { return nil }
        try write(since: now, pass)
        return try group.changed(on: pass.connection)
    }

    /// Turns sharing off and deletes the stored fix in the same transaction.
    ///
    /// A repeat changes nothing and still has the relays let go, in case the first one was lost.
    ///
    /// - Returns: What is to be told.
    /// - Throws: `DatabaseError`.
    static func pause(_ pass: Pass, in group: LockedGroup) throws(DatabaseError) -> GroupChanged {
        var change = GroupChanged(pass.groupID, version: pass.version)
        if pass.isSharing {
            try write(since: nil, pass)
            try FixStore.delete(pass)
            change = try group.changed(on: pass.connection)
        }
        change.withdraw(pass.accountID, .paused)
        return change
    }

    private static func write(since: Int64?, _ pass: Pass) throws(DatabaseError) {
        try pass.connection.execute(
            """
            UPDATE groups.members SET is_sharing = $3::bigint IS NOT NULL, sharing_since_ms = $3
            WHERE group_id = $1 AND account_id = $2
            """,
            [.uuid(pass.groupID), .uuid(pass.accountID), SQLValue(since)]
        )
    }
}
