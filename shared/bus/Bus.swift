internal import Synchronization
public import Telemetry

/// A request as its handler gets it.
public struct BusRequest: Sendable {
    /// What was asked.
    public let body: [UInt8]
    /// When the asker stops waiting; work after it is for nobody.
    public let deadline: ContinuousClock.Instant
    /// The id that follows the request through every process.
    public let trace: TraceID
    /// The instance that asked, for logs; not authenticated.
    public let sender: String
}

/// Answers requests: called on the bus thread, where it must not wait, it gives the answer once, from any thread.
public typealias BusHandler =
    @Sendable (BusRequest, _ answer: @escaping @Sendable ([UInt8]) -> Void) -> Void

/// A whole state as another instance published it.
public struct BusPublication: Sendable {
    /// Who published it.
    public let instance: String
    /// Tells the starts of that instance apart; another epoch is another start.
    public let epoch: UInt64
    /// The topic, such as `estimates`.
    public let topic: String
    /// The part of the topic this is the state of; empty when the topic has one state.
    public let key: String
    /// The publisher's numbering of the topic; a state sent again keeps its number.
    public let sequence: UInt64
    /// The id that follows the cause through every process.
    public let trace: TraceID
    /// The state.
    public let body: [UInt8]
}

/// Requests and whole states between the processes of a fleet, over ZeroMQ.
///
/// One thread owns every socket. ZeroMQ promises nothing about delivery, so a request has a
/// deadline, a bounded window and at most one repetition after a lost connection; handlers must
/// be idempotent. A state topic carries whole states: a subscriber that comes late or loses
/// messages hears the current state of every key.
public final class Bus: Sendable {
    private struct State {
        var handler: BusHandler?
        var record: InstanceRecord?
        var directoryTask: Task<Void, Never>?
        var isStarted = false
        var isStopped = false
    }

    private let configuration: BusConfiguration
    private let directory: any InstanceDirectory
    private let logger: Logger
    private let metrics: BusMetrics
    private let mailbox: BusMailbox
    private let state = Mutex(State())
    private let correlations = Atomic<UInt64>(UInt64.random(in: 0..<(1 << 62)))

    /// Checks the configuration; opens nothing yet.
    ///
    /// - Parameters:
    ///   - configuration: Who this process is and where it listens.
    ///   - directory: Knows the other instances.
    ///   - logger: Gets changes of state, no bodies.
    ///   - metrics: Gets the `bus_…` families.
    /// - Throws: ``BusError/configuration(_:)`` naming the setting.
    public init(
        _ configuration: BusConfiguration,
        directory: any InstanceDirectory,
        logger: Logger,
        metrics: Metrics
    ) throws(BusError) {
        _ = try BusEndpoints(configuration)
        self.configuration = configuration
        self.directory = directory
        self.logger = logger
        self.metrics = BusMetrics(metrics)
        mailbox = try BusMailbox(limits: configuration.limits)
    }

    deinit {
        mailbox.post(.stop(drain: .zero, nil))
        state.withLock { $0.directoryTask?.cancel() }
    }

    // MARK: - Life

    /// Sets who answers requests; to be called before ``start()``.
    ///
    /// - Parameter handler: Runs in a task of its own for each request, bounded by
    ///   ``BusLimits/runningRequests``; what it returns is the answer. The same request may come
    ///   twice.
    public func serve(_ handler: @escaping @Sendable (BusRequest) async -> [UInt8]) {
        servePromptly { request, answer in
            Task.detached { answer(await handler(request)) }
        }
    }

    /// Sets who answers requests, without a task for each; to be called before ``start()``.
    ///
    /// For handlers that only look something up or queue something, and are asked so often that a task and two
    /// changes of thread for a request count.
    ///
    /// - Parameter handler: Is called on the bus thread, as often at once as ``BusLimits/runningRequests`` says; what it
    ///   hands to its second argument is the answer. The same request may come twice.
    public func servePromptly(_ handler: @escaping BusHandler) {
        state.withLock { state in
            precondition(!state.isStarted, "a handler is set before start()")
            state.handler = handler
        }
    }

    /// Binds, starts the bus thread and begins to announce this instance.
    ///
    /// - Throws: ``BusError`` when an address cannot be bound; the bus then stays unstarted.
    public func start() throws(BusError) {
        let handler = state.withLock { state in
            precondition(!state.isStarted, "a bus starts once")
            return state.handler
        }
        let loop = try BusLoop(
            configuration,
            mailbox: mailbox,
            logger: logger,
            metrics: metrics,
            handler: handler
        )
        let record = loop.record
        try startBusThread { loop.run() }
        mailbox.acceptRequests(true)
        let follower = DirectoryFollower(
            directory: directory,
            record: record,
            mailbox: mailbox,
            logger: logger,
            interval: configuration.limits.directoryInterval
        )
        state.withLock { state in
            state.isStarted = true
            state.record = record
            state.directoryTask = Task.detached { await follower.run() }
        }
    }

    /// Stops in order: no new requests, handlers finish, answers and states leave, sockets close.
    ///
    /// Everything answered before has left this process when it returns, as far as the other side
    /// reads within ``BusLimits/flush``. Handlers get ``BusLimits/drain`` to finish and may still
    /// ask others meanwhile.
    public func shutdown() async {
        let (record, task) = state.withLock { state in
            defer { state.isStopped = true }
            return (state.isStarted ? state.record : nil, state.directoryTask)
        }
        guard let record else { return }
        await withdraw(record, after: task)
        await withCheckedContinuation { continuation in
            let drain = configuration.limits.drain
            if !mailbox.post(.stop(drain: drain, continuation)) { continuation.resume() }
        }
    }

