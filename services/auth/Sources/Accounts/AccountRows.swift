internal import Database
internal import Messages
internal import Transit
internal import Web

/// The statements over `auth.accounts` that several calls need; all run inside a caller's transaction.
///
/// Whoever changes an account or what was signed for it locks its row first, so that a log-in, a
/// refresh and a revocation of the same account happen one after the other in every process.
enum AccountRows {
    /// Stores a new account.
    ///
    /// - Throws: `DatabaseError`; ``AccountConflict/init(_:)`` reads a taken handle or address.
    static func insert(
        _ new: NewAccount,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> Account {
        try Account(
            connection.query(
                """
                INSERT INTO auth.accounts (id, role, handle, handle_key, email, email_key, name,
                    active, password_hash, created_at, updated_at)
                VALUES ($1, $2, $3, $4, $5, $6, $7, true, $8, $9, $9)
                RETURNING \(Account.columns)
                """,
                [
                    .uuid(.random()), .text(new.role.rawValue), SQLValue(new.handle?.text),
                    SQLValue(new.handle?.key), SQLValue(new.email?.text),
                    SQLValue(new.email?.key), .text(new.name), .text(new.passwordHash),
                    .timestamp(now),
                ]
            ).one()
        )
    }

    /// The account of a handle or an address, active or not.
    static func find(
        _ identity: Identity,
        on connection: Connection
    ) throws(DatabaseError) -> Account? {
        guard let key = identity.key else { return nil }
        let column =
            switch identity {
            case .handle: "handle_key"
            case .email: "email_key"
            }
        return try connection.query(
            """
            SELECT \(Account.columns) FROM auth.accounts
            WHERE \(column) = $1 AND erasing_since IS NULL
            """,
            [.text(key)]
        ).first.map { row throws(DatabaseError) in try Account(row) }
    }

    /// An account that is not being erased.
    static func find(
        _ id: UniqueID,
        on connection: Connection
    ) throws(DatabaseError) -> Account? {
        try connection.query(
            "SELECT \(Account.columns) FROM auth.accounts WHERE id = $1 AND erasing_since IS NULL",
            [.uuid(id)]
        ).first.map { row throws(DatabaseError) in try Account(row) }
    }

    /// An account that is not being erased, locked until the transaction ends.
    static func lock(
        _ id: UniqueID,
        on connection: Connection
    ) throws(DatabaseError) -> Account? {
        try connection.query(
            """
            SELECT \(Account.columns) FROM auth.accounts WHERE id = $1 AND erasing_since IS NULL
            FOR NO KEY UPDATE
            """,
            [.uuid(id)]
        ).first.map { row throws(DatabaseError) in try Account(row) }
    }

    /// Stores the hash of a new password.
    static func setPassword(
        _ hash: String,
        of id: UniqueID,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) {
        try connection.execute(
            """
            UPDATE auth.accounts SET password_hash = $2, updated_at = $3,
                password_generation = password_generation + 1
            WHERE id = $1
            """,
            [.uuid(id), .text(hash), .timestamp(now)]
        )
    }

    /// Stores another hash of the same password.
    static func replaceHash(
        _ hash: String,
        of id: UniqueID,
        on connection: Connection
    ) throws(DatabaseError) {
        try connection.execute(
            "UPDATE auth.accounts SET password_hash = $2 WHERE id = $1",
            [.uuid(id), .text(hash)]
        )
    }

    /// Takes every right and everything personal but the handle's key away from an account.
    ///
    /// The key stays until all owners of data have confirmed, so that nobody else can take the
    /// handle while traces of the old one are about.
    static func empty(
        _ id: UniqueID,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) {
        try connection.execute(
            """
            UPDATE auth.accounts SET active = false, handle = NULL, email = NULL,
                email_key = NULL, name = '', password_hash = '', erasing_since = $2,
                updated_at = $2
            WHERE id = $1
            """,
            [.uuid(id), .timestamp(now)]
        )
    }

    /// Deletes the row itself, the last step of an erasure.
    static func delete(_ id: UniqueID, on connection: Connection) throws(DatabaseError) {
        try connection.execute("DELETE FROM auth.accounts WHERE id = $1", [.uuid(id)])
    }
}
