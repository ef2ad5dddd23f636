/// A lock that lives as long as the session that holds it (`pg_advisory_lock`).
///
/// While the session lives nobody else gets the lock; when its connection dies, its open
/// transaction dies first and the lock is free. So a lock and writes on the same connection need
/// no lease and no clock. Not for connections behind a transaction-mode pooler.
public struct AdvisoryLock: Hashable, Sendable {
    /// What a lock is for; the first of the two numbers that PostgreSQL knows it by.
    public struct Class: Hashable, Sendable {
        /// The number.
        public let rawValue: Int32

        /// Makes a class.
        public init(_ rawValue: Int32) { self.rawValue = rawValue }

        /// Migrating a schema; the key is a hash of its name.
        public static let migration = Class(0x414C_0001)
        /// Owning a slot of rides; the key is the slot.
        public static let slot = Class(0x414C_0002)
        /// Building the feed; the key is 0.
        public static let feedBuilder = Class(0x414C_0003)
        /// Making and dropping the partitions of a table; the key is a hash of its name.
        public static let partitions = Class(0x414C_0005)
    }

    /// What the lock is for.
    public let `class`: Class
    /// Which one of its class.
    public let key: Int32

    /// Names a lock.
    public init(class: Class, key: Int32) {
        self.class = `class`
        self.key = key
    }

    /// Takes the lock unless another session holds it.
    ///
    /// - Parameter connection: The session that is to hold it, until ``unlock(on:)`` or its end.
    /// - Returns: Whether this session holds it now. Each success counts: unlock as often.
    /// - Throws: ``DatabaseError`` when the statement fails; the lock is not held then.
    public func tryLock(on connection: Connection) throws(DatabaseError) -> Bool {
        try connection.query(
            "SELECT pg_try_advisory_lock($1::int, $2::int)",
            parameters
        ).one().bool(0)
    }

    /// Takes the lock until the transaction ends, unless another session holds it.
    ///
    /// - Parameter connection: In a transaction.
    /// - Returns: Whether this transaction holds it now.
    /// - Throws: ``DatabaseError`` when the statement fails.
    public func tryLockForTransaction(on connection: Connection) throws(DatabaseError) -> Bool {
        try connection.query(
            "SELECT pg_try_advisory_xact_lock($1::int, $2::int)",
            parameters
        ).one().bool(0)
    }

    /// Waits for the lock, at most for the connection's statement timeout.
    ///
    /// - Parameter connection: The session that is to hold it.
    /// - Throws: ``DatabaseError`` with SQLSTATE 57014 when the wait was too long.
    public func lock(on connection: Connection) throws(DatabaseError) {
        try connection.query("SELECT pg_advisory_lock($1::int, $2::int)", parameters)
    }

    /// Gives the lock back.
    ///
    /// - Parameter connection: The session that holds it.
    /// - Returns: false when this session did not hold it.
    /// - Throws: ``DatabaseError`` when the statement fails.
    @discardableResult
    public func unlock(on connection: Connection) throws(DatabaseError) -> Bool {
        try connection.query(
            "SELECT pg_advisory_unlock($1::int, $2::int)",
            parameters
        ).one().bool(0)
    }

    /// Takes as many free locks of a class as are wanted, in one round trip.
    ///
    /// - Parameters:
    ///   - class: What the locks are for.
    ///   - keys: The keys to try, in this order; those already held by this session are not to be
    ///     among them, as a session's own lock is taken twice.
    ///   - limit: At most how many to take.
    ///   - connection: The session that is to hold them.
    /// - Returns: The keys that this session took.
    /// - Throws: ``DatabaseError``; after a lost connection none is held.
    public static func tryLock(
        _ class: Class,
        keys: [Int32],
        limit: Int,
        on connection: Connection
    ) throws(DatabaseError) -> [Int32] {
        // The materialized list keeps the order, and the lateral subquery stops at the limit.
        let rows = try connection.query(
            """
            WITH wanted AS MATERIALIZED (
                SELECT key FROM unnest($2::int[]) WITH ORDINALITY AS w (key, place) ORDER BY place
            )
            SELECT key FROM wanted WHERE pg_try_advisory_lock($1::int, key) LIMIT $3
            """,
            [
                .int(Int(`class`.rawValue)), .intArray(keys.map { Int64($0) }),
                .int(max(0, limit)),
            ]
        )
        var taken: [Int32] = []
        for row in rows { taken.append(Int32(try row.int(0))) }
        return taken
    }

    /// Who holds the locks of a class in this database, by key.
    ///
    /// - Parameters:
    ///   - class: What the locks are for.
    ///   - connection: Any connection to the database.
    /// - Returns: The server process of each holder.
    /// - Throws: ``DatabaseError`` when the statement fails.
    public static func holders(
        of class: Class,
        on connection: Connection
    ) throws(DatabaseError) -> [Int32: Int32] {
        let rows = try connection.query(
            """
            SELECT objid::bigint AS key, pid FROM pg_locks
            WHERE locktype = 'advisory' AND granted AND objsubid = 2
                AND classid::bigint = $1
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """,
            [.int(Int(UInt32(bitPattern: `class`.rawValue)))]
        )
        var holders: [Int32: Int32] = [:]
        for row in rows {
            let key = Int32(truncatingIfNeeded: try row.int("key"))
            holders[key] = Int32(try row.int("pid"))
        }
        return holders
    }

    /// Ends the session of a holder that is frozen, so that its locks are free.
    ///
    /// Its open transaction is rolled back first: what it had not committed never happens, whatever
    /// it does when it wakes up. The caller's log-in role must be the holder's (or a superuser):
    /// PostgreSQL looks at the role that logged in, so a session that works under `SET ROLE` steps
    /// out of it for this one statement.
    ///
    /// - Parameters:
    ///   - backendPID: The server process of the holder, from ``holders(of:on:)``.
    ///   - connection: Another session, not in a transaction that has failed.
    /// - Returns: Whether that process is gone now; false also when it did not exist.
    /// - Throws: ``DatabaseError`` with SQLSTATE 42501 when the role does not suffice.
    @discardableResult
    public static func fence(
        _ backendPID: Int32,
        on connection: Connection
    ) throws(DatabaseError) -> Bool {
        precondition(backendPID != connection.backendPID, "a session does not fence itself")
        // How long the server may take to end the process; a free one takes some milliseconds.
        let patienceMilliseconds = 1000
        if connection.role != nil { try connection.script("SET ROLE NONE") }
        defer {
            if let role = connection.role {
                try? connection.script("SET ROLE \(Connection.quoted(role))")
            }
        }
        return try connection.query(
            "SELECT pg_terminate_backend($1::int, $2::bigint)",
            [.int(Int(backendPID)), .int(patienceMilliseconds)]
        ).one().bool(0)
    }

    /// Draws the number that marks one acquisition of a lock; later ones are higher.
    ///
    /// - Parameters:
    ///   - sequence: The sequence's name, with its schema.
    ///   - connection: The session that holds the lock.
    /// - Returns: A number that no other acquisition has.
    /// - Throws: ``DatabaseError`` when the statement fails.
    public static func nextEpoch(
        from sequence: String,
        on connection: Connection
    ) throws(DatabaseError) -> UInt64 {
        let value = try connection.query("SELECT nextval($1::regclass)", [.text(sequence)])
        return UInt64(try value.one().int(0))
    }

    private var parameters: [SQLValue] { [.int(Int(`class`.rawValue)), .int(Int(key))] }
}
