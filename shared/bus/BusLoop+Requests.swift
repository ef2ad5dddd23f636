internal import CZeroMQ
internal import Telemetry

/// An instance this process talks to; connections are made when first needed.
final class Peer {
    let record: InstanceRecord
    var requests: RequestLink?
    var states: StateLink?

    init(_ record: InstanceRecord) { self.record = record }

    func close() {
        requests?.close()
        requests = nil
        states?.socket.close()
        states = nil
    }
}

/// The connection requests go out on, and the socket that tells when it breaks.
final class RequestLink {
    let socket: Socket
    let monitor: Socket
    /// Requests are sent only now: a pipe that is about to end still takes messages and loses them.
    private(set) var isConnected = false
    /// The instance said goodbye on this connection; it takes no more requests.
    var isLeaving = false

    init(_ socket: Socket, monitor: Socket) {
        self.socket = socket
        self.monitor = monitor
    }

    /// Follows what the monitor tells.
    ///
    /// - Returns: Whether the connection broke since the last call.
    func followConnection() -> Bool {
        var isLost = false
        while let frames = monitor.receive() {
            let event = frames[0].count >= 2 ? Int32(frames[0][0]) | Int32(frames[0][1]) << 8 : 0
            isConnected = event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED
            isLeaving = false
            isLost = isLost || event == ZMQ_EVENT_DISCONNECTED
        }
        return isLost
    }

    func close() {
        zmq_socket_monitor(socket.raw, nil, 0)
        monitor.close()
        socket.close()
    }
}

/// The side that asks.
extension BusLoop {
    func begin(_ request: PendingRequest) {
        ledger.add(request)
        guard let peer = peers[request.instance] else {
            guard let request = ledger.finish(request.correlation) else { return }
            return fail(request, .unknownInstance(request.instance))
        }
        if let link = peer.requests {
            guard link.isLeaving, let request = ledger.finish(request.correlation) else { return }
            return fail(request, .closing(request.instance))
        }
        do {
            peer.requests = try openRequests(peer.record)
        } catch {
            if let request = ledger.finish(request.correlation) { fail(request, error) }
        }
    }

    private func openRequests(_ record: InstanceRecord) throws(BusError) -> RequestLink {
        let socket = try Socket(context, ZMQ_DEALER)
        try socket.configure(limits, queue: 2 * limits.windowRequests, linger: 0)
        try socket.set(ZMQ_IMMEDIATE, 1)
        try socket.identify(configuration.curve, for: record.requestEndpoint)
        let events = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED
        let address = "inproc://monitor-\(UInt(bitPattern: socket.raw))"
        guard zmq_socket_monitor(socket.raw, address, events) == 0 else {
            throw .last("zmq_socket_monitor")
        }
        let monitor = try Socket(context, ZMQ_PAIR)
        try monitor.set(ZMQ_LINGER, 0)
        try monitor.connect(address)
        try socket.connect(record.requestEndpoint)
        return RequestLink(socket, monitor: monitor)
    }

    /// Takes answers and lost connections of one instance, then its publications.
    func serve(_ peer: Peer) {
        if let link = peer.requests {
            let isLost = link.followConnection()
            let instance = peer.record.instance
            var mayHoldMore = takeAnswers(link, of: instance)
            if isLost {
                metrics.connectionsLost.add()
                // What arrived before the connection broke is an answer, not a loss.
                while mayHoldMore { mayHoldMore = takeAnswers(link, of: instance) }
                for request in ledger.connectionLost(instance) {
                    fail(request, .connectionLost(instance))
                }
            }
        }
        if let link = peer.states { receiveStates(link, of: peer) }
    }

    /// - Returns: Whether the budget ended first.
    private func takeAnswers(_ link: RequestLink, of instance: String) -> Bool {
        for _ in 0..<BusLimits.drainBudget {
            guard let frames = link.socket.receive() else { return false }
            if let goodbye = frames.first.flatMap(Goodbye.init(decoding:)) {
                part(link, from: instance, goodbye)
                continue
            }
            guard frames.count >= 2, let header = AnswerHeader(decoding: frames[0]) else {
                metrics.undecodable.add()
                continue
            }
            take(header, frames[1])
        }
        return true
    }

