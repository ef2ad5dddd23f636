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
    static let readBytes = 16 * 1024
    static let readsPerTurn = 4
    /// Frames and bytes of one write.
    static let framesPerWrite = 32
    static let bytesPerWrite = 128 * 1024

    let core: RelayCore
    let outside: RelayOutside
    let mailbox: RelayMailbox
    let limits: RelayLimits
    let metrics: RelayMetrics
    let openSockets: SocketCount
    /// ``RelayLimits/tickInterval`` and ``RelayLimits/turnPace`` in nanoseconds: each turn asks for them.
    let tickInterval: UInt64
    let turnPace: UInt64
    /// Whether this turn wrote positions.
    var hasSentPositions = false
    let poll = Poll()
    let spares = WebSocketReader.Spares()
    var composer = PositionComposer()
    var connections = ConnectionTable()
    var dead: [Connection] = []
    var now = RelayCore.Moment(uptime: 0, milliseconds: 0)
    var tickedAt: UInt64 = 0
    var checkedAt: UInt64 = 0
    var walkedAt: UInt64 = 0
    var unfinishedBytes = 0
    var queuedBytes = 0
    var done: [@Sendable () -> Void] = []
    var stopping: (@Sendable () -> Void)?
    let readBuffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: RelayLoop.readBytes,
        alignment: 16
    )
    var writeBuffer: [UInt8] = []
    /// The frames of one write.
    var frames: [Outbox.Ready] = []

    init(
        _ outside: RelayOutside,
        mailbox: RelayMailbox,
        limits: RelayLimits,
        metrics: RelayMetrics,
        openSockets: SocketCount
    ) {
        core = RelayCore(limits: limits, metrics: metrics, status: outside.status)
        self.outside = outside
        self.mailbox = mailbox
        self.limits = limits
        self.metrics = metrics
        self.openSockets = openSockets
        tickInterval = limits.tickInterval.nanoseconds
        turnPace = limits.turnPace.nanoseconds
        _ = poll.add(mailbox.wake.descriptor, reads: true, writes: false)
    }

    deinit { readBuffer.deallocate() }

    /// Works until it is told to stop.
    func run() {
        look()
        tickedAt = now.uptime
        core.sweptAt = now.uptime
        core.storedAt = now.uptime
        core.start()
        settle()
        while true {
            poll.wait(milliseconds: millisecondsToWait())
            look()
            let start = Timestamps.monotonicNanoseconds()
            turn(poll.events)
            let turnTime = Timestamps.monotonicNanoseconds() - start
            metrics.turnSeconds.observe(Double(turnTime) / 1e9)
            rest(after: turnTime)
            if let stopping, connections.isEmpty {
                for command in mailbox.end() { refuse(command) }
                for call in core.ends.endAll() { call() }
                stopping()
                return
            }
        }
    }

    /// Lets a moment pass after positions were written, so that what comes meanwhile is one turn (decision
    /// 0092).
    private func rest(after turnTime: UInt64) {
        defer { hasSentPositions = false }
        guard hasSentPositions, turnTime < turnPace else { return }
        var time = timespec(tv_sec: 0, tv_nsec: Int(turnPace - turnTime))
        _ = nanosleep(&time, nil)
    }

    /// How long nothing has to be done unless something comes.
    private func millisecondsToWait() -> Int32 {
        var end = tickedAt + tickInterval
        if let gathered = core.gathering.end { end = min(end, gathered) }
        let now = outside.uptime()
        guard end > now else { return 0 }
        return Int32(clamping: min((end - now + 999_999) / 1_000_000, 1000))
    }

    func look() {
        now = RelayCore.Moment(
            uptime: outside.uptime(),
            milliseconds: outside.milliseconds()
        )
    }

    func turn(_ events: [Poll.Event]) {
        core.begin(at: now)
        let isWoken = events.contains { $0.descriptor == mailbox.wake.descriptor }
        for command in mailbox.takeAll(isWoken: isWoken) { take(command) }
        for event in events {
            guard let connection = connections[event.descriptor] else { continue }
            take(event, connection)
        }
        if now.uptime >= tickedAt + tickInterval { tick() }
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
    func settle() {
        while true {
            core.fetchViews(at: now)
            let effects = core.takeEffects()
            for effect in effects { carryOut(effect) }
            // It may have stood still since the turn began.
            look()
            core.noteStandstill(at: now)
            let hasFlushed = core.flushDirty(at: now) { session in
                if let connection = connections[session.number] { flush(connection) }
            }
            guard hasFlushed || !effects.isEmpty || !core.effects.isEmpty else { return }
        }
    }

    // MARK: - Commands

    func take(_ command: RelayCommand) {
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
            core.checkSessions()
            guard let call else { break }
            if let due = core.ends.wait(limit: limits.waitingChecks, call) { done.append(due) }
        case .departed(let departures, let call):
            core.takeIn(departures)
            done.append(call)
        case .endsTold(let round, let isTaken): done += core.ends.end(round, isTaken: isTaken)
        case .looked(let isDone, let standstill):
            core.looked(isDone, after: standstill, at: now)
        case .stop(let call):
            stopping = call
            for connection in connections.values { core.close(connection.session, .restart) }
        }
    }

    /// Ends what comes too late.
    func refuse(_ command: RelayCommand) {
        switch command {
        case .accept(let socket, _, _):
            _ = Glibc.close(socket.descriptor)
            openSockets.remove(1)
        case .takeAway(_, let call), .departed(_, let call), .stop(let call): call()
        case .checkSessions(let call): call?(true)
        default: break
        }
    }

    func accept(_ socket: UpgradedSocket, _ account: UniqueID, _ claims: TokenClaims) {
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
            at: now.milliseconds,
            nextPingAt: now.uptime + limits.pingInterval.nanoseconds
        )
        core.open(session)
        // It may have been revoked since the upgrade was admitted, and no look comes after that.
        if case .revoked = outside.status(session.revocation) { core.close(session, .sessionEnded) }
    }
}
