internal import CLinux
internal import CZeroMQ
internal import Telemetry

/// Everything the bus thread owns: all sockets of the process and what is under way on them.
///
/// It is made and bound by the starting thread and handed to the bus thread before that runs;
/// from then on nobody else touches it. The parts are in `BusLoop+….swift`.
final class BusLoop {
    enum Phase {
        case running
        /// Requests are refused, accepted ones run.
        case draining(until: UInt64)
        /// Everything is answered; askers confirm that it arrived.
        case leaving(until: UInt64)
    }

    let configuration: BusConfiguration
    let limits: BusLimits
    let mailbox: BusMailbox
    let logger: Logger
    let metrics: BusMetrics
    let handler: BusHandler?
    let record: InstanceRecord
    /// Tells this start of the process from the ones before it.
    let epoch = UInt64(Timestamps.nowMilliseconds()) << 20 | .random(in: 0..<(1 << 20))

    let context: SocketContext
    let router: Socket
    let publisher: Socket
    let gate: CurveGate?

    var phase = Phase.running
    var peers: [String: Peer] = [:]
    var subscriptions: [Subscription] = []
    var ledger = RequestLedger()
    var waiters: [UInt64: Waiter] = [:]
    var finished: [(request: PendingRequest, result: Result<[UInt8], BusError>)] = []
    var serving: ServingQueue
    /// Connections that were answered, and when last, monotonic nanoseconds.
    var answered: [[UInt8]: UInt64] = [:]
    /// Connections whose echo of the goodbye is awaited.
    var unconfirmed: Set<[UInt8]> = []
    var nextGoodbye: UInt64 = 0
    var retained: RetainedStates
    /// Monotonic nanoseconds of this turn.
    var now = Timestamps.monotonicNanoseconds()
    /// How long messages that wait now may have waited while the process was stopped, nanoseconds.
    var stalled: UInt64 = 0
    private var thawedAt: UInt64 = 0
    /// When the publisher next says how far its topics are, monotonic nanoseconds.
    var nextMarks: UInt64 = 0
    private var stopWaiters: [CheckedContinuation<Void, Never>] = []
    private var items: [zmq_pollitem_t] = []

    init(
        _ configuration: BusConfiguration,
        mailbox: BusMailbox,
        logger: Logger,
        metrics: BusMetrics,
        handler: BusHandler?
    ) throws(BusError) {
        let endpoints = try BusEndpoints(configuration)
        self.configuration = configuration
        self.mailbox = mailbox
        self.logger = logger
        self.metrics = metrics
        self.handler = handler
        limits = configuration.limits
        serving = ServingQueue(
            runningLimit: limits.runningRequests,
            waitingLimit: limits.queuedRequests
        )
        retained = RetainedStates(limit: limits.retainedStates)
        context = try SocketContext()
        let needsCurve = endpoints.transport != .ipc
        let keys = needsCurve ? configuration.curve : nil
        gate = if let keys { try CurveGate(context, keys) } else { nil }

        router = try Socket(context, ZMQ_ROUTER)
        try router.set(ZMQ_ROUTER_MANDATORY, 1)
        try router.configure(limits, queue: 2 * limits.windowRequests)
        if let keys { try router.serve(keys) }
        let boundRequest = try router.bindOrExplain(endpoints.bindRequest)

        publisher = try Socket(context, ZMQ_XPUB)
        try publisher.set(ZMQ_XPUB_VERBOSE, 1)
        try publisher.configure(limits, queue: limits.subscriberQueue)
        if let keys { try publisher.serve(keys) }
        let boundPublish = try publisher.bindOrExplain(endpoints.bindPublish)

        record = InstanceRecord(
            service: configuration.service,
            instance: configuration.instance,
            requestEndpoint: endpoints.advertised(bound: boundRequest),
            publishEndpoint: endpoints.advertised(bound: boundPublish),
            pid: getpid()
        )
    }

    // MARK: - The loop

    /// Runs until the bus is stopped and everything is closed.
    func run() {
        while true {
            poll()
            let delivery = mailbox.takeAll()
            for command in delivery.commands { perform(command) }
            for publication in delivery.publications { send(publication) }
            serveGate()
            serveRouter()
            servePublisher()
            for peer in peers.values { serve(peer) }
            expireRequests()
            startHandlers()
            for peer in peers.values { sendUnsent(to: peer) }
            completeRequests()
            sendMarks()
            if mayEnd() { break }
        }
        finish()
    }

    /// Moves a stopping bus on: drain, take leave, end.
    private func mayEnd() -> Bool {
        if case .draining(let limit) = phase, serving.isIdle || now >= limit {
            phase = .leaving(until: now + limits.flush.nanoseconds)
            takeLeave()
        }
        guard case .leaving(let limit) = phase else { return false }
        sayGoodbye()
        return unconfirmed.isEmpty || now >= limit
    }

    private func poll() {
        items.removeAll(keepingCapacity: true)
        items.append(zmq_pollitem_t(socket: nil, fd: mailbox.wake, events: readable, revents: 0))
        items.append(item(router))
        items.append(item(publisher))
        if let gate { items.append(item(gate.socket)) }
        for peer in peers.values {
            if let link = peer.requests {
                items.append(item(link.monitor))
                let writes = link.isConnected && ledger.hasUnsent(peer.record.instance)
                items.append(item(link.socket, writing: writes))
            }
            if let link = peer.states { items.append(item(link.socket)) }
        }
        _ = zmq_poll(&items, Int32(items.count), pollMilliseconds())
        readClock()
    }

