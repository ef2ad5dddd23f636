internal import Database
internal import Messages
internal import Transit
internal import Web

/// The groups of an account, with all their members (spec 1.2).
///
/// The only payload that pairs ids with handles, and those who are invited see it, too.
struct GroupList: Sendable {
    /// A member or someone invited.
    struct Member: Sendable {
        let account: UniqueID
        let username: String
        let isAccepted: Bool
        let isSharing: Bool
    }

    /// One group as an account sees it.
    struct Entry: Sendable {
        let id: UniqueID
        let kind: GroupKind
        let name: String
        let ownerID: UniqueID?
        /// Whether the account that looks is an accepted member itself.
        let isAccepted: Bool
        var members: [Member]
    }

    /// Newest first.
    private(set) var entries: [Entry] = []
    /// The turn of the last entry: a list of what comes before it goes on there.
    private(set) var lastTurn: Int64?

    /// The groups of the kind `$2` with a turn below `$3` in which the account has any row, at most
    /// `$4`, with one statement.
    private static let survey = Survey(
        .ownRows,
        """
        SELECT g.id, g.kind, g.name, g.owner_id, g.turn, g.own_status,
            m.account_id, a.handle, m.status, m.is_sharing
        FROM (SELECT g.*, seat.status AS own_status
            FROM seat JOIN groups.groups g ON g.id = seat.group_id
            WHERE g.kind = $2 AND g.turn < $3
            ORDER BY g.turn DESC LIMIT $4) g
        JOIN groups.members m ON m.group_id = g.id
        JOIN groups.accounts a ON a.id = m.account_id
        ORDER BY g.turn DESC, m.status, m.turn
        """,
        read: { rows throws(DatabaseError) in try GroupList(rows) }
    )

    /// Reads the groups of one kind in which the account has any row.
    ///
    /// - Parameters:
    ///   - account: Whose.
    ///   - kind: Their kind.
    ///   - turn: What their turns are below.
    ///   - limit: The most groups; nil for all.
    ///   - connection: Inside a transaction or not.
    /// - Throws: `DatabaseError`.
    init(
        of account: UniqueID,
        kind: GroupKind,
        before turn: Int64 = .max,
        limit: Int? = nil,
        on connection: Connection
    ) throws(DatabaseError) {
        self = try Gate.survey(
            Self.survey,
            of: [account],
            [.text(kind.storedName), .int64(turn), SQLValue(limit)],
            on: connection
        )
    }

    private init(_ rows: Rows) throws(DatabaseError) {
        for row in rows {
            let id = try row.uuid("id")
            if entries.last?.id != id {
                lastTurn = try row.int64("turn")
                entries.append(
                    Entry(
                        id: id,
                        kind: try GroupKind(row),
                        name: try row.text("name"),
                        ownerID: try row.optionalUUID("owner_id"),
                        isAccepted: try row.text("own_status") == "Accepted",
                        members: []
                    )
                )
            }
            entries[entries.count - 1].members.append(
                Member(
                    account: try row.uuid("account_id"),
                    username: try row.text("handle"),
                    isAccepted: try row.text("status") == "Accepted",
                    isSharing: try row.bool("is_sharing")
                )
            )
        }
    }

    /// Writes the bare array.
    func write(to json: inout JSONWriter) {
        json.beginArray()
        for entry in entries { entry.write(to: &json) }
        json.endArray()
    }
}

extension GroupList.Entry {
    /// A group that was just made.
    init(_ group: NewGroup) {
        id = group.id
        kind = group.kind
        name = group.name.text
        ownerID = group.founder.id
        isAccepted = true
        members = [
            GroupList.Member(
                account: group.founder.id,
                username: group.founder.handle.text,
                isAccepted: true,
                isSharing: group.kind.sharesFromTheStart
            )
        ]
    }

    /// Writes the group object.
    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.member("id", id.description)
        json.member("kind", kind.name)
        json.member("name", name)
        json.member("ownerId", ownerID?.description)
        json.member("status", Self.status(isAccepted))
        json.key("members")
        json.beginArray()
        for member in members {
            json.beginObject()
            json.member("id", member.account.description)
            json.member("username", member.username)
            json.member("status", Self.status(member.isAccepted))
            // Where sharing is no switch there is nothing to show.
            json.member("sharing", kind.isPausable ? member.isSharing : nil)
            json.endObject()
        }
        json.endArray()
        json.endObject()
    }

    private static func status(_ isAccepted: Bool) -> String {
        isAccepted ? "accepted" : "invited"
    }
}
