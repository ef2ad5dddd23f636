internal import Database
internal import Transit
internal import Web

/// The order in which every transaction of this service takes its locks.
///
/// 1. accounts, by id: whoever adds a friendship or a member, ends a friendship or erases;
/// 2. groups, by id: whoever changes members, sharing, ownership or events;
/// 3. members, by group and account: whoever writes a fix or a place, and what 2 removes;
/// 4. what hangs on them: fixes, places, events.
///
/// A transaction may skip a step and never goes back one, so no two can wait for each other. A
/// condition that was read before its lock is read again behind it.
enum Locks {
    /// Locks accounts, so that no friendship or membership of theirs is added by others.
    ///
    /// Not against foreign keys: a group may be handed on to an account while it is locked here.
    ///
    /// - Parameters:
    ///   - ids: In any order.
    ///   - connection: Inside a transaction.
    /// - Returns: Those that exist.
    /// - Throws: `DatabaseError`.
    @discardableResult
    static func accounts(
        _ ids: [UniqueID],
        on connection: Connection
    ) throws(DatabaseError) -> Set<UniqueID> {
        let rows = try connection.query(
            "SELECT id FROM groups.accounts WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE",
            [.uuidArray(ids)]
        )
        var found: Set<UniqueID> = []
        for row in rows { found.insert(try row.uuid("id")) }
        return found
    }

    /// Locks the caller and another account.
    ///
    /// - Parameters:
    ///   - caller: Who calls.
    ///   - other: Whom it is about.
    ///   - refusal: What the caller hears when the other account was erased meanwhile.
    ///   - connection: Inside a transaction.
    /// - Throws: ``Gone`` when the caller was erased meanwhile; `refusal`; `DatabaseError`.
    static func pair(
        _ caller: UniqueID,
        _ other: UniqueID,
        orRefuse refusal: HTTPError,
        on connection: Connection
    ) throws {
        let found = try accounts([caller, other], on: connection)
        guard found.contains(caller) else { throw Gone(accountID: caller) }
        guard found.contains(other) else { throw refusal }
    }

    /// Locks groups, so that their members, sharing and events stay as they are.
    ///
    /// - Parameters:
    ///   - ids: In any order.
    ///   - connection: Inside a transaction.
    /// - Returns: Those that exist, in the order of their ids.
    /// - Throws: `DatabaseError`.
    static func groups(
        _ ids: [UniqueID],
        on connection: Connection
    ) throws(DatabaseError) -> [LockedGroup] {
        let rows = try connection.query(
            """
            SELECT id, kind, owner_id FROM groups.groups WHERE id = ANY ($1)
            ORDER BY id FOR NO KEY UPDATE
            """,
            [.uuidArray(ids)]
        )
        var groups: [LockedGroup] = []
        for row in rows { groups.append(try LockedGroup(row)) }
        return groups
    }

    /// The caller was erased while the call was under way.
    struct Gone: Error {
        /// Whose it was.
        let accountID: UniqueID
    }
}

/// A group whose row this transaction has locked; only ``Locks`` makes one.
struct LockedGroup {
    /// The group.
    let id: UniqueID
    /// Its kind.
    let kind: GroupKind
    /// Who owns it; nil in a group without accepted members.
    let ownerID: UniqueID?

    fileprivate init(_ row: Row) throws(DatabaseError) {
        id = try row.uuid("id")
        kind = try GroupKind(row)
        ownerID = try row.optionalUUID("owner_id")
    }
}
