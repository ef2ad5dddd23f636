internal import Database
internal import Transit

/// Forgets a driver: after it no row names the account (architecture, section 8).
///
/// What is about the person goes: name, assignments and shifts. Where a vehicle was is the
/// operator's record of the vehicle; it stays and no longer says who drove.
enum DriverErasure {
    /// How long an erased driver is kept in mind, in seconds from when the erasure was asked for: as
    /// long as a token of staff can be set to live.
    static let markSeconds: Int64 = 24 * 3600
    /// Seconds of a driver's points in one transaction: some 4,000 of a shift.
    static let spanSeconds: Int64 = 6 * 3600

    /// Takes the driver out of everything but the points.
    ///
    /// Behind the lock on the driver's row: whoever was writing for the driver has committed then,
    /// or will find the mark.
    ///
    /// - Parameters:
    ///   - driverID: Whom to forget.
    ///   - until: When the last token has expired by itself; until then nothing is written again.
    ///   - connection: In a transaction.
    /// - Throws: ``DatabaseError`` when a statement fails.
    static func begin(
        _ driverID: UniqueID,
        until: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) {
        try connection.execute(
            """
            INSERT INTO feed.erased_drivers AS e (digest, until)
            VALUES (\(DriverStore.digest("$1")), $2)
            ON CONFLICT (digest) DO UPDATE SET until = GREATEST(e.until, excluded.until)
            """,
            [.uuid(driverID), .timestamp(until)]
        )
        for sql in [
            "INSERT INTO feed.drivers (id) VALUES ($1) ON CONFLICT (id) DO UPDATE SET name = NULL",
            "DELETE FROM feed.assignments WHERE user_id = $1",
            "DELETE FROM feed.driver_trips WHERE user_id = $1",
        ] {
            try connection.execute(sql, [.uuid(driverID)])
        }
        let live = try connection.execute(
            """
            UPDATE feed.live_vehicles SET driver_id = NULL, revision = revision + 1,
                transaction = pg_current_xact_id()
            WHERE driver_id = $1
            """,
            [.uuid(driverID)]
        )
        if live > 0 {
            try connection.query("SELECT pg_notify($1, '')", [.text(Tracker.channel)])
        }
        try connection.execute("DELETE FROM feed.drivers WHERE id = $1", [.uuid(driverID)])
    }

    /// Takes the driver out of the oldest points.
    ///
    /// - Parameters:
    ///   - driverID: Whom to forget, after ``begin(_:until:on:)`` has committed.
    ///   - connection: In a transaction.
    /// - Returns: Whether no point names the driver any more.
    /// - Throws: ``DatabaseError`` when a statement fails.
    static func anonymise(
        pointsOf driverID: UniqueID,
        on connection: Connection
    ) throws(DatabaseError) -> Bool {
        let first = try connection.query(
            "SELECT min(timestamp) FROM feed.location_points WHERE driver_id = $1",
            [.uuid(driverID)]
        ).one().optionalTimestamp(0)
        guard let first else { return true }
        // A span of time, so that the partitions outside it are not even looked at.
        try connection.execute(
            """
            UPDATE feed.location_points SET driver_id = NULL
            WHERE driver_id = $1 AND timestamp >= $2 AND timestamp < $3
            """,
            [.uuid(driverID), .timestamp(first), .timestamp(first + spanSeconds)]
        )
        return false
    }

    /// Forgets the marks whose tokens have all expired.
    static func forgetMarks(
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) {
        try connection.execute(
            "DELETE FROM feed.erased_drivers WHERE until <= $1",
            [.timestamp(now)]
        )
    }
}
