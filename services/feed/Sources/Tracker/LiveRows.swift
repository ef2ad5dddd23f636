internal import Database
internal import Synchronization
internal import Transit

/// Reads the live rows that other replicas wrote into this one's tracker.
final class LiveRows: Sendable {
    private let database: Database
    private let tracker: Tracker
    private let now: @Sendable () -> UnixSeconds
    /// The oldest transaction that was running at the last look, as text.
    private let cursor = Mutex<String?>(nil)

    /// Makes a reader that has read nothing.
    init(database: Database, tracker: Tracker, now: @escaping @Sendable () -> UnixSeconds) {
        self.database = database
        self.tracker = tracker
        self.now = now
    }

    /// Reads once.
    ///
    /// - Parameter isWhole: Every row that is still fresh, or those that changed since the last look.
    /// - Throws: ``DatabaseError``; the tracker keeps what it has.
    func look(isWhole: Bool) async throws(DatabaseError) {
        let since = isWhole ? nil : cursor.withLock { $0 }
        let oldest = now() - tracker.staleness
        let (next, vehicles) = try await database.withConnection {
            connection throws(DatabaseError) in
            // Before the rows: what commits between the two is then read again, not missed.
            let next = try connection.query(
                "SELECT pg_snapshot_xmin(pg_current_snapshot())::text"
            ).one().text(0)
            let rows = try connection.query(
                """
                SELECT \(LiveVehicle.columns) FROM feed.live_vehicles
                WHERE reported_at >= $1 AND ($2::text IS NULL OR transaction >= $2::text::xid8)
                """,
                [.timestamp(oldest), SQLValue(since)]
            )
            return (next, try LiveVehicle.list(rows))
        }
        cursor.withLock { $0 = next }
        tracker.apply(vehicles)
    }
}