    /// Reads the clock, and notes a freeze since the last reading.
    ///
    /// Also called after each message that is taken and before handlers start: a freeze in the
    /// middle of a turn would otherwise leave an old reading to judge by.
    func readClock() {
        let before = now
        now = Timestamps.monotonicNanoseconds()
        let longest = UInt64(BusLimits.longestPoll) * 1_000_000 + BusLimits.stall
        if now - before > longest {
            stalled = now - before
            thawedAt = now
            logger.warning(
                "the process was stopped; what waited meanwhile counts as old",
                ["bus.stalled_ms": .integer(Int(stalled / 1_000_000))]
            )
        }
    }

    private func item(_ socket: Socket, writing: Bool = false) -> zmq_pollitem_t {
        let events = writing ? readable | Int16(ZMQ_POLLOUT) : readable
        return zmq_pollitem_t(socket: socket.raw, fd: 0, events: events, revents: 0)
    }

    private var readable: Int16 { Int16(ZMQ_POLLIN) }

    private func pollMilliseconds() -> Int {
        var until = min(ledger.nextDeadline, now + UInt64(BusLimits.longestPoll) * 1_000_000)
        switch phase {
        case .running: break
        case .draining(let limit): until = min(until, limit)
        case .leaving(let limit): until = min(until, limit, nextGoodbye)
        }
        for peer in peers.values {
            if let due = peer.states?.nextResynchronization { until = min(until, due) }
        }
        let current = Timestamps.monotonicNanoseconds()
        return until <= current ? 0 : Int((until - current + 999_999) / 1_000_000)
    }

    /// The router was empty: what comes from now on was sent after the freeze.
    func noteRouterEmpty() {
        if stalled > 0, now >= thawedAt + BusLimits.stallSettle { stalled = 0 }
    }

    private func perform(_ command: BusCommand) {
        switch command {
        case .request(let request, let waiter):
            waiters[request.correlation] = waiter
            begin(request)
        case .cancel(let correlation):
            if let request = ledger.finish(correlation) { fail(request, .cancelled) }
        case .answer(let request, let body): answer(request, body)
        case .subscribe(let subscription): add(subscription)
        case .instances(let records): adopt(records)
        case .stop(let drain, let waiter):
            if let waiter { stopWaiters.append(waiter) }
            guard case .running = phase else { return }
            // Not unbound: libzmq 4.3 ends the connections that came through an endpoint with it, and
            // answers in flight would go nowhere. Who comes now is refused as `closing`.
            phase = .draining(until: now + drain.nanoseconds)
        }
    }

    // MARK: - The end

    /// Everything in flight is answered: refuse what is left, flush, close, tell who waits.
    private func finish() {
        if !serving.isIdle {
            logger.warning(
                "stopped with handlers still running",
                ["bus.running": .integer(serving.running)]
            )
        }
        serveRouter()
        let left = mailbox.end()
        for publication in left.publications { send(publication) }
        for command in left.commands {
            switch command {
            case .request(_, let waiter): waiter.resume(returning: .failure(.closed))
            case .answer(let request, let body): answer(request, body)
            case .stop(_, let waiter): if let waiter { stopWaiters.append(waiter) }
            case .cancel, .subscribe, .instances: break
            }
        }
        for request in ledger.removeAll() { fail(request, .closed) }
        completeRequests()
        for peer in peers.values { peer.close() }
        peers = [:]
        router.close()
        publisher.close()
        gate?.socket.close()
        context.end()
        for waiter in stopWaiters { waiter.resume() }
    }
}

extension Socket {
    /// What every socket of the bus has: limits, heartbeats, patient reconnection.
    func configure(
        _ limits: BusLimits,
        queue: Int,
        linger: Int32 = BusLimits.lingerMilliseconds
    ) throws(BusError) {
        try set(ZMQ_LINGER, linger)
        try set(ZMQ_MAXMSGSIZE, large: Int64(limits.messageBytes + BusLimits.envelopeBytes))
        try set(ZMQ_SNDHWM, Int32(clamping: queue))
        try set(ZMQ_RCVHWM, Int32(clamping: queue))
        try set(ZMQ_HEARTBEAT_IVL, BusLimits.heartbeat.interval)
        try set(ZMQ_HEARTBEAT_TIMEOUT, BusLimits.heartbeat.timeout)
        // A frozen reader whose pipe is full gets no ping; its own missing pings end it.
        try set(ZMQ_HEARTBEAT_TTL, BusLimits.heartbeat.timeout)
        try set(ZMQ_HANDSHAKE_IVL, BusLimits.heartbeat.timeout)
        try set(ZMQ_RECONNECT_IVL, BusLimits.reconnect.first)
        try set(ZMQ_RECONNECT_IVL_MAX, BusLimits.reconnect.longest)
    }

    func bindOrExplain(_ endpoint: String) throws(BusError) -> String {
        do {
            return try bind(endpoint)
        } catch .system(_, let code, let sentence) {
            throw .configuration(
                "cannot listen on \(endpoint): \(sentence) (\(code)); BUS_URL_PREFIX must name an "
                    + "existing folder that this process may write to, or a free address"
            )
        }
    }
}
