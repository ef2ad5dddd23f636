internal import Database
internal import Messages
internal import Transit

/// The one way out of a group, with everything that leaving means (spec 1.3, decisions 11 and 12).
///
/// The member's row goes, and with it places and the last fix (foreign keys). An owner's group goes
/// to the longest-standing accepted member; without one, the kind says whether the group goes too.
/// Place events stay in the feed.
enum Departure {
    /// Removes an accepted member.
    ///
    /// - Parameters:
    ///   - account: Who goes; must be an accepted member or the owner.
    ///   - group: The group, locked.
    ///   - reason: What relays are told.
    ///   - connection: Inside the transaction that locked the group.
    /// - Returns: What changed.
    /// - Throws: `DatabaseError`.
    static func remove(
        _ account: UniqueID,
        from group: LockedGroup,
        because reason: Withdrawal.Reason,
        on connection: Connection
    ) throws(DatabaseError) -> GroupChanged {
        try deleteRow(of: account, in: group, on: connection)
        let heir = try connection.query(
            """
            SELECT account_id FROM groups.members m WHERE group_id = $1 AND \(Gate.isMember)
            ORDER BY turn LIMIT 1
            """,
            [.uuid(group.id)]
        ).first?.uuid("account_id")
        var change: GroupChanged
        if heir == nil, group.kind.dropsWhenEmpty {
            change = try drop(group, on: connection)
        } else {
            let owner = group.ownerID == account ? heir : group.ownerID
            let version = try connection.query(
                """
                UPDATE groups.groups SET owner_id = $2, version = version + 1
                WHERE id = $1 RETURNING version
                """,
                [.uuid(group.id), SQLValue(owner)]
            ).one().int64("version")
            change = GroupChanged(group.id, version: version)
        }
        change.withdraw(account, reason)
        return change
    }

    /// Deletes an open invitation, which no relay knows of: the version stays.
    ///
    /// - Parameters:
    ///   - account: Who was invited.
    ///   - group: The group, locked.
    ///   - connection: Inside the transaction that locked the group.
    /// - Throws: `DatabaseError`.
    static func withdrawInvitation(
        of account: UniqueID,
        from group: LockedGroup,
        on connection: Connection
    ) throws(DatabaseError) {
        try deleteRow(of: account, in: group, on: connection)
    }

    /// Deletes a group with all that is in it.
    ///
    /// - Returns: What changed; the version is one that no view has.
    /// - Throws: `DatabaseError`.
    static func drop(
        _ group: LockedGroup,
        on connection: Connection
    ) throws(DatabaseError) -> GroupChanged {
        let version = try connection.query(
            "DELETE FROM groups.groups WHERE id = $1 RETURNING version",
            [.uuid(group.id)]
        ).one().int64("version")
        return GroupChanged(group.id, version: version + 1, isGone: true)
    }

    /// Deletes the groups without a row of anybody, with their names and events: who is not in a
    /// group is invited by its members alone, so nobody could ever enter one again, see or erase it.
    ///
    /// Leaving does not do it, as an emptied circle survives (seed, section 7; case 14); what nobody
    /// can come back to is not kept for that. No relay holds a view of such a group.
    ///
    /// - Throws: `DatabaseError`.
    static func dropDeserted(on connection: Connection) throws(DatabaseError) {
        try connection.execute(
            """
            DELETE FROM groups.groups WHERE id IN (
                SELECT id FROM groups.groups g WHERE owner_id IS NULL AND NOT EXISTS
                    (SELECT FROM groups.members m WHERE m.group_id = g.id)
                ORDER BY id FOR UPDATE SKIP LOCKED)
            """
        )
    }

    private static func deleteRow(
        of account: UniqueID,
        in group: LockedGroup,
        on connection: Connection
    ) throws(DatabaseError) {
        try connection.execute(
            "DELETE FROM groups.members WHERE group_id = $1 AND account_id = $2",
            [.uuid(group.id), .uuid(account)]
        )
    }
}

extension LockedGroup {
    /// Raises the version, in the transaction of what it stands for.
    ///
    /// - Returns: The change as relays hear of it.
    /// - Throws: `DatabaseError`.
    func changed(on connection: Connection) throws(DatabaseError) -> GroupChanged {
        let version = try connection.query(
            "UPDATE groups.groups SET version = version + 1 WHERE id = $1 RETURNING version",
            [.uuid(id)]
        ).one().int64("version")
        return GroupChanged(id, version: version)
    }
}
