internal import Telemetry
public import Transit

/// A table of points in time that is partitioned by their UTC day, with a default partition.
///
/// The table is `PARTITION BY RANGE` of one `timestamptz` column, its default partition is named
/// `<table>_default` and a day's `<table>_YYYYMMDD`. Partitions are made ahead, so that rows do not
/// gather in the default one; rows that did are moved. Retention goes by when a point was received:
/// row by row in the day that is growing old, whole days after that, which gives the disk back.
/// Several processes may do this at once: an advisory lock lets one work.
public struct DayPartitions: Sendable {
    /// How long a partition's making or dropping waits for readers and writers before it is left to
    /// the next round: everyone else queues behind it meanwhile.
    static let lockTimeoutMilliseconds = 2000
    private static let secondsPerDay: Int64 = 86_400

    private let schema: String
    private let table: String
    private let column: String
    private let receivedColumn: String
    private let lateness: Int64

    /// Names a table.
    ///
    /// - Parameters:
    ///   - schema: Its schema.
    ///   - table: Its name.
    ///   - column: The column of the partition key: when a point was measured.
    ///   - receivedColumn: The column that retention goes by; an index on it helps.
    ///   - lateness: Seconds by which a point may be received after it was measured, 0 or more.
    public init(
        schema: String,
        table: String,
        column: String = "timestamp",
        receivedColumn: String = "received_at",
        lateness: Int64
    ) {
        precondition(lateness >= 0, "a point is not received before it is measured")
        self.schema = schema
        self.table = table
        self.column = column
        self.receivedColumn = receivedColumn
        self.lateness = lateness
    }

    /// What one round did.
    public struct Change: Sendable, Equatable {
        /// Partitions that were made, the earliest first.
        public var made: [String] = []
        /// Partitions that were dropped, the earliest first.
        public var dropped: [String] = []
        /// Rows that were deleted one by one.
        public var deletedRows = 0

        /// Nothing.
        public init() {}

        /// Whether nothing was done.
        public var isEmpty: Bool { self == Change() }
    }

    /// Makes the partitions that are missing and removes what is too old.
    ///
    /// - Parameters:
    ///   - now: The application clock.
    ///   - ahead: Days to make after today.
    ///   - cutoff: What was received before it goes; nil keeps everything.
    ///   - batch: Rows deleted by one statement.
    ///   - connection: A session of the table's owner, not in a transaction.
    /// - Returns: What was done; nothing while another process is at it.
    /// - Throws: ``DatabaseError``; each step is a transaction of its own, so what was done before
    ///   stays. SQLSTATE 55P03 means that readers or writers were in the way.
    public func maintain(
        at now: UnixSeconds,
        ahead: Int = 2,
        keepingFrom cutoff: UnixSeconds? = nil,
        batch: Int = 10_000,
        on connection: Connection
    ) throws(DatabaseError) -> Change {
        precondition(ahead >= 0 && batch > 0, "a round looks at today at least")
        let lock = AdvisoryLock(class: .partitions, key: key)
        guard try lock.tryLock(on: connection) else { return Change() }
        let result = Result { () throws(DatabaseError) in
            var change = Change()
            try make(from: now - lateness, to: now, ahead, &change, connection)
            if let cutoff { try remove(before: cutoff, batch, &change, connection) }
            return change
        }
        try lock.unlock(on: connection)
        return try result.get()
    }

    private func make(
        from first: UnixSeconds,
        to now: UnixSeconds,
        _ ahead: Int,
        _ change: inout Change,
        _ connection: Connection
    ) throws(DatabaseError) {
        let existing = try days(on: connection)
        let last = Self.day(of: now).adding(days: ahead)
        for number in Self.day(of: first).daysSince1970...last.daysSince1970 {
            let day = ServiceDate(daysSince1970: number)
            guard !existing.contains(day) else { continue }
            try make(day, on: connection)
            change.made.append(name(of: day))
        }
    }

    private func remove(
        before cutoff: UnixSeconds,
        _ batch: Int,
        _ change: inout Change,
        _ connection: Connection
    ) throws(DatabaseError) {
        let old = try days(on: connection).filter { Self.start(of: $0) <= cutoff }.sorted()
        for day in old {
            // All of such a day was received before the cutoff.
            if Self.start(of: day.adding(days: 1)) + lateness <= cutoff {
                try drop(day, on: connection)
                change.dropped.append(name(of: day))
            } else {
                change.deletedRows += try delete(name(of: day), before: cutoff, batch, connection)
            }
        }
        change.deletedRows += try delete("\(table)_default", before: cutoff, batch, connection)
    }

