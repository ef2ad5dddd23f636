internal import Database
internal import Messages
internal import Transit

/// What relays hold of groups: the gate's answers for all members at once, at one version.
enum GroupViews {
    /// The views of the groups `$2` and of those in which one of the accounts is a member, with one
    /// statement.
    static let whole = Survey(
        .views,
        """
        SELECT g.id, g.kind, g.version, seat.account_id, seat.sharing_since_ms, f.latitude,
            f.longitude, f.accuracy_meters, f.timestamp_ms, f.received_at_ms
        FROM seat JOIN groups.groups g ON g.id = seat.group_id
        LEFT JOIN groups.fixes f
            ON f.group_id = seat.group_id AND f.account_id = seat.account_id
        ORDER BY g.id, seat.account_id
        """,
        read: { rows throws(DatabaseError) in try views(rows) }
    )

    /// The versions of the groups in which one of the accounts is a member, or of all groups that
    /// have members.
    static let versions = Survey(
        .sweep,
        """
        SELECT g.id, g.version FROM groups.groups g
        WHERE EXISTS (SELECT FROM seat WHERE seat.group_id = g.id) ORDER BY g.id
        """,
        read: { rows throws(DatabaseError) in
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
    )

    private static func views(_ rows: Rows) throws(DatabaseError) -> [GroupView] {
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
                    sharingSinceMilliseconds: try row.optionalInt64("sharing_since_ms"),
                    lastFix: hasFix ? try MemberFix(row) : nil
                )
            )
        }
        return views
    }
}
