internal import Database
internal import Messages
internal import Transit

/// What relays hold of groups: the gate's answers for all members at once, at one version.
enum GroupViews {
    /// The views of the groups named and of those in which one of the accounts is a member, with
    /// one statement.
    static func read(
        _ groups: [UniqueID],
        membersOf accounts: [UniqueID],
        on connection: Connection
    ) throws(DatabaseError) -> [GroupView] {
        let rows = try connection.query(
            """
            SELECT g.id, g.kind, g.version, m.account_id, m.is_sharing, f.latitude, f.longitude,
                f.accuracy_meters, f.timestamp_ms, f.received_at_ms
            FROM groups.groups g
            JOIN groups.members m ON m.group_id = g.id AND \(Gate.isMember)
            LEFT JOIN groups.fixes f ON f.group_id = m.group_id AND f.account_id = m.account_id
            WHERE g.id IN (SELECT unnest($1::uuid[])
                UNION SELECT m.group_id FROM groups.members m
                WHERE m.account_id = ANY ($2::uuid[]) AND \(Gate.isMember))
            ORDER BY g.id, m.account_id
            """,
            [.uuidArray(groups), .uuidArray(accounts)]
        )
        var views: [GroupView] = []
        for row in rows {
            let id = try row.uuid("id")
            if views.last?.groupID != id {
                let kind = try GroupKind(row)
                views.append(
                    GroupView(
                        groupID: id,
                        version: UInt64(clamping: try row.int64("version")),
                        allowsVotes: kind.allowsVotes,
                        sharesWhileConnected: kind.sharesWhileConnected,
                        members: []
                    )
                )
            }
            let hasFix = try !row.isNull("latitude")
            views[views.count - 1].members.append(
                GroupView.Member(
                    accountID: try row.uuid("account_id"),
                    isSharing: try row.bool("is_sharing"),
                    lastFix: hasFix ? try MemberFix(row) : nil
                )
            )
        }
        return views
    }

    /// The versions of the groups in which one of the accounts is a member, or of all groups that
    /// have members.
    static func versions(
        membersOf accounts: [UniqueID],
        on connection: Connection
    ) throws(DatabaseError) -> [GroupVersion] {
        let rows = try connection.query(
            """
            SELECT g.id, g.version FROM groups.groups g
            WHERE EXISTS (SELECT FROM groups.members m WHERE m.group_id = g.id
                AND \(Gate.isMember)
                AND (m.account_id = ANY ($1::uuid[]) OR cardinality($1::uuid[]) = 0))
            ORDER BY g.id
            """,
            [.uuidArray(accounts)]
        )
        var versions: [GroupVersion] = []
        versions.reserveCapacity(rows.count)
        for row in rows {
            versions.append(
                GroupVersion(
                    groupID: try row.uuid("id"),
                    version: UInt64(clamping: try row.int64("version"))
                )
            )
        }
        return versions
    }
}
