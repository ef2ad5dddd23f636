internal import CMicrohttpd
internal import Synchronization
internal import Telemetry

/// The open connections and the suspended requests of a server, for the keeper's eyes.
///
/// Lock order: this lock, then the library's own. The lock is never held when the library is asked
/// to resume.
final class ConnectionRegistry: Sendable {
    private struct Suspended: @unchecked Sendable {
        // Valid while the connection is suspended: the library frees none that is.
        let connection: OpaquePointer
        let exchange: Exchange
    }

    private struct State {
        var connections: [ObjectIdentifier: ConnectionState] = [:]
        var suspended: [ObjectIdentifier: Suspended] = [:]
        var refusesSuspension = false
        var streams: [ObjectIdentifier: StreamSender] = [:]
        var refusesStreams = false
    }

    /// Wakes the keeper; signalled when there is a connection where there was none.
    let firstCame = WakeEvent()
    private let state = Mutex(State())
    private let inFlight = Atomic<Int>(0)
    private let draining = Atomic<Bool>(false)
    private let maximumWaiting: Int
    private let metrics: ServerMetrics

    init(maximumWaiting: Int, metrics: ServerMetrics) {
        self.maximumWaiting = maximumWaiting
        self.metrics = metrics
    }

    /// True once the server takes no more connections; answers then close theirs.
    var isDraining: Bool { draining.load(ordering: .relaxed) }

    /// The requests whose line has been read and whose answer is not yet sent.
    var requestsInFlight: Int { inFlight.load(ordering: .relaxed) }

    /// The suspended requests.
    var waitingCount: Int { state.withLock { $0.suspended.count } }

    /// The open connections.
    var connectionCount: Int { state.withLock { $0.connections.count } }

    /// Answers from now on close their connections, and those without an end of their own end.
    func beginDraining() {
        draining.store(true, ordering: .relaxed)
        let streams = state.withLock { state in
            state.refusesStreams = true
            return Array(state.streams.values)
        }
        for stream in streams { stream.finish() }
    }

    /// Remembers a streamed answer.
    ///
    /// - Returns: False once the server takes no more.
    func add(_ stream: StreamSender) -> Bool {
        state.withLock { state in
            guard !state.refusesStreams else { return false }
            state.streams[ObjectIdentifier(stream)] = stream
            metrics.openStreams.set(Double(state.streams.count))
            return true
        }
    }

    /// Forgets a streamed answer that is over.
    func remove(_ stream: StreamSender) {
        state.withLock { state in
            state.streams[ObjectIdentifier(stream)] = nil
            metrics.openStreams.set(Double(state.streams.count))
        }
    }

    func add(_ connection: ConnectionState) {
        let isFirst = state.withLock { state in
            let isFirst = state.connections.isEmpty
            state.connections[ObjectIdentifier(connection)] = connection
            metrics.openConnections.set(Double(state.connections.count))
            return isFirst
        }
        if isFirst { firstCame.signal() }
    }

    /// Forgets a connection before the library closes its socket, so that the keeper never cuts
    /// another one that got the same number.
    func remove(_ connection: ConnectionState) {
        state.withLock { state in
            state.connections[ObjectIdentifier(connection)] = nil
            metrics.openConnections.set(Double(state.connections.count))
        }
    }

    func began() { inFlight.wrappingAdd(1, ordering: .relaxed) }

    func ended() { inFlight.wrappingSubtract(1, ordering: .relaxed) }

    /// Suspends a connection until ``complete(_:_:)``.
    ///
    /// - Returns: Why it cannot wait, or nil.
    func suspend(_ exchange: Exchange, _ connection: OpaquePointer) -> HTTPError? {
        let entry = Suspended(connection: connection, exchange: exchange)
        return state.withLock { state in
            if state.refusesSuspension { return .stopping }
            guard state.suspended.count < maximumWaiting else { return .busy }
            MHD_suspend_connection(entry.connection)
            state.suspended[ObjectIdentifier(exchange)] = entry
            metrics.waitingRequests.set(Double(state.suspended.count))
            return nil
        }
    }

    /// Records the answer of a suspended request and resumes its connection, unless it has one.
    func complete(_ exchange: Exchange, _ response: HTTPResponse) {
        guard exchange.complete(response) else { return }
        let entry = state.withLock { state in
            let entry = state.suspended.removeValue(forKey: ObjectIdentifier(exchange))
            metrics.waitingRequests.set(Double(state.suspended.count))
            return entry
        }
        if let entry { MHD_resume_connection(entry.connection) }
    }

    /// Answers all that wait past their deadline, and cuts connections that take too long.
    func sweep(at now: UInt64) {
        let (late, cut) = state.withLock { state in
            var cut = 0
            for connection in state.connections.values where connection.isOverdue(at: now) {
                // The loop sees the end of the stream and closes.
                _ = shutdown(connection.descriptor, Int32(SHUT_RDWR))
                connection.keep()
                cut += 1
            }
            let late = state.suspended.values.map(\.exchange).filter { $0.deadline <= now }
            return (late, cut)
        }
        if cut > 0 { metrics.cutConnections.add(cut) }
        for exchange in late {
            complete(exchange, .error(.deadlineExceeded))
            exchange.cancelHandler()
        }
    }

    /// Answers everything that waits and lets nothing wait again.
    func resumeAll() {
        let rest = state.withLock { state in
            state.refusesSuspension = true
            return state.suspended.values.map(\.exchange)
        }
        for exchange in rest {
            complete(exchange, .error(.stopping))
            exchange.cancelHandler()
        }
    }
}
