public import Database
public import Transit

/// The one offset of a fleet whose clock is shifted (`ALONGSIDE_CLOCK_START`).
///
/// The first process to start fixes it in `bus.clock`; every later one, and every restart, takes
/// that row, with the setting or without, so that time neither jumps back nor differs between
/// processes.
public enum FleetClock {
    /// The setting that shifts it; nil leaves the machine's time.
    public static let start = Setting.instant(
        "ALONGSIDE_CLOCK_START",
        "What the fleet's first process calls now, for replays, tests and demos."
    )

    /// Reads the fleet's offset, fixing it when there is none.
    ///
    /// - Parameters:
    ///   - start: The instant that the first process calls now, in POSIX seconds.
    ///   - now: The wall clock in POSIX seconds.
    ///   - connection: A connection that may read and write `bus.clock`.
    /// - Returns: What is added to the wall clock, in seconds.
    /// - Throws: ``DatabaseError`` when the row can neither be written nor read.
    public static func offsetSeconds(
        start: UnixSeconds,
        now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> Int64 {
        try connection.execute(
            """
            INSERT INTO bus.clock (offset_seconds)
            SELECT $1::bigint WHERE NOT EXISTS (SELECT FROM bus.clock)
            ON CONFLICT DO NOTHING
            """,
            [.int64(start - now)]
        )
        return try connection.query("SELECT offset_seconds FROM bus.clock").one().int64(0)
    }

    /// Reads the offset that the fleet has.
    ///
    /// - Parameter connection: A connection that may read `bus.clock`.
    /// - Returns: What is added to the wall clock, in seconds; nil while the clock is not shifted.
    /// - Throws: ``DatabaseError`` when it cannot be read.
    public static func fixedOffset(on connection: Connection) throws(DatabaseError) -> Int64? {
        let exists = try connection.query("SELECT to_regclass('bus.clock') IS NOT NULL").one()
        guard try exists.bool(0) else { return nil }
        return try connection.query("SELECT offset_seconds FROM bus.clock").first?.int64(0)
    }

    /// The clock of the fleet behind a database, for whoever works beside its processes.
    ///
    /// - Throws: ``DatabaseError`` when it cannot be read.
    public static func clock(
        in database: Database
    ) async throws(DatabaseError) -> ApplicationClock {
        let offset = try await database.withConnection { connection throws(DatabaseError) in
            try fixedOffset(on: connection)
        }
        return .live(offsetSeconds: offset ?? 0)
    }
}
