public import Telemetry

/// A pool of connections, each with a thread of its own.
///
/// Jobs wait in one bounded queue and run in their order on whichever connection is free. With the
/// server away a job fails at once with ``DatabaseError/Kind/connection``; the pool finds the
/// server again by itself.
public final class Database: Sendable {
    private let configuration: DatabaseConfiguration
    private let queue: JobQueue
    private let threads: [ConnectionThread]
    private let refused: Counter

    /// Starts the threads, which connect in the background.
    ///
    /// - Parameters:
    ///   - configuration: Where the database is and how it is used.
    ///   - name: What logs, thread names and the metrics' `pool` label call it.
    ///   - logger: Hears of lost and new connections.
    ///   - metrics: Counts lost connections, refused jobs and those that wait.
    public init(
        _ configuration: DatabaseConfiguration,
        name: String = "pool",
        logger: Logger = .silent,
        metrics: Metrics = Metrics()
    ) {
        precondition(configuration.connections > 0, "a pool has at least one connection")
        self.configuration = configuration
        let queue = JobQueue(limit: configuration.queueLimit)
        self.queue = queue
        let counts = QueueMetrics(name, queue, metrics)
        refused = counts.refused
        threads = (0..<configuration.connections).map { number in
            ConnectionThread(
                configuration,
                name: "db-\(name)-\(number)",
                queue: queue,
                hooks: ConnectionThread.Hooks(),
                logger: logger,
                lost: counts.lost
            )
        }
    }

    deinit { queue.close() }

    /// Whether at least one connection stands, as far as is known; it may end any moment.
    public var isConnected: Bool { threads.contains { $0.isConnected } }

    /// Runs `body` with a connection on that connection's thread.
    ///
    /// - Parameter body: The work; it may block, and must not keep the connection.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; kind `connection`, `full` or `closed` when it was not begun.
    @discardableResult
    public func withConnection<Value: Sendable>(
        _ body: @escaping @Sendable (Connection) throws(DatabaseError) -> Value
    ) async throws(DatabaseError) -> Value {
        try await queue.run(refused, body)
    }

    /// Runs `body` in a transaction; see ``Connection/transaction(_:)``.
    ///
    /// - Parameter body: The work; it may block, and must not keep the connection.
    /// - Returns: What `body` returns, after COMMIT.
    /// - Throws: What `body` throws, rolled back; kind `outcomeUnknown` when the connection ended
    ///   during COMMIT; kind `connection`, `full` or `closed` when nothing was stored.
    @discardableResult
    public func transaction<Value: Sendable>(
        _ body: @escaping @Sendable (Connection) throws(DatabaseError) -> Value
    ) async throws(DatabaseError) -> Value {
        try await withConnection { connection throws(DatabaseError) in
            try connection.transaction { () throws(DatabaseError) in try body(connection) }
        }
    }

    /// Refuses what waits, lets running work end, and returns when all threads have ended.
    ///
    /// Work that runs longer than ``DatabaseConfiguration/closeTimeout`` has its connection cut.
    public func close() async {
        queue.close()
        for thread in threads { await thread.finish(within: configuration.closeTimeout) }
    }
}

extension JobQueue {
    /// Runs `body` on one of the queue's threads and suspends the caller until then.
    func run<Value: Sendable>(
        _ refused: Counter,
        _ body: @escaping @Sendable (Connection) throws(DatabaseError) -> Value
    ) async throws(DatabaseError) -> Value {
        let result: Result<Value, DatabaseError> = await withCheckedContinuation { continuation in
            push(
                Job(
                    run: { connection in
                        do throws(DatabaseError) {
                            continuation.resume(returning: .success(try body(connection)))
                        } catch {
                            continuation.resume(returning: .failure(error))
                        }
                    },
                    refuse: { error in
                        refused.add()
                        continuation.resume(returning: .failure(error))
                    }
                )
            )
        }
        return try result.get()
    }
}
