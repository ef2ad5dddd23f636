internal import Glibc
internal import Synchronization
internal import Telemetry

/// A thread that owns one connection: it connects, runs jobs, hears notifications, reconnects.
final class ConnectionThread: Sendable {
    struct Hooks: Sendable {
        /// Prepares each new session; an error gives the connection up again.
        var connected: @Sendable (Connection) throws(DatabaseError) -> Void = { _ in }
        /// Hears that a session ended, with its generation.
        var lost: @Sendable (Int, DatabaseError) -> Void = { _, _ in }
        /// Hears notifications in order.
        var notified: @Sendable (Notification) -> Void = { _ in }
    }

    private struct State {
        var socket: Int32 = -1
        var generation = 0
        var isConnected = false
        var lastError = DatabaseError(.connection, "not connected yet")
        var isFinished = false
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    /// The pause after the first failed attempt; it doubles up to ``longestPause``.
    private static let firstPause: UInt64 = 50_000_000
    /// No longer than this after the server is back is it found again.
    private static let longestPause: UInt64 = 1_000_000_000
    /// A job that finds no connection may ask for an attempt before the pause is over, but not
    /// sooner than this after the last one: a dead server is not hammered by callers.
    private static let shortestPause: UInt64 = 50_000_000

    private let configuration: DatabaseConfiguration
    private let queue: JobQueue
    private let hooks: Hooks
    private let logger: Logger
    private let lost: Counter
    private let state = Mutex(State())

    init(
        _ configuration: DatabaseConfiguration,
        name: String,
        queue: JobQueue,
        hooks: Hooks,
        logger: Logger,
        lost: Counter
    ) {
        self.configuration = configuration
        self.queue = queue
        self.hooks = hooks
        self.logger = logger.with(["connection.name": .text(name)])
        self.lost = lost
        startThread(name) { self.main() }
    }

    var generation: Int { state.withLock { $0.generation } }

    var isConnected: Bool { state.withLock { $0.isConnected } }

    /// Returns when the thread has ended; the queue must have been closed.
    ///
    /// - Parameter grace: How long running work may go on before its connection is cut.
    func finish(within grace: Duration) async {
        let cut = Task {
            try await Task.sleep(for: grace)
            self.cut()
        }
        await withCheckedContinuation { continuation in
            let isFinished = state.withLock { state in
                if !state.isFinished { state.waiters.append(continuation) }
                return state.isFinished
            }
            if isFinished { continuation.resume() }
        }
        cut.cancel()
    }

    /// Ends a connection whose thread may be waiting on it; the wait then fails.
    private func cut() {
        // Under the lock, so that the number cannot have become another descriptor meanwhile.
        state.withLock { state in
            if state.socket >= 0 { _ = shutdown(state.socket, Int32(SHUT_RDWR)) }
        }
    }

    // MARK: - The thread

    private func main() {
        var connection: Connection?
        var pause = Self.firstPause
        var lastAttempt: UInt64 = 0
        var nextAttempt: UInt64 = 0

        func attempt() {
            lastAttempt = Timestamps.monotonicNanoseconds()
            connection = self.attempt()
            if connection == nil {
                // Up to a quarter more, so that processes do not come back all at once.
                nextAttempt =
                    Timestamps.monotonicNanoseconds() + pause + .random(in: 0...pause / 4)
                pause = min(pause * 2, Self.longestPause)
            } else {
                pause = Self.firstPause
            }
        }

        while !queue.isClosed {
            if connection == nil, Timestamps.monotonicNanoseconds() >= nextAttempt { attempt() }
            wait(connection?.socket, until: connection == nil ? nextAttempt : nil)
            if let current = connection, !settle(current) {
                connection = nil
                nextAttempt = 0
                continue
            }
            guard let job = queue.pop() else { continue }
            if connection == nil,
                Timestamps.monotonicNanoseconds() >= lastAttempt + Self.shortestPause
            {
                attempt()
            }
            guard let current = connection else {
                job.refuse(state.withLock { $0.lastError })
                continue
            }
            job.run(current)
            if !settle(current) {
                connection = nil
                nextAttempt = 0
            }
        }
        if let connection { end(connection) }
        let waiters = state.withLock { state in
            state.isFinished = true
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter.resume() }
    }

    private func attempt() -> Connection? {
        do throws(DatabaseError) {
            let connection = try Connection(configuration, generation: generation + 1)
            try hooks.connected(connection)
            let isFirst = state.withLock { state in
                state.generation = connection.generation
                state.socket = connection.socket
                state.isConnected = true
                return state.generation == 1
            }
            if !isFirst { logger.info("connected to the database again") }
            return connection
        } catch {
            let isNew = state.withLock { state in
                defer { state.lastError = unreachable(error) }
                return state.lastError != unreachable(error)
            }
            if isNew {
                logger.warning(
                    "no connection to the database",
                    ["error.message": .text(error.description)]
                )
            }
            return nil
        }
    }

    /// Whatever kept the session from being made, the caller's work was not begun.
    private func unreachable(_ error: DatabaseError) -> DatabaseError {
        DatabaseError(.connection, error.message, sqlState: error.sqlState)
    }

    /// Hands out notifications and leaves the connection fit for the next job.
    ///
    /// - Returns: false when the connection has ended.
    private func settle(_ connection: Connection) -> Bool {
        let isAlive = connection.absorb()
        while let notification = connection.nextNotification() { hooks.notified(notification) }
        guard isAlive else {
            end(connection)
            let error = DatabaseError(.connection, "the connection ended")
            state.withLock { $0.lastError = error }
            lost.add()
            logger.warning("the connection to the database ended")
            hooks.lost(connection.generation, error)
            return false
        }
        if connection.isInTransaction {
            logger.error("a job left its transaction open; it is rolled back")
            try? connection.script("ROLLBACK")
        }
        return true
    }

    private func end(_ connection: Connection) {
        state.withLock { state in
            state.socket = -1
            state.isConnected = false
            connection.close()
        }
    }

    private func wait(_ socket: Int32?, until deadline: UInt64?) {
        var descriptors = [pollfd(fd: queue.event, events: Int16(POLLIN), revents: 0)]
        if let socket { descriptors.append(pollfd(fd: socket, events: Int16(POLLIN), revents: 0)) }
        var timeout: Int32 = -1
        if let deadline {
            let now = Timestamps.monotonicNanoseconds()
            timeout = deadline > now ? Int32(clamping: (deadline - now) / 1_000_000 + 1) : 0
        }
        _ = poll(&descriptors, nfds_t(descriptors.count), timeout)
    }
}
