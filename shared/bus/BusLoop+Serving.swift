internal import CLinux
internal import CZeroMQ
internal import Telemetry

/// The side that answers.
extension BusLoop {
    /// Takes requests off the network, within a budget so that the other sockets get their turn.
    func serveRouter() {
        for _ in 0..<BusLimits.drainBudget {
            guard let frames = router.receive() else { return noteRouterEmpty() }
            readClock()
            receive(frames)
        }
    }

    private func receive(_ frames: [[UInt8]]) {
        if frames.count >= 3, Goodbye(decoding: frames[1]) != nil {
            unconfirmed.remove(frames[0])
            return
        }
        guard frames.count >= 3, let header = RequestHeader(decoding: frames[1]) else {
            return metrics.undecodable.add()
        }
        metrics.received.add()
        let penalty = header.isFresh ? 0 : stalled
        let remaining = UInt64(header.remainingMilliseconds) * 1_000_000
        let request = ReceivedRequest(
            route: frames[0],
            correlation: header.correlation,
            sender: header.sender,
            trace: header.trace,
            deadline: now + (remaining > penalty ? remaining - penalty : 0),
            body: frames[2]
        )
        guard header.target == record.instance else { return refuse(request, .misdirected) }
        guard handler != nil, case .running = phase else { return refuse(request, .closing) }
        guard request.deadline > now else {
            metrics.expired.add()
            // Perhaps it was sent after the freeze: its sender then still waits and sends it again.
            if stalled > 0 { reply(request, .expired, []) }
            return
        }
        if !serving.accept(request) { refuse(request, .busy) }
    }

    /// Starts what may run now.
    func startHandlers() {
        guard let handler else { return }
        readClock()
        while let next = serving.next(now: now) {
            switch next {
            case .expired: metrics.expired.add()
            case .run(let received):
                let request = BusRequest(
                    body: received.body,
                    deadline: .now + .nanoseconds(Int64(clamping: received.deadline - now)),
                    trace: received.trace,
                    sender: received.sender
                )
                handler(request) { [mailbox] body in mailbox.post(.answer(received, body)) }
            }
        }
        metrics.serving.set(Double(serving.running))
        metrics.waiting.set(Double(serving.waitingCount))
    }

    /// Sends a handler's answer to whoever asked, on the connection it asked on.
    func answer(_ request: ReceivedRequest, _ body: [UInt8]) {
        serving.finished()
        guard body.count <= limits.messageBytes else { return refuse(request, .tooLarge) }
        reply(request, .answered, body)
    }

    private func refuse(_ request: ReceivedRequest, _ status: AnswerHeader.Status) {
        metrics.countRefusal(status)
        reply(request, status, [])
    }

    private func reply(
        _ request: ReceivedRequest,
        _ status: AnswerHeader.Status,
        _ body: [UInt8]
    ) {
        let header = AnswerHeader(correlation: request.correlation, status: status).encoded()
        guard router.send(request.route, header, body) == 0 else {
            return metrics.undeliverable.add()
        }
        answered[request.route] = now
    }

    // MARK: - Taking leave

    /// Everyone answered lately is to confirm that the answers arrived.
    func takeLeave() { unconfirmed = Set(answered.keys) }

    /// Says goodbye, again and again, to who has not confirmed; who is gone need not.
    func sayGoodbye() {
        guard now >= nextGoodbye else { return }
        nextGoodbye = now + BusLimits.goodbyeInterval
        let goodbye = Goodbye(isComplete: serving.isIdle).encoded()
        for route in unconfirmed where router.send(route, goodbye, []) == EHOSTUNREACH {
            unconfirmed.remove(route)
        }
    }
}
