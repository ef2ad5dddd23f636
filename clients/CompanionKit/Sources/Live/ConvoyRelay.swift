internal import Foundation

/// The live relay as a phone sees it: one connection for a convoy and any number of circles.
///
/// It connects while something is followed, joins, keeps trying with growing pauses, and holds what
/// came: peers until their time is up, the vote, who speaks. When somebody else signs in everything
/// is forgotten at once, so that the next person's position never reaches the last one's convoy.
public actor ConvoyRelay {
    /// Positions go out no oftener, by the uptime.
    public static let sendInterval = Duration.seconds(2)
    /// Between two looks at the session, the peers' time and the token's.
    static let housekeepingInterval = Duration.seconds(5)
    /// A token is replaced this long before it ends.
    static let tokenMargin = Duration.seconds(60)
    /// Between two tries to replace it.
    static let tokenRetryInterval = Duration.seconds(10)
    /// Pieces of voice that wait for a slow player.
    static let voiceLimit = 32
    /// Arrivals and departures that wait for a slow reader.
    static let placeEventLimit = 16

    /// The open connection.
    struct Live {
        /// Tells a connection from the one before it.
        let number: Int
        let connection: any RelayConnection
        var token: BearerToken
        /// Groups whose join went out.
        var joined: Set<GroupID> = []
        /// The uptime before which the token is not asked for again.
        var renewalNotBefore = Duration.zero
    }

    let session: any SessionProvider
    let clock: any CompanionClock
    /// What is switched on.
    public nonisolated let features: CompanionFeatures
    var state: RelayState
    var live: Live?
    var isStopped = false

    private let socket: any RelaySocket
    private let firstBackoff: ReconnectBackoff
    var epoch: Int?
    var isRunning = false
    private var connectionCount = 0
    private var pause: Task<Void, Never>?
    private var opening: Task<any RelayConnection, any Error>?
    var refusedToken: String?
    private var published = RelaySnapshot()
    private let snapshotReaders = Broadcast<RelaySnapshot>(limit: 1)
    let placeEventReaders = Broadcast<LivePlaceEvent>(limit: placeEventLimit)
    let voiceReaders = Broadcast<VoiceChunk>(limit: voiceLimit)
    var lastSentAtUptime: Duration?
    /// Who waits for the answer to each join of the open connection, in turn; nil for nobody.
    var joins: [GroupID: [AsyncStream<Bool>.Continuation?]] = [:]

    /// Makes a relay client.
    ///
    /// - Parameters:
    ///   - socket: Opens connections.
    ///   - session: Says who is signed in.
    ///   - features: What is switched on.
    ///   - clock: The time it lives by.
    ///   - backoff: The pauses between connections.
    public init(
        socket: any RelaySocket,
        session: any SessionProvider,
        features: CompanionFeatures = .standard,
        clock: any CompanionClock = SystemCompanionClock(),
        backoff: ReconnectBackoff = ReconnectBackoff()
    ) {
        self.socket = socket
        self.session = session
        self.features = features
        self.clock = clock
        firstBackoff = backoff
        state = RelayState(features: features)
    }

    /// What a screen shows now.
    public var snapshot: RelaySnapshot { state.snapshot }

    /// What a screen shows, now and after each change; the newest alone waits for a slow reader.
    public func snapshots() -> AsyncStream<RelaySnapshot> {
        snapshotReaders.stream(first: state.snapshot)
    }

    /// Arrivals and departures as they happen; the oldest go when 16 wait.
    public nonisolated func placeEvents() -> AsyncStream<LivePlaceEvent> {
        placeEventReaders.stream()
    }

    /// Pieces of voice, when it is switched on; the oldest go when 32 wait.
    public nonisolated func voice() -> AsyncStream<VoiceChunk> { voiceReaders.stream() }

    // MARK: - What is followed

    /// Follows a convoy in place of the one of before; nil follows none.
    public func setConvoy(_ group: LiveGroup?) async {
        await checkSession()
        state.setConvoy(group)
        await follow()
    }

    /// Follows circles, for arrivals and members' positions, in place of those of before.
    public func setNotifyingCircles(_ groups: [LiveGroup]) async {
        await checkSession()
        state.setCircles(groups)
        await follow()
    }

    /// Brings the connection in line with what is followed.
    ///
    /// An added group joins the open connection. There is no frame to leave with: a removed one
    /// needs a new connection.
    private func follow() async {
        publish()
        guard !state.wanted.isEmpty else { return await interrupt() }
        guard let live else { return }
        if live.joined.isSubset(of: state.wanted.map(\.id)) {
            do { try await sendJoins() } catch { await live.connection.close() }
        } else {
            await live.connection.close()
        }
    }

    // MARK: - Running

    /// Keeps the connection until ``stop()``, cancellation, or nothing is followed any more.
    ///
    /// - Throws: ``RelayError/alreadyRunning`` when it runs already, and nothing else: whatever
    ///   goes wrong is shown and tried again.
    public func run() async throws(RelayError) {
        guard !isRunning else { throw .alreadyRunning }
        isRunning = true
        isStopped = false
        state.clearDisplay()
        await withTaskCancellationHandler {
            await keepConnected()
        } onCancel: {
            Task { await self.stop() }
        }
        isRunning = false
    }

    /// Ends ``run()``; what is followed stays for the next run.
    public func stop() async {
        isStopped = true
        await interrupt()
    }

    /// Ends whatever the run waits for.
    private func interrupt() async {
        pause?.cancel()
        opening?.cancel()
        await live?.connection.close()
    }

    private var isWorthTrying: Bool {
        !isStopped && !state.wanted.isEmpty && features.liveRelay
    }

    private func keepConnected() async {
        await checkSession()
        publish()
        let housekeeping = Task { await self.keepHouse() }
        defer { housekeeping.cancel() }
        var backoff = firstBackoff
        while isWorthTrying {
            let hadJoined = await attempt()
            state.disconnect()
            publish()
            guard isWorthTrying else { break }
            await wait(for: backoff.delay(hadJoined: hadJoined))
        }
        if state.wanted.isEmpty { state.clearDisplay() } else { state.disconnect() }
        publish()
    }

    private func wait(for delay: Duration) async {
        let pause = Task { [clock] in _ = try? await clock.sleep(for: delay) }
        self.pause = pause
        await pause.value
        self.pause = nil
    }

    // MARK: - One attempt

    /// Connects and listens until the connection ends.
    ///
    /// - Returns: Whether it had worked, so that the next pause may be short.
    private func attempt() async -> Bool {
        guard let token = await freshToken() else { return false }
        // Before it goes anywhere: it may be somebody else's by now, for another server.
        await checkSession()
        guard isWorthTrying else { return false }
        do {
            let connection = try await open(token)
            await checkSession()
            guard isWorthTrying else {
                await connection.close()
                return false
            }
            connectionCount += 1
            live = Live(number: connectionCount, connection: connection, token: token)
        } catch {
            note(error, token)
            return false
        }
        var wasReplaced = false
        do {
            try await listen()
        } catch {
            note(error, live?.token ?? token)
            wasReplaced = (error as? RelayError)?.isReplacement ?? false
        }
        await live?.connection.close()
        live = nil
        answerJoins(false)
        // Two phones of one person would take the connection from each other for ever.
        return state.isConnected && !wasReplaced
    }

    /// A task of its own, so that a stop need not wait for a server that does not answer.
    private func open(_ token: BearerToken) async throws -> any RelayConnection {
        let opening = Task { [socket] in try await socket.open(bearer: token.text) }
        self.opening = opening
        defer { self.opening = nil }
        return try await opening.value
    }

    private func listen() async throws {
        try await sendJoins()
        while let text = try await live?.connection.receive() {
            guard let frame = RelayFrame(text) else { continue }
            guard await take(frame) else { return }
        }
    }

    /// A connection that had worked and broke is no news: the next one is on its way.
    private func note(_ error: any Error, _ token: BearerToken) {
        if (error as? RelayError)?.isAboutToken == true { refusedToken = token.text }
        if !state.isConnected { state.lastError = RelayError.message(of: error) }
    }

    private func sendJoins() async throws {
        while let live,
            let group = state.wanted.first(where: { !live.joined.contains($0.id) })
        {
            // Marked first: a change of what is followed may come while the frame goes out.
            self.live?.joined.insert(group.id)
            joins[group.id, default: []].append(nil)
            try await live.connection.send(OutboundFrame.join(group.id).text)
        }
    }

    /// Takes a frame in.
    ///
    /// - Returns: Whether the attempt goes on.
    private func take(_ frame: RelayFrame) async -> Bool {
        switch frame {
        case .authenticated(let milliseconds):
            live?.token.expiresAt = Date(milliseconds: milliseconds)
        case .joined(let group?): answerJoin(of: group, true)
        case .error(_, let group?): answerJoin(of: group, false)
        default: break
        }
        let action = state.apply(frame, at: clock.uptime)
        live?.joined.formIntersection(state.wanted.map(\.id))
        publish()
        switch action {
        case .proceed: break
        case .endAttempt: return false
        case .announce(let event): placeEventReaders.send(event)
        case .play(let chunk): voiceReaders.send(chunk)
        }
        await closeFinishedSpin()
        return true
    }

    // MARK: - Details

    func publish() {
        let snapshot = state.snapshot
        guard snapshot != published else { return }
        published = snapshot
        snapshotReaders.send(snapshot)
    }
}
