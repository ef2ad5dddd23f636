internal import Database
internal import Transit

/// The day partitions of `ride_points`: one for each UTC day of the points' own time, and a default one
/// for whatever has none.
enum PointPartitions {
    static let secondsPerDay: Int64 = 86_400
    /// A point may be this much older than its arrival (spec 1.13), so a day takes points for that long
    /// after its end.
    static let arrivalSeconds: Int64 = 600
    /// Rows that one statement deletes: short enough that writers do not notice.
    static let deleteBatch = 10_000
    /// How long a change of the tables may wait for readers and writers, who then wait behind it; the
    /// next round tries again.
    static let lockMilliseconds = 2000

    private static let parent = "verifier.ride_points"
    private static let defaultPartition = "verifier.ride_points_default"
    private static let prefix = "ride_points_"

    /// A day's partition, named after the day: `ride_points_20260216`.
    struct Day: Hashable, Comparable {
        let date: ServiceDate

        init(of time: UnixSeconds) {
            let quotient = time / secondsPerDay
            let day = time % secondsPerDay < 0 ? quotient - 1 : quotient
            date = ServiceDate(daysSince1970: Int(day))
        }

        init(_ date: ServiceDate) { self.date = date }

        /// Reads a partition's name; nil for a table that is none of ours.
        init?(table: String) {
            guard table.hasPrefix(prefix),
                let date = ServiceDate(String(table.dropFirst(prefix.count)))
            else { return nil }
            self.date = date
        }

        var table: String { "verifier.\(prefix)\(date)" }
        var start: UnixSeconds { UnixSeconds(date.daysSince1970) * secondsPerDay }
        var end: UnixSeconds { start + secondsPerDay }

        func adding(days: Int) -> Day { Day(date.adding(days: days)) }

        static func < (left: Day, right: Day) -> Bool { left.date < right.date }
    }

    /// The partitions that there are, in order.
    static func days(on connection: Connection) throws(DatabaseError) -> [Day] {
        let rows = try connection.query(
            """
            SELECT c.relname::text AS name FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
            WHERE i.inhparent = 'verifier.ride_points'::regclass
            """
        )
        var days: [Day] = []
        for row in rows {
            if let day = Day(table: try row.text("name")) { days.append(day) }
        }
        return days.sorted()
    }

    /// Makes a day's partition, and moves into it what the default one holds of that day.
    ///
    /// Writers wait for it: one that had chosen the default partition meanwhile would be refused.
    static func make(_ day: Day, on connection: Connection) throws(DatabaseError) {
        let range =
            "timestamp >= to_timestamp(\(day.start)) AND timestamp < to_timestamp(\(day.end))"
        try change(on: connection) { () throws(DatabaseError) in
            try connection.script(
                """
                LOCK TABLE ONLY \(parent) IN SHARE ROW EXCLUSIVE MODE;
                CREATE TABLE \(day.table) (LIKE \(parent) INCLUDING ALL);
                WITH moved AS (DELETE FROM \(defaultPartition) WHERE \(range) RETURNING *)
                INSERT INTO \(day.table) SELECT * FROM moved;
                ALTER TABLE \(parent) ATTACH PARTITION \(day.table)
                    FOR VALUES FROM (to_timestamp(\(day.start))) TO (to_timestamp(\(day.end)));
                """
            )
        }
    }

    /// Drops a day's partition with its rows.
    static func drop(_ day: Day, on connection: Connection) throws(DatabaseError) {
        try change(on: connection) { () throws(DatabaseError) in
            try connection.script("DROP TABLE IF EXISTS \(day.table)")
        }
    }

    /// Deletes what arrived before a time, wherever it lies.
    ///
    /// - Returns: How many rows.
    static func delete(
        receivedBefore time: UnixSeconds,
        in days: [Day],
        on connection: Connection
    ) throws(DatabaseError) -> Int {
        var deleted = 0
        // Row addresses are unique within one partition only.
        for table in days.map(\.table) + [defaultPartition] {
            var count = deleteBatch
            while count == deleteBatch {
                count = try connection.execute(
                    """
                    DELETE FROM \(table) WHERE ctid = ANY (ARRAY(
                        SELECT ctid FROM \(table) WHERE received_at < $1 LIMIT $2))
                    """,
                    [.timestamp(time), .int(deleteBatch)]
                )
                deleted += count
            }
        }
        return deleted
    }

    private static func change(
        on connection: Connection,
        _ body: () throws(DatabaseError) -> Void
    ) throws(DatabaseError) {
        try connection.transaction { () throws(DatabaseError) in
            try connection.script("SET LOCAL lock_timeout = \(lockMilliseconds)")
            try body()
        }
    }
}
