internal import Database
internal import Messages
internal import Transit
internal import Web

/// Where the members of a circle were last, as another member sees it (spec 1.4).
struct FixLook: Sendable {
    /// A member's fix, without the handle.
    struct Entry: Sendable {
        let accountID: UniqueID
        let fix: MemberFix
    }

    let entries: [Entry]

    /// Accepted members who share, the one who looks included.
    static let look = Look(
        """
        look.account_id, look.latitude, look.longitude, look.accuracy_meters, look.timestamp_ms,
        look.received_at_ms
        """,
        from: """
            SELECT f.* FROM groups.fixes f
            JOIN groups.members m ON m.group_id = f.group_id AND m.account_id = f.account_id
            WHERE f.group_id = $1 AND \(Gate.isMember) AND m.is_sharing
            """,
        orderedBy: "look.account_id",
        mark: "account_id",
        where: \.storesFixes,
        read: { rows in
            FixLook(
                entries: try rows.map { row in
                    Entry(accountID: try row.uuid("account_id"), fix: try MemberFix(row))
                }
            )
        }
    )

    /// Writes `{fixes: [{riderId, latitude, longitude, accuracyMeters, timestampMs}]}`.
    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.key("fixes")
        json.beginArray()
        for entry in entries {
            json.beginObject()
            json.member("riderId", entry.accountID.description)
            json.member("latitude", entry.fix.latitude)
            json.member("longitude", entry.fix.longitude)
            json.member("accuracyMeters", entry.fix.accuracyMeters)
            json.member("timestampMs", entry.fix.timestampMilliseconds)
            json.endObject()
        }
        json.endArray()
        json.endObject()
    }
}
