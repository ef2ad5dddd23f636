internal import Database
internal import Telemetry
internal import Transit

extension AdvisoryLock.Class {
    /// Making and dropping partitions of `ride_points`; the key is 0.
    static let pointRetention = AdvisoryLock.Class(0x414C_0005)
}

/// Makes the partitions of the coming days, and drops points that are older than they may be.
///
/// Every verifier tries it each hour; one at a time does it. While no partition of a day is there its
/// points go to the default one, so nothing waits for this.
struct PointRetention: Sendable {
    /// How often it is done (spec 1.13).
    static let period = Duration.seconds(3600)
    /// After a failure it is tried again this soon.
    static let retryPeriod = Duration.seconds(60)
    /// Days made beyond today: a process that is down for a day still finds its partition.
    static let daysAhead = 2

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
            try await pool.withConnection { connection throws(DatabaseError) in
                let lock = AdvisoryLock(class: .pointRetention, key: 0)
                guard try lock.tryLock(on: connection) else { return }
                defer { _ = try? lock.unlock(on: connection) }
                try self.sweep(now: now, cutoff: cutoff, on: connection)
            }
            return true
        } catch {
            failed.add()
            logger.warning("retention of points failed", ["error": .text(error.description)])
            return false
        }
    }

    private func sweep(
        now: UnixSeconds,
        cutoff: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) {
        // Points of the last minutes of yesterday still arrive.
        let first = PointPartitions.Day(of: now - PointPartitions.arrivalSeconds)
        let last = PointPartitions.Day(of: now).adding(days: Self.daysAhead)
        var days = Set(try PointPartitions.days(on: connection))
        for date in sequence(first: first, next: { $0 < last ? $0.adding(days: 1) : nil })
        where !days.contains(date) {
            try PointPartitions.make(date, on: connection)
            days.insert(date)
        }
        // All of such a day arrived before the cutoff.
        let old = days.filter { $0.end + PointPartitions.arrivalSeconds <= cutoff }.sorted()
        for day in old {
            try PointPartitions.drop(day, on: connection)
            dropped.add()
            days.remove(day)
        }
        let count = try PointPartitions.delete(
            receivedBefore: cutoff,
            in: days.filter { $0.start <= cutoff }.sorted(),
            on: connection
        )
        deleted.add(count)
        guard !old.isEmpty || count > 0 else { return }
        logger.info(
            "old points removed",
            ["partitions.count": .integer(old.count), "points.count": .integer(count)]
        )
    }
}
