internal import Database
internal import Synchronization
internal import Transit

/// Ids and handles of the people who were seen here, by their tokens or in answers of auth.
///
/// A row is written once per process and handle, not once per call. An account that was erased is
/// not written again while a token of it may still be about.
final class AccountBook: Sendable {
    /// Accounts remembered as written; beyond it all are forgotten and written again when seen.
    static let memoryLimit = 50_000

    private let database: Database
    private let now: @Sendable () -> UnixSeconds
    private let written = Mutex<[UniqueID: Handle]>([:])

    /// Makes a book.
    init(database: Database, now: @escaping @Sendable () -> UnixSeconds) {
        self.database = database
        self.now = now
    }

    /// Takes note of an account.
    ///
    /// - Throws: ``Locks/Gone`` for one that was erased; `DatabaseError`.
    func see(_ account: Account) async throws {
        if written.withLock({ $0[account.id] == account.handle }) { return }
        let now = now()
        let isErased = try await database.transaction { connection throws(DatabaseError) in
            try Self.write(account, at: now, on: connection)
        }
        guard !isErased else { throw Locks.Gone(accountID: account.id) }
        written.withLock { written in
            if written.count >= Self.memoryLimit { written.removeAll() }
            written[account.id] = account.handle
        }
    }

    /// Forgets that an account was written, because it was erased.
    func forget(_ id: UniqueID) { written.withLock { _ = $0.removeValue(forKey: id) } }

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
