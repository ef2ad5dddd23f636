internal import Database
internal import Messages
internal import Synchronization
internal import Transit

/// Ids and handles of the people who were seen here, by their tokens or in answers of auth.
///
/// A process looks once for an account and handle, not once per call, and writes only what is not
/// there: a write would wait for whoever has the account locked. An account that was erased is
/// not written again while a token of it may still be about.
final class AccountBook: Sendable {
    /// Accounts remembered; beyond it all are forgotten and looked for again when seen.
    static let memoryLimit = 50_000

    private let database: Database
    private let now: @Sendable () -> UnixSeconds
    private let known = Mutex<[UniqueID: Handle]>([:])

    /// Makes a book.
    init(database: Database, now: @escaping @Sendable () -> UnixSeconds) {
        self.database = database
        self.now = now
    }

    /// Takes note of an account.
    ///
    /// - Throws: ``Locks/Gone`` for one that was erased; `DatabaseError`.
    func see(_ account: Account) async throws {
        if known.withLock({ $0[account.id] == account.handle }) { return }
        let now = now()
        let isErased = try await database.transaction {
            connection throws(DatabaseError) -> Bool in
            if try Self.isWritten(account, on: connection) { return false }
            return try Self.write(account, at: now, on: connection)
        }
        guard !isErased else { throw Locks.Gone(accountID: account.id) }
        known.withLock { known in
            if known.count >= Self.memoryLimit { known.removeAll() }
            known[account.id] = account.handle
        }
    }

    /// Forgets an account that was erased.
    func forget(_ id: UniqueID) { known.withLock { _ = $0.removeValue(forKey: id) } }

    /// Finds a person by handle among those seen here; the latest holder, should there be several.
    static func account(
        named handle: Handle,
        on connection: Connection
    ) throws(DatabaseError) -> UniqueID? {
        try connection.query(
            """
            SELECT id FROM groups.accounts WHERE lower(handle) = lower($1)
            ORDER BY seen_at DESC LIMIT 1
            """,
            [.text(handle.text)]
        ).first?.uuid("id")
    }

    /// Whether the account's row stands as it should and nobody else's claims the handle.
    ///
    /// An erasure may remove the row right after; the call then finds out as one would whose process
    /// had known the account all along.
    private static func isWritten(
        _ account: Account,
        on connection: Connection
    ) throws(DatabaseError) -> Bool {
        try connection.query(
            """
            SELECT count(*) = 1 AND bool_and(id = $1 AND handle = $2) FROM groups.accounts
            WHERE lower(handle) = lower($2)
            """,
            [.uuid(account.id), .text(account.handle.text)]
        ).one().bool(0)
    }

    /// Writes the row, and only then looks whether the account was erased: an erasure in between
    /// waits for the row, see ``Erasure``.
    private static func write(
        _ account: Account,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> Bool {
        try connection.execute(
            """
            INSERT INTO groups.accounts AS a (id, handle, seen_at) VALUES ($1, $2, $3)
            ON CONFLICT (id) DO UPDATE SET handle = excluded.handle, seen_at = excluded.seen_at
            """,
            [.uuid(account.id), .text(account.handle.text), .timestamp(now)]
        )
        let isErased = try connection.query(
            "SELECT EXISTS (SELECT FROM groups.erased_accounts WHERE digest = \(Erasure.digest))",
            [.uuid(account.id)]
        ).one().bool(0)
        if isErased { connection.rollBackAtEnd() }
        return isErased
    }
}
