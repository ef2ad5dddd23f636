internal import Database
internal import Messages
internal import Transit

/// What the end of a friendship takes from groups (decision 2).
///
/// Invitations between the two are withdrawn, and no group keeps both as members: in a group that
/// one of them owns, the other is removed; in any other, the one who ends the friendship leaves.
enum Severance {
    /// Parts two accounts, whose locks are held.
    ///
    /// - Parameters:
    ///   - account: Who ends the friendship.
    ///   - other: Whose friendship ends.
    ///   - connection: Inside a transaction.
    /// - Returns: What changed.
    /// - Throws: `DatabaseError`.
    static func part(
        _ account: UniqueID,
        from other: UniqueID,
        on connection: Connection
    ) throws(DatabaseError) -> [GroupChanged] {
        let groups = try Locks.groups(
            try sharedGroups(account, other, on: connection),
            on: connection
        )
        var changes: [GroupChanged] = []
        for group in groups {
            if let change = try part(account, from: other, in: group, on: connection) {
                changes.append(change)
            }
        }
        return changes
    }

    /// The groups that have a row of both.
    private static func sharedGroups(
        _ account: UniqueID,
        _ other: UniqueID,
        on connection: Connection
    ) throws(DatabaseError) -> [UniqueID] {
        let rows = try connection.query(
            """
            SELECT group_id FROM groups.members WHERE account_id = $1
            INTERSECT SELECT group_id FROM groups.members WHERE account_id = $2
            UNION SELECT group_id FROM groups.members
                WHERE account_id = $2 AND invited_by = $1 OR account_id = $1 AND invited_by = $2
            """,
            [.uuid(account), .uuid(other)]
        )
        var groups: [UniqueID] = []
        for row in rows { groups.append(try row.uuid("group_id")) }
        return groups
    }

    private static func part(
        _ account: UniqueID,
        from other: UniqueID,
        in group: LockedGroup,
        on connection: Connection
    ) throws(DatabaseError) -> GroupChanged? {
        let rows = try connection.query(
            """
            SELECT account_id, status, invited_by FROM groups.members
            WHERE group_id = $1 AND account_id IN ($2, $3)
            """,
            [.uuid(group.id), .uuid(account), .uuid(other)]
        )
        var accepted: Set<UniqueID> = []
        for row in rows {
            let id = try row.uuid("account_id")
            if try row.text("status") == "Accepted" {
                accepted.insert(id)
            } else if let inviter = try row.optionalUUID("invited_by"),
                [account, other].contains(inviter)
            {
                // The inviter was a member, so nothing else is to be done here.
                try Departure.withdrawInvitation(of: id, from: group, on: connection)
                return nil
            }
        }
        guard accepted.count == 2 else { return nil }
        let removed = group.ownerID == account ? other : account
        return try Departure.remove(
            removed,
            from: group,
            because: removed == account ? .left : .removed,
            on: connection
        )
    }
}
