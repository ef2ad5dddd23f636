public import Telemetry

/// One connection with a thread of its own, for work that needs the session itself.
///
/// Session-level advisory locks live on it, and a ``CoalescingWriter`` may commit on it. It
/// connects at once and again after each loss. ``Connection/generation`` tells the sessions apart:
/// when it rises, or when the loss is reported, every advisory lock of the earlier session is gone.
public final class DedicatedConnection: Sendable {
    let queue: JobQueue
    private let configuration: DatabaseConfiguration
    private let thread: ConnectionThread
    private let refused: Counter

    /// Starts the thread, which connects in the background.
    ///
    /// Both closures run on the connection's thread, in order with its jobs.
    ///
    /// - Parameters:
    ///   - configuration: Where the database is; `connections` is not used.
    ///   - name: What logs, the thread's name and the metrics' `pool` label call it.
    ///   - logger: Hears of lost and new connections.
    ///   - metrics: Counts lost connections, refused jobs and those that wait.
    ///   - connected: Prepares each new session; when it throws, the session is given up again.
    ///   - notified: Hears notifications, once `connected` has said LISTEN.
    ///   - lost: Hears the generation of a session that ended unasked: its locks are gone.
    public init(
        _ configuration: DatabaseConfiguration,
        name: String,
        logger: Logger = .silent,
        metrics: Metrics = Metrics(),
        connected: @escaping @Sendable (Connection) throws(DatabaseError) -> Void = { _ in },
        notified: @escaping @Sendable (Notification) -> Void = { _ in },
        lost: @escaping @Sendable (_ generation: Int, _ reason: DatabaseError) -> Void = { _, _ in }
    ) {
        self.configuration = configuration
        let queue = JobQueue(limit: configuration.queueLimit)
        self.queue = queue
        let counts = QueueMetrics(name, queue, metrics)
        refused = counts.refused
        thread = ConnectionThread(
            configuration,
            name: "db-\(name)",
            queue: queue,
            hooks: ConnectionThread.Hooks(connected: connected, lost: lost, notified: notified),
            logger: logger,
            lost: counts.lost
        )
    }

    deinit { queue.close() }

    /// Whether a session stands, as far as is known; it may end any moment.
    public var isConnected: Bool { thread.isConnected }

    /// The number of the newest session, 0 before the first.
    public var generation: Int { thread.generation }

    /// Runs `body` on the connection's thread, after all that waits already.
    ///
    /// - Parameter body: The work; it may block, and must not keep the connection.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; kind `connection`, `full` or `closed` when it was not begun.
    @discardableResult
    public func run<Value: Sendable>(
        _ body: @escaping @Sendable (Connection) throws(DatabaseError) -> Value
    ) async throws(DatabaseError) -> Value {
        try await queue.run(refused, body)
    }

    /// Refuses what waits, lets running work end, and returns when the thread has ended.
    ///
    /// Work that runs longer than ``DatabaseConfiguration/closeTimeout`` has its connection cut.
    /// `lost` is not called.
    public func close() async {
        queue.close()
        await thread.finish(within: configuration.closeTimeout)
    }
}

/// The numbers that every queue with threads behind it shows.
struct QueueMetrics {
    let lost: Counter
    let refused: Counter

    init(_ name: String, _ queue: JobQueue, _ metrics: Metrics) {
        lost = metrics.counter(
            "database_connections_lost_total",
            help: "Connections to the database that ended unasked.",
            labels: ["pool": name]
        )
        refused = metrics.counter(
            "database_jobs_refused_total",
            help: "Jobs that found the queue full, the pool closed or the server away.",
            labels: ["pool": name]
        )
        metrics.gauge(
            "database_jobs_waiting_items",
            help: "Jobs that wait for a connection.",
            labels: ["pool": name]
        ) { [weak queue] in Double(queue?.count ?? 0) }
    }
}