    /// The addresses that others connect to, once started.
    public var record: InstanceRecord? { state.withLock { $0.record } }

    /// Withdraws from the directory, but does not wait long for a dead one.
    private func withdraw(_ record: InstanceRecord, after following: Task<Void, Never>?) async {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self)
        let directory = directory
        let patience = configuration.limits.directoryInterval
        following?.cancel()
        let work = Task.detached {
            // A heartbeat that is under way would bring the instance back.
            await following?.value
            try? await directory.withdraw(record)
            continuation.finish()
        }
        let timer = Task.detached {
            try? await Task.sleep(for: patience)
            continuation.finish()
        }
        for await _ in stream {}
        work.cancel()
        timer.cancel()
    }

    // MARK: - Requests

    /// Asks one instance and waits for its answer.
    ///
    /// - Parameters:
    ///   - body: At most ``BusLimits/messageBytes`` bytes.
    ///   - instance: The instance's name, as ``instances(of:)`` gives it.
    ///   - timeout: How long the caller waits; the remaining time travels with the request.
    ///   - resend: Whether it is sent once more after a lost connection. With false the loss is
    ///     reported at once, and a connection that does not come about in half a second as
    ///     ``BusError/unreachable(_:)``, so that the caller can turn to another instance.
    ///   - trace: The id that follows the request.
    /// - Returns: The answer.
    /// - Throws: ``BusError``; ``BusError/outcomeIsUnknown`` tells whether it may have run.
    public func request(
        _ body: [UInt8],
        to instance: String,
        timeout: Duration,
        resend: Bool = true,
        trace: TraceID = .random()
    ) async throws(BusError) -> [UInt8] {
        let limit = configuration.limits.messageBytes
        guard body.count <= limit else {
            throw counted(.tooLarge(bytes: body.count, limit: limit))
        }
        let start = Timestamps.monotonicNanoseconds()
        let request = PendingRequest(
            correlation: correlations.wrappingAdd(1, ordering: .relaxed).newValue,
            instance: instance,
            body: body,
            startedAt: start,
            deadline: start + timeout.nanoseconds,
            trace: trace,
            resend: resend
        )
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (waiter: Waiter) in
                if let error = mailbox.submit(request, waiter) {
                    waiter.resume(returning: .failure(counted(error)))
                } else if Task.isCancelled {
                    // The cancellation may have come before the request was queued.
                    mailbox.post(.cancel(request.correlation))
                }
            }
        } onCancel: {
            mailbox.post(.cancel(request.correlation))
        }
        return try result.get()
    }

    /// The known live instances of a service, in the order of their names.
    public func instances(of service: String) -> [String] { mailbox.instances(of: service) }

    // MARK: - States

    /// Publishes the one state of a topic; see ``publish(topic:key:body:retain:trace:)``.
    public func publish(topic: String, body: [UInt8], trace: TraceID = .random()) {
        publish(topic: topic, key: "", body: body, trace: trace)
    }

    /// Publishes the state of one key of a topic; never waits.
    ///
    /// A state that still waits for the bus thread is overtaken by a newer one of its key.
    ///
    /// - Parameters:
    ///   - topic: Letters, digits, `.`, `_`, `-`.
    ///   - key: At most 200 bytes; one of at most ``BusLimits/retainedStates`` in this process.
    ///   - body: The whole state, at most ``BusLimits/messageBytes`` bytes; larger is dropped and
    ///     counted.
    ///   - retain: Whether a new subscriber hears it. Without, it is for those connected now.
    ///   - trace: The id that follows the cause.
    public func publish(
        topic: String,
        key: String,
        body: [UInt8],
        retain: Bool = true,
        trace: TraceID = .random()
    ) {
        precondition(Wire.isName(topic), "a topic is letters, digits, dot, underscore, hyphen")
        let publication = Publication(
            topic: topic,
            key: key,
            body: body,
            trace: trace,
            kind: retain ? .retained : .passing
        )
        guard key.utf8.count <= Wire.nameBytes, body.count <= configuration.limits.messageBytes,
            mailbox.publish(publication)
        else { return metrics.publicationsDropped.add() }
    }

    /// Forgets a retained state, so that new subscribers do not hear it.
    ///
    /// Who heard it keeps it; publish an empty state first where that matters.
    public func retract(topic: String, key: String) {
        let retraction = Publication(
            topic: topic,
            key: key,
            body: [],
            trace: .random(),
            kind: .retraction
        )
        if !mailbox.publish(retraction) { metrics.publicationsDropped.add() }
    }

    /// Hears a topic from every live instance of a service, this one left out.
    ///
    /// The current state of every key comes first, again after a reconnection or a loss. Per
    /// publisher and key the order is kept.
    ///
    /// - Parameters:
    ///   - topic: The topic's name.
    ///   - service: The kind of service that publishes it.
    ///   - receive: Called on the bus thread: hand over and return.
    public func subscribe(
        topic: String,
        of service: String,
        _ receive: @escaping @Sendable (BusPublication) -> Void
    ) {
        precondition(Wire.isName(topic), "a topic is letters, digits, dot, underscore, hyphen")
        mailbox.post(
            .subscribe(Subscription(service: service, topic: topic, receive: receive))
        )
    }

    private func counted(_ error: BusError) -> BusError {
        metrics.count(error)
        return error
    }
}
