internal import Database
internal import Synchronization
internal import Telemetry

/// Commits drivers' reports, all that wait in one transaction, and tells the tracker.
///
/// A report is admitted by the allowance in its driver's row, becomes a point of the history, and
/// the vehicle's newest becomes its live row. Drivers hear of it after the commit.
final class ReportWriter: Sendable {
    /// Works in one transaction; 100 batches of 500 points take about a second.
    static let batchLimit = 100
    /// Works that may wait; beyond, drivers are told to come again.
    static let queueLimit = 2000

    private let writer: CoalescingWriter<ReportWork, ReportWork.Stored>

    /// Makes a writer.
    ///
    /// - Parameters:
    ///   - connection: Where it commits; the caller closes it.
    ///   - tracker: Told of live rows that were committed here.
    ///   - metrics: Counts points by what became of them.
    init(over connection: DedicatedConnection, tracker: Tracker, metrics: Metrics) {
        let counts = ReportCounts(metrics)
        let pending = PendingOutcome()
        writer = CoalescingWriter(
            over: connection,
            name: "locations",
            batchLimit: Self.batchLimit,
            queueLimit: Self.queueLimit,
            metrics: metrics,
            commit: { connection, works throws(DatabaseError) in
                let outcome = try ReportCommit.run(works, on: connection)
                pending.set(outcome)
                return outcome.answers
            },
            settled: { _, result in
                guard let outcome = pending.take(), case .committed = result else { return }
                tracker.apply(outcome.live)
                counts.add(outcome)
            }
        )
    }

    /// Stores reports with whatever else waits.
    ///
    /// - Returns: How many were new, after the commit.
    /// - Throws: ``HTTPError`` 429 when the driver sends too often, ``DatabaseError`` when nothing is
    ///   known to be stored.
    func write(_ work: ReportWork) async throws -> ReportWork.Stored {
        try await writer.write(work)
    }
}

/// What a transaction prepared, from its statements to the answer of COMMIT; both on one thread.
private final class PendingOutcome: Sendable {
    private let outcome = Mutex<ReportCommit.Outcome?>(nil)

    func set(_ new: ReportCommit.Outcome) { outcome.withLock { $0 = new } }

    func take() -> ReportCommit.Outcome? {
        outcome.withLock { outcome in
            defer { outcome = nil }
            return outcome
        }
    }
}

/// What became of drivers' points.
private struct ReportCounts: Sendable {
    private let accepted: Counter
    private let ignored: Counter
    private let skewed: Counter
    private let limited: Counter

    init(_ metrics: Metrics) {
        func points(_ outcome: String) -> Counter {
            metrics.counter(
                "driver_points_total",
                help: "Points that drivers reported, by what became of them.",
                labels: ["outcome": outcome]
            )
        }
        accepted = points("accepted")
        ignored = points("ignored")
        skewed = metrics.counter(
            "driver_reports_skewed_total",
            help: "Reports whose time was more than a minute off."
        )
        limited = metrics.counter(
            "driver_reports_limited_total",
            help: "Reports and batches that came too soon after the last."
        )
    }

    func add(_ outcome: ReportCommit.Outcome) {
        for answer in outcome.answers {
            switch answer {
            case .success(let stored):
                accepted.add(stored.accepted)
                ignored.add(stored.ignored)
            case .failure: limited.add()
            }
        }
        skewed.add(outcome.skewed)
    }
}
