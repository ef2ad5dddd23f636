internal import CLinux
internal import Glibc
internal import Messages
internal import ServiceKit
internal import Telemetry
internal import Transit
internal import Web

/// The relay's thread: it owns every client's socket, reads and writes them, and carries out what
/// ``RelayCore`` decides.
///
/// One turn takes what has come, lets the core decide, and flushes each socket that got something once.
final class RelayLoop {
    /// Bytes of one read, and reads of one socket in a turn, so that a busy client starves nobody.
    private static let readBytes = 16 * 1024
    private static let readsPerTurn = 4
    /// Frames and bytes of one write.
    private static let framesPerWrite = 32
    private static let bytesPerWrite = 128 * 1024

    private let core: RelayCore
    private let outside: RelayOutside
    private let mailbox: RelayMailbox
    private let limits: RelayLimits
    private let metrics: RelayMetrics
    private let openSockets: SocketCount
    private let poll = Poll()
    private let spares = WebSocketReader.Spares()
    private var composer = PositionComposer()
    private var connections: [Int32: Connection] = [:]
    private var dead: [Connection] = []
    private var now = RelayCore.Moment(uptime: 0, milliseconds: 0)
    private var tickedAt: UInt64 = 0
    private var checkedAt: UInt64 = 0
    private var unfinishedBytes = 0
    private var queuedBytes = 0
    private var done: [@Sendable () -> Void] = []
    private var stopping: (@Sendable () -> Void)?
    private let readBuffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: RelayLoop.readBytes,
        alignment: 16
    )
    private var writeBuffer: [UInt8] = []

    init(
        _ outside: RelayOutside,
        mailbox: RelayMailbox,
        limits: RelayLimits,
        metrics: RelayMetrics,
        openSockets: SocketCount
    ) {
        core = RelayCore(limits: limits, metrics: metrics)
        self.outside = outside
        self.mailbox = mailbox
        self.limits = limits
        self.metrics = metrics
        self.openSockets = openSockets
        _ = poll.add(mailbox.wake.descriptor, reads: true, writes: false)
    }

    deinit { readBuffer.deallocate() }

    /// Works until it is told to stop.
    func run() {
        look()
        tickedAt = now.uptime
        core.sweptAt = now.uptime
        core.storedAt = now.uptime
        while true {
            let tick = limits.tickInterval.nanoseconds
            let wait = tickedAt + tick > now.uptime ? (tickedAt + tick - now.uptime) / 1_000_000 + 1 : 0
            let events = poll.wait(milliseconds: Int32(min(wait, 1000)))
            look()
            let start = now.uptime
            turn(events)
            metrics.turnSeconds.observe(
                Double(Timestamps.monotonicNanoseconds() - start) / 1e9
            )
            if let stopping, connections.isEmpty {
                for command in mailbox.end() { refuse(command) }
                stopping()
                return
            }
        }
    }

    private func look() {
        now = RelayCore.Moment(
            uptime: Timestamps.monotonicNanoseconds(),
            milliseconds: outside.milliseconds()
        )
    }

    private func turn(_ events: [Poll.Event]) {
        for command in mailbox.takeAll() { take(command) }
        for event in events {
            guard let connection = connections[event.descriptor] else { continue }
            take(event, connection)
        }
        if now.uptime >= tickedAt + limits.tickInterval.nanoseconds { tick() }
        settle()
        for connection in dead { _ = Glibc.close(connection.descriptor) }
        if !dead.isEmpty {
            openSockets.remove(dead.count)
            dead = []
        }
        composer.forget()
        for call in done { call() }
        done = []
    }

    /// Carries out effects and flushes until nothing is left to do.
    private func settle() {
        while true {
            core.fetchViews(at: now)
            let effects = core.takeEffects()
            let dirty = core.takeDirty()
            guard !effects.isEmpty || !dirty.isEmpty else { return }
            for effect in effects { carryOut(effect) }
            for session in dirty {
                if let connection = connections[session.number] { flush(connection) }
            }
        }
    }

    // MARK: - Commands

    private func take(_ command: RelayCommand) {
        switch command {
        case .accept(let socket, let account, let claims): accept(socket, account, claims)
        case .claims(let claims): core.drew(claims, at: now)
        case .membership(let id, let reply): core.answered(id, reply, at: now)
        case .views(let views): core.fetched(views, at: now)
        case .versions(let versions): core.swept(versions, at: now)
        case .stored(let isDone): core.stored(isDone: isDone)
        case .change(let change): core.hear(change)
        case .posted(let fix): core.hear(fix, at: now)
        case .event(let event): core.show(event, at: now)
        case .presence(let entries, let part, let relay, let epoch):
            core.hear(entries, part: part, from: relay, epoch: epoch, at: now)
        case .news(let news): core.hear(news, at: now)
        case .takeAway(let withdrawals, let call):
            core.takeAway(withdrawals)
            done.append(call)
        case .checkSessions(let call):
            core.checkSessions(at: now, outside.status)
            done.append(call)
        case .stop(let call):
            stopping = call
            for connection in connections.values { core.close(connection.session, .restart) }
        }
    }

    /// Ends what comes too late.
    private func refuse(_ command: RelayCommand) {
        switch command {
        case .accept(let socket, _, _):
            _ = Glibc.close(socket.descriptor)
            openSockets.remove(1)
        case .takeAway(_, let call), .checkSessions(let call), .stop(let call): call()
        default: break
        }
    }

    private func accept(_ socket: UpgradedSocket, _ account: UniqueID, _ claims: TokenClaims) {
        guard stopping == nil, poll.add(socket.descriptor, reads: false, writes: false) else {
            _ = Glibc.close(socket.descriptor)
            return openSockets.remove(1)
        }
        var size = Int32(limits.sendBufferBytes)
        let length = socklen_t(MemoryLayout<Int32>.size)
        _ = setsockopt(socket.descriptor, SOL_SOCKET, SO_SNDBUF, &size, length)
        let session = Session(
            number: socket.descriptor,
            account: account,
            claims: claims,
            at: now.uptime
        )
        connections[socket.descriptor] = Connection(
            socket,
            session: session,
            nextPingAt: now.uptime + limits.pingInterval.nanoseconds
        )
        core.open(session)
    }

    // MARK: - Effects

    private func carryOut(_ effect: RelayCore.Effect) {
        let (outside, mailbox) = (outside, mailbox)
        switch effect {
        case .drawClaims(let count):
            Task { mailbox.post(.claims(await outside.drawClaims(count))) }
        case .ask(let id, let account, let group):
            Task {
                let reply = await outside.ask(.membership(accountID: account, groupID: group))
                if case .membership(let membership) = reply {
                    mailbox.post(.membership(id, membership))
                } else {
                    mailbox.post(.membership(id, nil))
                }
            }
        case .fetch(let groups, let accounts):
            Task {
                let reply = await outside.ask(.views(groupIDs: groups, accountIDs: accounts))
                if case .views(let views) = reply {
                    mailbox.post(.views(views))
                } else {
                    mailbox.post(.views(nil))
                }
            }
        case .sweep(let accounts):
            Task {
                let reply = await outside.ask(.sweep(accountIDs: accounts))
                if case .versions(let versions) = reply {
                    mailbox.post(.versions(versions))
                } else {
                    mailbox.post(.versions(nil))
                }
            }
        case .store(let fixes):
            Task {
                let reply = await outside.ask(.storeFixes(fixes))
                mailbox.post(.stored(reply == .stored))
            }
        case .publish(let part):
            let presence = RelayPresence(entries: core.presence(part: part))
            outside.publish(part, presence.encoded(), presence.trace)
        case .tell(let relay, let news): outside.tell(relay, news.encoded(), news.trace)
        case .resume(let session):
            if let connection = connections[session.number], connection.session === session {
                resume(connection)
            }
        case .close(let session, let reason):
            if let connection = connections[session.number], connection.session === session {
                beginClose(connection, WebSocketFrame.close(code: reason.code, reason: reason.text))
            }
        }
    }

    // MARK: - Time

    private func tick() {
        tickedAt = now.uptime
        core.keepRelays(outside.livingRelays())
        if now.uptime >= checkedAt + limits.sweepInterval.nanoseconds {
            checkedAt = now.uptime
            core.checkSessions(at: now, outside.status)
        }
        core.tick(at: now)
        for connection in connections.values { tick(connection) }
        metrics.openSockets.set(Double(connections.count))
        metrics.heldGroups.set(Double(core.groups.count))
        metrics.silentGroups.set(
            Double(core.groups.values.count { !core.isUsable($0, at: now) })
        )
        metrics.unfinishedBytes.set(Double(unfinishedBytes))
        metrics.queuedBytes.set(Double(queuedBytes))
        metrics.remoteRiders.set(Double(core.remote.count))
    }

    private func tick(_ connection: Connection) {
        if let closing = connection.closing {
            if closing.deadline <= now.uptime { kill(connection) }
            return
        }
        let session = connection.session
        if let since = connection.stuckSince, now.uptime - since > limits.stuckLimit.nanoseconds {
            return core.close(session, .tooSlow)
        }
        if let since = connection.incompleteSince,
            now.uptime - since > limits.messageLimit.nanoseconds
        {
            return core.close(session, .tooSlow)
        }
        guard session.phase == .open, connection.nextPingAt <= now.uptime else { return }
        guard connection.unansweredPings < limits.missedPongs else {
            return core.close(session, .noPong)
        }
        connection.unansweredPings += 1
        connection.nextPingAt = now.uptime + limits.pingInterval.nanoseconds
        core.send(WebSocketFrame.ping, to: session)
    }

    // MARK: - Reading

    private func take(_ event: Poll.Event, _ connection: Connection) {
        guard !connection.isDead else { return }
        if event.isBroken || (event.isHalfClosed && !connection.reads) { return vanish(connection) }
        if event.isReadable {
            if connection.closing != nil { drain(connection) } else { read(connection) }
        }
        if event.isWritable, !connection.isDead { flush(connection) }
    }

    private func read(_ connection: Connection) {
        for _ in 0..<Self.readsPerTurn {
            let count = recv(connection.descriptor, readBuffer.baseAddress, Self.readBytes, 0)
            if count < 0, errno == EAGAIN || errno == EINTR { return }
            guard count > 0 else { return vanish(connection) }
            process(UnsafeRawBufferPointer(rebasing: readBuffer[..<count]), connection)
            guard connection.closing == nil, !connection.isDead else { return }
            guard connection.session.isReading else { return watch(connection, reads: false) }
            if count < Self.readBytes { return }
        }
    }

    private func process(_ bytes: UnsafeRawBufferPointer, _ connection: Connection) {
        let reading = connection.reader.read(bytes, with: spares)
        if reading.oversize > 0 { metrics.dropped(.oversize, reading.oversize) }
        if reading.binaries > 0 { metrics.dropped(.binary, reading.binaries) }
        if reading.pongs > 0 { connection.unansweredPings = 0 }
        connection.inbox += reading.messages
        pump(connection)
        if reading.end != nil {
            core.vanished(connection.session)
            return beginClose(connection, reading.replies)
        }
        if !reading.replies.isEmpty { core.send(reading.replies, to: connection.session) }
        account(unfinished: connection)
    }

    private func account(unfinished connection: Connection) {
        let held = connection.reader.heldBytes
        unfinishedBytes += held - connection.unfinishedBytes
        connection.unfinishedBytes = held
        connection.incompleteSince = held == 0 ? nil : connection.incompleteSince ?? now.uptime
        if unfinishedBytes > limits.unfinishedBytes, held > 0 {
            core.close(connection.session, .fault)
        }
    }

    /// Looks at the messages that came, as far as they need not wait.
    private func pump(_ connection: Connection) {
        while connection.session.isReading, let message = connection.inbox.popFirst() {
            core.receive(message, from: connection.session, at: now, claims: outside.claims)
        }
        if connection.inbox.isEmpty { connection.inbox = [] }
    }

    private func resume(_ connection: Connection) {
        guard connection.closing == nil, !connection.isDead else { return }
        if !connection.early.isEmpty {
            let early = connection.early
            connection.early = []
            early.withUnsafeBytes { process($0, connection) }
        } else {
            pump(connection)
        }
        guard connection.closing == nil, connection.session.isReading else { return }
        watch(connection, reads: true)
    }

    /// Reads on and forgets it: the client may still send before it sees our close.
    private func drain(_ connection: Connection) {
        for _ in 0..<Self.readsPerTurn {
            let count = recv(connection.descriptor, readBuffer.baseAddress, Self.readBytes, 0)
            if count < 0, errno == EAGAIN || errno == EINTR { return }
            guard count > 0 else { return kill(connection) }
        }
    }

    // MARK: - Writing

    private func flush(_ connection: Connection) {
        guard !connection.isDead else { return }
        while true {
            let frames = connection.session.outbox.next(Self.framesPerWrite, &composer)
            guard connection.partial != nil || !frames.isEmpty else { break }
            let (wanted, sent) = write(frames, connection)
            if sent < 0 {
                guard errno == EAGAIN || errno == EINTR else { return vanish(connection) }
                return wait(connection, hasProgress: false)
            }
            advance(connection, frames, by: sent)
            if sent < wanted { return wait(connection, hasProgress: true) }
        }
        connection.stuckSince = nil
        account(queued: 0, connection)
        watch(connection, writes: false)
        shutIfClosing(connection)
    }

    /// Writes what is left of a frame, then others.
    ///
    /// - Returns: How many bytes there were, and how many the kernel took; -1 with `errno`.
    private func write(_ frames: [[UInt8]], _ connection: Connection) -> (wanted: Int, sent: Int) {
        if connection.partial == nil, frames.count == 1 {
            return frames[0].withUnsafeBytes { ($0.count, Self.send(connection, $0)) }
        }
        writeBuffer.removeAll(keepingCapacity: true)
        if let (bytes, offset) = connection.partial { writeBuffer += bytes[offset...] }
        for frame in frames where writeBuffer.count < Self.bytesPerWrite { writeBuffer += frame }
        return writeBuffer.withUnsafeBytes { ($0.count, Self.send(connection, $0)) }
    }

    private static func send(_ connection: Connection, _ bytes: UnsafeRawBufferPointer) -> Int {
        Glibc.send(connection.descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    }

    /// Takes what was sent out of the outbox; a frame that has begun has to be ended.
    private func advance(_ connection: Connection, _ frames: [[UInt8]], by sent: Int) {
        var rest = sent
        metrics.bytesSent.add(sent)
        if let (bytes, offset) = connection.partial {
            let left = bytes.count - offset
            guard rest >= left else {
                connection.partial = (bytes, offset + rest)
                return
            }
            rest -= left
            connection.partial = nil
        }
        var whole = 0
        while rest > 0, whole < frames.count {
            let count = frames[whole].count
            if rest < count { connection.partial = (frames[whole], rest) }
            rest -= min(rest, count)
            whole += 1
        }
        guard whole > 0 else { return }
        metrics.framesSent.add(whole)
        metrics.positionsSent.add(connection.session.outbox.drop(whole))
    }

    private func wait(_ connection: Connection, hasProgress: Bool) {
        connection.stuckSince = hasProgress ? now.uptime : connection.stuckSince ?? now.uptime
        watch(connection, writes: true)
        let outbox = connection.session.outbox
        let partial = connection.partial.map { $0.bytes.count - $0.offset } ?? 0
        account(
            queued: partial + outbox.frameBytes + outbox.positionCount * MemoryLayout<Position>.stride,
            connection
        )
        if queuedBytes > limits.queuedBytes { core.close(connection.session, .tooSlow) }
    }

    private func account(queued bytes: Int, _ connection: Connection) {
        queuedBytes += bytes - connection.queuedBytes
        connection.queuedBytes = bytes
    }

    private func watch(_ connection: Connection, reads: Bool? = nil, writes: Bool? = nil) {
        let (reads, writes) = (reads ?? connection.reads, writes ?? connection.writes)
        guard reads != connection.reads || writes != connection.writes else { return }
        connection.reads = reads
        connection.writes = writes
        poll.change(connection.descriptor, reads: reads, writes: writes)
    }

    // MARK: - Closing

    /// Says the last word; what waited before is not sent any more.
    private func beginClose(_ connection: Connection, _ lastWord: [UInt8]) {
        guard connection.closing == nil, !connection.isDead else { return }
        connection.closing = Connection.Closing(
            deadline: now.uptime + limits.closeLimit.nanoseconds
        )
        connection.inbox = []
        connection.session.outbox.removeAll()
        if !lastWord.isEmpty { connection.session.outbox.add(Outbox.Frame(bytes: lastWord)) }
        watch(connection, reads: true)
        flush(connection)
    }

    private func shutIfClosing(_ connection: Connection) {
        guard connection.closing?.isShut == false else { return }
        connection.closing?.isShut = true
        _ = shutdown(connection.descriptor, Int32(SHUT_WR))
    }

    /// Closes a socket that no thread takes.
    static func close(_ socket: UpgradedSocket) { _ = Glibc.close(socket.descriptor) }

    /// The client is gone.
    private func vanish(_ connection: Connection) {
        core.vanished(connection.session)
        kill(connection)
    }

    private func kill(_ connection: Connection) {
        guard !connection.isDead else { return }
        connection.isDead = true
        account(queued: 0, connection)
        unfinishedBytes -= connection.unfinishedBytes
        connection.unfinishedBytes = 0
        poll.remove(connection.descriptor)
        connections[connection.descriptor] = nil
        connection.session.outbox.removeAll()
        dead.append(connection)
    }
}
