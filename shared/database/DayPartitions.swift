internal import Telemetry
public import Transit

/// A table that is partitioned by the day of a point in time, with a default partition.
///
/// The table is `PARTITION BY RANGE` of one `timestamptz` column, its default partition is named
/// `<table>_default`. A day's partition is named `<table>_YYYYMMDD` and begins at 00:00 UTC.
/// Partitions are made ahead, so that rows do not gather in the default one; rows that did are
/// moved. Several processes may do this at once: an advisory lock lets one work.
public struct DayPartitions: Sendable {
    /// How long a partition's making or dropping waits for readers before it is left to the next
    /// round: everyone else queues behind it meanwhile.
    static let lockTimeoutMilliseconds = 2000
    private static let secondsPerDay: Int64 = 86_400

    private let schema: String
    private let table: String
    private let column: String

    /// Names a table.
    ///
    /// - Parameters:
    ///   - schema: Its schema.
    ///   - table: Its name.
    ///   - column: The column of the partition key.
    public init(schema: String, table: String, column: String = "timestamp") {
        self.schema = schema
        self.table = table
        self.column = column
    }

    /// What one round did.
    public struct Change: Sendable, Equatable {
        /// Partitions that were made, the earliest first.
        public var made: [String] = []
        /// Partitions that were dropped, the earliest first.
        public var dropped: [String] = []
        /// Rows that were deleted from the default partition.
        public var deletedRows = 0

        /// Nothing.
        public init() {}

        /// Whether nothing was done.
        public var isEmpty: Bool { self == Change() }
    }

    /// Makes what is missing and drops what is too old.
    ///
    /// A partition is dropped when the whole of its day lies before `cutoff`, so rows live up to a
    /// day longer than the retention says; from the default partition rows are deleted one by one.
    ///
    /// - Parameters:
    ///   - now: The application clock.
    ///   - past: Days before today that late rows may still belong to.
    ///   - ahead: Days after today.
    ///   - cutoff: What lies before it goes; nil keeps everything.
    ///   - batch: Rows deleted by one statement.
    ///   - connection: A session of the table's owner, not in a transaction.
    /// - Returns: What was done; nothing while another process is at it.
    /// - Throws: ``DatabaseError``; each partition is a transaction of its own, so what was done
    ///   before stays. SQLSTATE 55P03 means that readers were in the way.
    public func maintain(
        at now: UnixSeconds,
        past: Int = 1,
        ahead: Int = 2,
        keepingFrom cutoff: UnixSeconds? = nil,
        batch: Int = 10_000,
        on connection: Connection
    ) throws(DatabaseError) -> Change {
        precondition(past >= 0 && ahead >= 0 && batch > 0, "a round looks at today at least")
        let lock = AdvisoryLock(class: .partitions, key: key)
        guard try lock.tryLock(on: connection) else { return Change() }
        let result = Result { () throws(DatabaseError) in
            try maintainLocked(now, past, ahead, cutoff, batch, connection)
        }
        try lock.unlock(on: connection)
        return try result.get()
    }

    private func maintainLocked(
        _ now: UnixSeconds,
        _ past: Int,
        _ ahead: Int,
        _ cutoff: UnixSeconds?,
        _ batch: Int,
        _ connection: Connection
    ) throws(DatabaseError) -> Change {
        var change = Change()
        let existing = try days(on: connection)
        let today = Self.day(of: now)
        let firstKept = cutoff.map(Self.day)
        for day in today.adding(days: -past).daysSince1970...today.adding(days: ahead).daysSince1970
        {
            let date = ServiceDate(daysSince1970: day)
            guard !existing.contains(date), firstKept.map({ date >= $0 }) ?? true else { continue }
            try make(date, on: connection)
            change.made.append(name(of: date))
        }
        guard let cutoff, let firstKept else { return change }
        for date in existing.sorted() where date < firstKept {
            try drop(date, on: connection)
            change.dropped.append(name(of: date))
        }
        change.deletedRows = try deleteFromDefault(before: cutoff, batch, connection)
        return change
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

    /// Makes a partition beside the table, moves the day's rows into it and attaches it: readers
    /// and writers wait for the last step alone.
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
    private func deleteFromDefault(
        before cutoff: UnixSeconds,
        _ batch: Int,
        _ connection: Connection
    ) throws(DatabaseError) -> Int {
        let fallback = qualified("\(table)_default")
        var total = 0
        while true {
            let deleted = try connection.execute(
                """
                DELETE FROM \(fallback) WHERE ctid = ANY (ARRAY(
                    SELECT ctid FROM \(fallback) WHERE \(Connection.quoted(column)) < $1 LIMIT $2))
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

    private static func bound(_ day: ServiceDate) -> String {
        "'\(Timestamps.text(ofSeconds: Int64(day.daysSince1970) * secondsPerDay))'::timestamptz"
    }

    /// FNV-1a of the table's full name: the lock's key, the same in every process.
    private var key: Int32 {
        var hash: UInt32 = 2_166_136_261
        for byte in "\(schema).\(table)".utf8 { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        return Int32(bitPattern: hash)
    }
}
