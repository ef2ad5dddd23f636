internal import Database
internal import Transit
internal import Web

/// An account's friends and open requests, as `GET /api/friends` shows them.
struct FriendList: Sendable {
    /// Someone the account has to do with.
    struct Entry: Sendable {
        let id: UniqueID
        let username: String
        /// `friend`, `incoming` or `outgoing`.
        let relation: String
    }

    /// In the order of their handles.
    let entries: [Entry]

    /// The columns of ``Entry`` of the account `$1`.
    static let source = """
        SELECT a.id, a.handle, CASE WHEN f.status = 'Accepted' THEN 'friend'
            WHEN f.requested_by = $1 THEN 'outgoing' ELSE 'incoming' END AS relation
        FROM (SELECT *, high_id AS other FROM groups.friendships WHERE low_id = $1
            UNION ALL
            SELECT *, low_id AS other FROM groups.friendships WHERE high_id = $1) f
        JOIN groups.accounts a ON a.id = f.other
        """

    /// Reads the list with one statement.
    init(of account: UniqueID, on connection: Connection) throws(DatabaseError) {
        let rows = try connection.query(
            Self.source + " ORDER BY lower(a.handle), a.id",
            [.uuid(account)]
        )
        var entries: [Entry] = []
        entries.reserveCapacity(rows.count)
        for row in rows {
            entries.append(
                Entry(
                    id: try row.uuid("id"),
                    username: try row.text("handle"),
                    relation: try row.text("relation")
                )
            )
        }
        self.entries = entries
    }

    /// Writes `[{rider: {id, username}, relation}]`.
    func write(to json: inout JSONWriter) {
        json.beginArray()
        for entry in entries {
            json.beginObject()
            json.key("rider")
            json.person(entry.id, entry.username)
            json.member("relation", entry.relation)
            json.endObject()
        }
        json.endArray()
    }
}