    /// All answers of a stopping instance are here: say so, and turn the callers elsewhere.
    private func part(_ link: RequestLink, from instance: String, _ goodbye: Goodbye) {
        link.isLeaving = true
        _ = link.socket.send(goodbye.encoded(), [])
        let refused =
            goodbye.isComplete
            ? ledger.instanceLeft(instance)
            : ledger.takeUnsent(instance).compactMap { ledger.finish($0.correlation) }
        for request in refused { fail(request, .closing(instance)) }
    }

    private func take(_ header: AnswerHeader, _ body: [UInt8]) {
        if header.status == .expired {
            if let request = ledger.sendAgain(header.correlation) {
                fail(request, .timeout(request.instance))
            }
            return
        }
        guard let request = ledger.finish(header.correlation) else {
            return metrics.lateAnswers.add()
        }
        switch header.status {
        case .answered: finished.append((request, .success(body)))
        case .busy, .expired: fail(request, .busy(request.instance))
        case .closing: fail(request, .closing(request.instance))
        case .misdirected: fail(request, .unknownInstance(request.instance))
        case .tooLarge:
            fail(request, .tooLarge(bytes: limits.messageBytes + 1, limit: limits.messageBytes))
        }
    }

    /// Hands waiting requests to the network as far as it takes them.
    func sendUnsent(to peer: Peer) {
        let instance = peer.record.instance
        guard let link = peer.requests, link.isConnected, !link.isLeaving,
            ledger.hasUnsent(instance)
        else {
            return
        }
        let waiting = ledger.takeUnsent(instance)
        for (index, request) in waiting.enumerated() {
            let milliseconds = request.deadline > now ? (request.deadline - now) / 1_000_000 : 0
            let header = RequestHeader(
                correlation: request.correlation,
                remainingMilliseconds: UInt32(clamping: max(1, milliseconds)),
                trace: request.trace,
                sender: record.instance,
                target: instance,
                isFresh: request.isFresh
            )
            guard link.socket.send(header.encoded(), request.body) == 0 else {
                return ledger.putBack(waiting[index...], for: instance)
            }
            ledger.sent(request.correlation)
            metrics.sent.add()
            if request.attempts > 0 { metrics.resent.add() }
        }
    }

    func expireRequests() {
        for request in ledger.expire(now: now) {
            fail(
                request,
                request.attempts > 0 ? .timeout(request.instance) : .unreachable(request.instance)
            )
        }
    }

    func fail(_ request: PendingRequest, _ error: BusError) {
        metrics.count(error)
        finished.append((request, .failure(error)))
    }

    /// Hands all results of this turn over: first the room in the windows, then the callers.
    func completeRequests() {
        guard !finished.isEmpty else { return }
        let batch = finished
        finished.removeAll(keepingCapacity: true)
        mailbox.release(batch.map(\.request))
        for (request, result) in batch {
            if case .success = result {
                metrics.seconds.observe(Double(now &- request.startedAt) / 1e9)
            }
            waiters.removeValue(forKey: request.correlation)?.resume(returning: result)
        }
    }

    // MARK: - Who is there

    /// Follows the directory: keeps connections to whom it still names at the same address.
    func adopt(_ records: [InstanceRecord]) {
        let named = Dictionary(
            records.map { ($0.instance, $0) },
            uniquingKeysWith: { first, _ in first }
        )
        for (instance, peer) in peers where named[instance]?.addresses != peer.record.addresses {
            peer.close()
            peers[instance] = nil
            let lost =
                named[instance] == nil
                ? ledger.instanceLeft(instance) : ledger.connectionLost(instance)
            for request in lost {
                fail(
                    request,
                    request.attempts > 0 ? .connectionLost(instance) : .unreachable(instance)
                )
            }
        }
        for (instance, record) in named where peers[instance] == nil {
            let peer = Peer(record)
            peers[instance] = peer
            if ledger.hasUnsent(instance) { peer.requests = try? openRequests(record) }
            openStates(peer)
        }
        metrics.instances.set(Double(peers.count))
    }
}

extension InstanceRecord {
    fileprivate var addresses: [String] { [service, requestEndpoint, publishEndpoint] }
}
