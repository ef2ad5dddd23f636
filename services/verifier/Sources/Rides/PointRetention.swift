internal import Database
internal import Telemetry
internal import Transit

/// Makes the partitions of the coming days, and drops points that are older than they may be.
///
/// Every verifier tries it each hour; one at a time does it. While no partition of a day is there its
/// points go to the default one, so nothing waits for this.
struct PointRetention: Sendable {
    /// How often it is done (spec 1.13).
    static let period = Duration.seconds(3600)
    /// After a failure it is tried again this soon.
    static let retryPeriod = Duration.seconds(60)
    /// One partition for each UTC day of the points' own time.
    ///
    /// A point may be ten minutes older than its arrival (spec 1.13).
    static let partitions = DayPartitions(
        schema: "verifier",
        table: "ride_points",
        lateness: 600
    )

    private let pool: Database
    private let retentionSeconds: Int64
    private let now: @Sendable () -> UnixSeconds
    private let logger: Logger
    private let dropped: Counter
    private let deleted: Counter
    private let failed: Counter

    /// Makes the sweeper.
    ///
    /// - Parameters:
    ///   - pool: Connections in the verifier's role, which owns the tables.
    ///   - retentionSeconds: How long a point is kept after it arrived (`RIDER_POINT_RETENTION`).
    ///   - now: The application clock.
    ///   - logger: Hears what was dropped, and failures.
    ///   - metrics: Counts both.
    init(
        pool: Database,
        retentionSeconds: Int64,
        now: @escaping @Sendable () -> UnixSeconds,
        logger: Logger,
        metrics: Metrics
    ) {
        self.pool = pool
        self.retentionSeconds = retentionSeconds
        self.now = now
        self.logger = logger
        dropped = metrics.counter(
            "ride_point_partitions_dropped_total",
            help: "Day partitions of points that became too old."
        )
        deleted = metrics.counter(
            "ride_points_deleted_total",
            help: "Points deleted one by one because their partition is still needed."
        )
        failed = metrics.counter(
            "ride_point_sweeps_failed_total",
            help: "Rounds of retention that did not come to their end."
        )
    }

    /// Sweeps now and each hour until it is cancelled.
    func run() async {
        while !Task.isCancelled {
            let isDone = await sweep()
            try? await Task.sleep(for: isDone ? Self.period : Self.retryPeriod)
        }
    }

    /// One round.
    ///
    /// - Returns: false when it failed; what it had done stays done.
    @discardableResult
    func sweep() async -> Bool {
        let now = now()
        let cutoff = now - retentionSeconds
        do throws(DatabaseError) {
            let change = try await pool.withConnection { connection throws(DatabaseError) in
                try Self.partitions.maintain(at: now, keepingFrom: cutoff, on: connection)
            }
            note(change)
            return true
        } catch {
            failed.add()
            logger.warning("retention of points failed", ["error": .text(error.description)])
            return false
        }
    }

    private func note(_ change: DayPartitions.Change) {
        dropped.add(change.dropped.count)
        deleted.add(change.deletedRows)
        guard !change.dropped.isEmpty || change.deletedRows > 0 else { return }
        logger.info(
            "old points removed",
            [
                "partitions.count": .integer(change.dropped.count),
                "points.count": .integer(change.deletedRows),
            ]
        )
    }
}
