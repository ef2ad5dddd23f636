internal import CZeroMQ
internal import Telemetry

/// The subscription to one publishing instance.
final class StateLink {
    let socket: Socket
    var topics: [String: SubscriptionTracker] = [:]
    /// When the whole state of a topic may be asked for again, monotonic nanoseconds.
    var lastResynchronization: [String: UInt64] = [:]
    var wanting: Set<String> = []

    init(_ socket: Socket) { self.socket = socket }

    /// The reading at which the next topic in ``wanting`` is due.
    var nextResynchronization: UInt64? {
        wanting.map { (lastResynchronization[$0] ?? 0) + BusLimits.resynchronize }.min()
    }
}

/// State topics: whole states out, whole states in.
///
/// On the wire a live publication begins with `topic 0x00`. A subscriber also subscribes to
/// `topic 0x01 <its own name>`; when the publisher hears that, it sends what it retains there, so
/// only this subscriber gets it, and after everything that was live before.
extension BusLoop {
    // MARK: - Publishing

    func send(_ publication: Publication) {
        guard publication.kind != .retraction else {
            return retained.remove(topic: publication.topic, key: publication.key)
        }
        let (sequence, isRefused) = retained.add(publication)
        if isRefused { metrics.unretained.add() }
        metrics.publicationsSent.add()
        let header = PublicationHeader(
            form: .live,
            epoch: epoch,
            sequence: sequence,
            trace: publication.trace,
            instance: record.instance,
            topic: publication.topic,
            key: publication.key
        )
        _ = publisher.send(liveTopic(publication.topic), header.encoded(), publication.body)
    }

    /// Answers new subscriptions with the whole state.
    func servePublisher() {
        for _ in 0..<BusLimits.drainBudget {
            guard let frame = publisher.receive()?.first else { return }
            guard frame.first == 1, let mark = frame.firstIndex(of: 1, after: 1) else { continue }
            let topic = String(decoding: frame[1..<mark], as: UTF8.self)
            sendWholeState(topic, to: Array(frame[1...]))
        }
    }

    private func sendWholeState(_ topic: String, to address: [UInt8]) {
        func send(
            _ form: PublicationHeader.Form,
            _ sequence: UInt64,
            _ trace: TraceID,
            _ key: String,
            _ body: [UInt8]
        ) {
            let header = PublicationHeader(
                form: form,
                epoch: epoch,
                sequence: sequence,
                trace: trace,
                instance: record.instance,
                topic: topic,
                key: key
            )
            _ = publisher.send(address, header.encoded(), body)
        }
        for (key, entry) in retained.all(of: topic) {
            send(.retained, entry.sequence, entry.trace, key, entry.body)
            metrics.statesResent.add()
        }
        send(.complete, retained.sequence(of: topic), TraceID(high: 0, low: 1), "", [])
    }

    /// Says once a second how far each topic is, so that a subscriber that lost the last message of
    /// all notices without a next one.
    func sendMarks() {
        guard now >= nextMarks else { return }
        nextMarks = now + BusLimits.markInterval
        answered = answered.filter { now - $0.value < BusLimits.recentAnswers }
        for (topic, sequence) in retained.sequences {
            let header = PublicationHeader(
                form: .complete,
                epoch: epoch,
                sequence: sequence,
                trace: TraceID(high: 0, low: 1),
                instance: record.instance,
                topic: topic,
                key: ""
            )
            _ = publisher.send(liveTopic(topic), header.encoded(), [])
        }
    }

    private func liveTopic(_ topic: String) -> [UInt8] { Array(topic.utf8) + [0] }

    private func ownTopic(_ topic: String) -> [UInt8] {
        Array(topic.utf8) + [1] + Array("\(record.instance)/\(epoch)".utf8)
    }

    // MARK: - Subscribing

    func add(_ subscription: Subscription) {
        subscriptions.append(subscription)
        for peer in peers.values where peer.record.service == subscription.service {
            openStates(peer)
        }
    }

    /// Connects to what an instance publishes, as far as anyone here wants to hear it.
    func openStates(_ peer: Peer) {
        guard peer.record.instance != record.instance else { return }
        let topics = Set(
            subscriptions.filter { $0.service == peer.record.service }.map(\.topic)
        )
        guard !topics.isEmpty else { return }
        do {
            let link: StateLink
            if let states = peer.states {
                link = states
            } else {
                let socket = try Socket(context, ZMQ_SUB)
                try socket.configure(limits, queue: limits.subscriberQueue, linger: 0)
                try socket.identify(configuration.curve, for: peer.record.publishEndpoint)
                try socket.connect(peer.record.publishEndpoint)
                link = StateLink(socket)
                peer.states = link
            }
            for topic in topics where link.topics[topic] == nil {
                link.topics[topic] = SubscriptionTracker()
                try link.socket.set(ZMQ_SUBSCRIBE, bytes: liveTopic(topic))
                try link.socket.set(ZMQ_SUBSCRIBE, bytes: ownTopic(topic))
            }
        } catch {
            logger.error(
                "cannot subscribe to an instance",
                [
                    "bus.peer": .text(peer.record.instance),
                    "error": .text(error.description),
                ]
            )
        }
    }

    /// Hands publications over, in order, and asks for the whole state where some were lost.
    func receiveStates(_ link: StateLink, of peer: Peer) {
        for _ in 0..<BusLimits.drainBudget {
            guard let frames = link.socket.receive() else { break }
            guard frames.count >= 3, let header = PublicationHeader(decoding: frames[1]),
                header.instance == peer.record.instance, link.topics[header.topic] != nil
            else {
                metrics.undecodable.add()
                continue
            }
            let verdict = link.topics[header.topic]?.judge(header) ?? .repeated
            switch verdict {
            case .repeated: metrics.publicationsRepeated.add()
            case .complete(let missed): note(missed, header.topic, link)
            case .deliver(let missed):
                note(missed, header.topic, link)
                deliver(header, frames[2], of: peer.record.service)
            }
        }
        askForWholeStates(link)
    }

    private func note(_ missed: UInt64, _ topic: String, _ link: StateLink) {
        guard missed > 0 else { return }
        metrics.publicationsMissed.add(Int(clamping: missed))
        link.wanting.insert(topic)
    }

    private func deliver(_ header: PublicationHeader, _ body: [UInt8], of service: String) {
        metrics.publicationsReceived.add()
        let publication = BusPublication(
            instance: header.instance,
            epoch: header.epoch,
            topic: header.topic,
            key: header.key,
            sequence: header.sequence,
            trace: header.trace,
            body: body
        )
        for subscription in subscriptions
        where subscription.topic == header.topic && subscription.service == service {
            subscription.receive(publication)
        }
    }

    /// Subscribing afresh to the own topic makes the publisher send its whole state again.
    private func askForWholeStates(_ link: StateLink) {
        for topic in link.wanting {
            let last = link.lastResynchronization[topic] ?? 0
            guard now >= last + BusLimits.resynchronize else { continue }
            link.wanting.remove(topic)
            link.lastResynchronization[topic] = now
            let own = ownTopic(topic)
            try? link.socket.set(ZMQ_UNSUBSCRIBE, bytes: own)
            try? link.socket.set(ZMQ_SUBSCRIBE, bytes: own)
        }
    }
}

extension [UInt8] {
    fileprivate func firstIndex(of byte: UInt8, after start: Int) -> Int? {
        self[Swift.min(start, count)...].firstIndex(of: byte)
    }
}
