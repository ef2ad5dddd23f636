internal import Database
internal import Transit

/// A group at its beginning: its creator owns it and is its one accepted member.
struct NewGroup: Sendable {
    let id = UniqueID.random()
    let kind: GroupKind
    let name: GroupName
    let founder: Account

    /// Files the group.
    ///
    /// - Parameters:
    ///   - now: Milliseconds since 1970.
    ///   - connection: Inside a transaction.
    /// - Throws: 422 when the founder is in too many; ``Locks/Gone`` when the founder was erased
    ///   meanwhile; `DatabaseError`.
    func insert(at now: Int64, on connection: Connection) throws {
        guard try !Locks.accounts([founder.id], on: connection).isEmpty else {
            throw Locks.Gone(accountID: founder.id)
        }
        try AccountLimits.requireRoom(for: kind, of: founder.id, on: connection)
        try connection.execute(
            """
            WITH made AS (INSERT INTO groups.groups
                (id, kind, name, owner_id, created_at, turn, version, event_seq)
                VALUES ($1, $2, $3, $4, $5, nextval('groups.turn'), 1, 0) RETURNING id)
            INSERT INTO groups.members
                (group_id, account_id, status, is_sharing, sharing_since_ms, joined_at, turn)
            SELECT id, $4, 'Accepted', $6, $7::bigint, $5, nextval('groups.turn') FROM made
            """,
            [
                .uuid(id), .text(kind.storedName), .text(name.text), .uuid(founder.id),
                .timestamp(now / 1000), .bool(kind.sharesFromTheStart),
                SQLValue(kind.sharesFromTheStart ? now : nil),
            ]
        )
    }
}
