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
    /// A token or a connection that cannot be had, or that confirms no group, for this long fails
    /// the attempt.
    static let openTimeout = Duration.seconds(20)
    /// Pieces of voice that wait for a slow player.
    static let voiceLimit = 32
    /// Arrivals and departures that wait for a slow reader.
    static let placeEventLimit = 16

    /// The open connection.
    struct Live {
        /// Tells a connection from the one before it.
        let number: Int
        let connection: any RelayConnection
        let openedAtUptime: Duration
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

    let socket: any RelaySocket
    private let firstBackoff: ReconnectBackoff
    var epoch: Int?
    var isRunning = false
    private var runCount = 0
    var connectionCount = 0
    private var pause: Task<Void, Never>?
    /// Ends the wait for a token or a connection.
    var giveUp: (@Sendable () -> Void)?
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
    /// A run ends in time whatever the socket does: what cannot be opened is given up after 20 s,
    /// what cannot be sent after 10 s, what does not close is left to itself after 3 s. A connection
    /// on which the relay confirms no group for 20 s is tried anew.
    ///
    /// - Throws: ``RelayError/alreadyRunning`` when it runs already, and nothing else: whatever
    ///   goes wrong is shown and tried again.
    public func run() async throws(RelayError) {
        guard !isRunning else { throw .alreadyRunning }
        isRunning = true
        isStopped = false
        runCount += 1
        let number = runCount
        state.clearDisplay()
        await withTaskCancellationHandler {
            await keepConnected()
        } onCancel: {
            Task { await self.stop(run: number) }
        }
        isRunning = false
    }

    /// Ends the ``run()`` that is under way; what is followed stays for the next run.
    ///
    /// One that is still to begin is ended by cancelling its task.
    public func stop() async {
        isStopped = true
        await interrupt()
    }

    /// Ends a run that was cancelled; when this comes, the next one may be under way already.
    func stop(run number: Int) async {
        guard isRunning, runCount == number else { return }
        await stop()
    }

    /// Ends whatever the run waits for.
    private func interrupt() async {
        pause?.cancel()
        giveUp?()
        await live?.connection.close()
    }

    var isWorthTrying: Bool {
        !isStopped && !state.wanted.isEmpty && features.liveRelay
    }

    private func keepConnected() async {
        await checkSession()
        publish()
        let housekeeping = Task { await self.keepHouse() }
        defer { housekeeping.cancel() }
        var backoff = firstBackoff
        while isWorthTrying, !Task.isCancelled {
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

    // MARK: - Details

    func publish() {
        let snapshot = state.snapshot
        guard snapshot != published else { return }
        published = snapshot
        snapshotReaders.send(snapshot)
    }
}
