internal import Database
internal import Transit
internal import Web

/// The statements over the accounts of drivers and admins.
enum StaffRows {
    /// A page of staff, newest first.
    static func page(
        limit: Int,
        offset: Int,
        on connection: Connection
    ) throws(DatabaseError) -> [Account] {
        let rows = try connection.query(
            """
            SELECT \(Account.columns) FROM auth.accounts
            WHERE role <> 'member' AND erasing_since IS NULL
            ORDER BY created_at DESC, id DESC LIMIT $1 OFFSET $2
            """,
            [.int(limit), .int(offset)]
        )
        var page: [Account] = []
        for row in rows { page.append(try Account(row)) }
        return page
    }

    /// The admins who can log in, locked in one order until the transaction ends.
    ///
    /// Whoever takes an admin away locks them all first, so that of two at once the second one
    /// sees what the first one left.
    static func lockActiveAdmins(on connection: Connection) throws(DatabaseError) -> [UniqueID] {
        let rows = try connection.query(
            """
            SELECT id FROM auth.accounts WHERE role = 'admin' AND active
            ORDER BY id FOR NO KEY UPDATE
            """
        )
        var ids: [UniqueID] = []
        for row in rows { ids.append(try row.uuid(0)) }
        return ids
    }

    /// Whether anybody is an admin.
    static func hasAdmin(on connection: Connection) throws(DatabaseError) -> Bool {
        try connection.query(
            """
            SELECT EXISTS (
                SELECT FROM auth.accounts WHERE role = 'admin' AND erasing_since IS NULL)
            """
        ).one().bool(0)
    }

    /// Stores a new driver or admin.
    ///
    /// - Throws: `DatabaseError`; ``AccountConflict/init(_:)`` reads an address of other staff.
    static func insert(
        _ new: NewAccount,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> Account {
        if let email = new.email { try takeFromMember(email, at: now, on: connection) }
        return try AccountRows.insert(new, at: now, on: connection)
    }

    /// Takes an address from the member who has claimed it (decision 0063).
    ///
    /// Nobody proves an address at a sign-up, and an admin knows the staff. The member logs in by the
    /// handle as before.
    private static func takeFromMember(
        _ email: EmailAddress,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) {
        try connection.execute(
            """
            UPDATE auth.accounts SET email = NULL, email_key = NULL, updated_at = $2
            WHERE email_key = $1 AND role = 'member'
            """,
            [.text(email.key), .timestamp(now)]
        )
    }

    /// Stores what an admin changed.
    static func update(
        _ id: UniqueID,
        _ change: UserChange,
        isActive: Bool,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> Account {
        try takeFromMember(change.email, at: now, on: connection)
        return try Account(
            connection.query(
                """
                UPDATE auth.accounts SET name = $2, email = $3, email_key = $4, role = $5,
                    active = $6, updated_at = $7
                WHERE id = $1 RETURNING \(Account.columns)
                """,
                [
                    .uuid(id), .text(change.name), .text(change.email.text),
                    .text(change.email.key), .text(change.role.rawValue), .bool(isActive),
                    .timestamp(now),
                ]
            ).one()
        )
    }
}