    // MARK: - One partition

    /// The days that have a partition.
    ///
    /// - Parameter connection: Any session that may read the catalogue.
    /// - Returns: The days, in no order; tables of other names are not ours.
    /// - Throws: ``DatabaseError`` when the statement fails.
    public func days(on connection: Connection) throws(DatabaseError) -> Set<ServiceDate> {
        let rows = try connection.query(
            """
            SELECT c.relname::text AS name FROM pg_inherits i
            JOIN pg_class c ON c.oid = i.inhrelid
            JOIN pg_class p ON p.oid = i.inhparent
            JOIN pg_namespace n ON n.oid = p.relnamespace
            WHERE n.nspname = $1 AND p.relname = $2
            """,
            [.text(schema), .text(table)]
        )
        var days: Set<ServiceDate> = []
        for row in rows {
            let name = try row.text("name")
            guard name.hasPrefix("\(table)_"),
                let day = ServiceDate(String(name.dropFirst(table.count + 1)))
            else { continue }
            days.insert(day)
        }
        return days
    }

    /// Makes a partition beside the table, moves the day's rows into it and attaches it.
    ///
    /// Writers wait at the table itself: one that had already chosen the default partition would be
    /// refused once the day has another. Readers wait for the last step alone.
    private func make(_ day: ServiceDate, on connection: Connection) throws(DatabaseError) {
        let parent = qualified(table)
        let partition = qualified(name(of: day))
        let fallback = qualified("\(table)_default")
        let column = Connection.quoted(column)
        let from = Self.bound(day)
        let to = Self.bound(day.adding(days: 1))
        try connection.transaction { () throws(DatabaseError) in
            try connection.script(
                """
                SET LOCAL lock_timeout = \(Self.lockTimeoutMilliseconds);
                LOCK TABLE ONLY \(parent) IN SHARE ROW EXCLUSIVE MODE;
                CREATE TABLE \(partition) (LIKE \(parent) INCLUDING ALL);
                LOCK TABLE \(fallback) IN ACCESS EXCLUSIVE MODE;
                WITH moved AS (
                    DELETE FROM \(fallback) WHERE \(column) >= \(from) AND \(column) < \(to)
                    RETURNING *
                ) INSERT INTO \(partition) SELECT * FROM moved;
                ALTER TABLE \(parent) ATTACH PARTITION \(partition)
                    FOR VALUES FROM (\(from)) TO (\(to));
                """
            )
        }
    }

    private func drop(_ day: ServiceDate, on connection: Connection) throws(DatabaseError) {
        try connection.transaction { () throws(DatabaseError) in
            try connection.script(
                """
                SET LOCAL lock_timeout = \(Self.lockTimeoutMilliseconds);
                DROP TABLE \(qualified(name(of: day)));
                """
            )
        }
    }

    /// Deletes until a short batch, so that no statement runs long.
    private func delete(
        _ partition: String,
        before cutoff: UnixSeconds,
        _ batch: Int,
        _ connection: Connection
    ) throws(DatabaseError) -> Int {
        // Row addresses are unique within one partition alone.
        let partition = qualified(partition)
        var total = 0
        while true {
            let deleted = try connection.execute(
                """
                DELETE FROM \(partition) WHERE ctid = ANY (ARRAY(
                    SELECT ctid FROM \(partition)
                    WHERE \(Connection.quoted(receivedColumn)) < $1 LIMIT $2))
                """,
                [.timestamp(cutoff), .int(batch)]
            )
            total += deleted
            if deleted < batch { return total }
        }
    }

    // MARK: - Names

    private func name(of day: ServiceDate) -> String { "\(table)_\(day)" }

    private func qualified(_ name: String) -> String {
        Connection.quoted(schema) + "." + Connection.quoted(name)
    }

    private static func day(of instant: UnixSeconds) -> ServiceDate {
        let (quotient, rest) = instant.quotientAndRemainder(dividingBy: secondsPerDay)
        return ServiceDate(daysSince1970: Int(clamping: rest < 0 ? quotient - 1 : quotient))
    }

    private static func start(of day: ServiceDate) -> UnixSeconds {
        Int64(day.daysSince1970) * secondsPerDay
    }

    private static func bound(_ day: ServiceDate) -> String {
        "'\(Timestamps.text(ofSeconds: start(of: day)))'::timestamptz"
    }

    /// FNV-1a of the table's full name: the lock's key, the same in every process.
    private var key: Int32 {
        var hash: UInt32 = 2_166_136_261
        for byte in "\(schema).\(table)".utf8 { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        return Int32(bitPattern: hash)
    }
}
