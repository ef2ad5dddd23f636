internal import Database
internal import Transit
internal import Web

/// Who can see an account now, and through what (decision 30).
struct Audience: Sendable {
    /// A group in which the account can be seen, with the others in it.
    struct Entry: Sendable {
        let groupID: UniqueID
        let kind: GroupKind
        let name: String
        var members: [(id: UniqueID, username: String)]

        /// `sharing` where it is switched on, `while_connected` where a socket is what shares.
        var reason: String { kind.sharesWhileConnected ? "while_connected" : "sharing" }
    }

    /// Newest group first; groups without anyone else in them show the account to nobody.
    private(set) var entries: [Entry] = []

    /// Where the account may be seen, with one statement.
    static let survey = Survey(
        .sharers,
        """
        SELECT g.id, g.kind, g.name, m.account_id, a.handle
        FROM seat
        JOIN groups.groups g ON g.id = seat.group_id
        JOIN groups.members m ON m.group_id = g.id AND m.account_id <> seat.account_id
            AND \(Gate.isMember)
        JOIN groups.accounts a ON a.id = m.account_id
        ORDER BY g.turn DESC, m.turn
        """,
        read: { rows throws(DatabaseError) in try Audience(rows) }
    )

    private init(_ rows: Rows) throws(DatabaseError) {
        for row in rows {
            let id = try row.uuid("id")
            if entries.last?.groupID != id {
                entries.append(
                    Entry(
                        groupID: id,
                        kind: try GroupKind(row),
                        name: try row.text("name"),
                        members: []
                    )
                )
            }
            entries[entries.count - 1].members.append(
                (try row.uuid("account_id"), try row.text("handle"))
            )
        }
    }

    /// Writes `{audience: [{group: {id, kind, name}, members: [{id, username}], reason}]}`.
    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.key("audience")
        json.beginArray()
        for entry in entries {
            json.beginObject()
            json.key("group")
            json.beginObject()
            json.member("id", entry.groupID.description)
            json.member("kind", entry.kind.name)
            json.member("name", entry.name)
            json.endObject()
            json.key("members")
            json.beginArray()
            for member in entry.members { json.person(member.id, member.username) }
            json.endArray()
            json.member("reason", entry.reason)
            json.endObject()
        }
        json.endArray()
        json.endObject()
    }
}
