public import Observation

/// The live relay for a user interface: what it shows, and the few things a screen does with it.
///
/// It runs the relay while something is followed, and passes positions on while that is a convoy.
/// Circles get theirs from ``CircleSync``, by minutes. A relay has one client, and nobody else runs it.
@MainActor
@Observable
public final class ConvoyLiveClient {
    /// What a screen shows.
    public private(set) var snapshot = RelaySnapshot()
    /// Whether the relay is kept connected.
    public private(set) var isRunning = false

    @ObservationIgnored private let relay: ConvoyRelay
    @ObservationIgnored private let hub: LocationHub
    @ObservationIgnored private let session: any SessionProvider
    @ObservationIgnored private var running: Task<Void, Never>?
    @ObservationIgnored private var watching: Task<Void, Never>?
    @ObservationIgnored private var sharing: Task<Void, Never>?
    /// Tells what was followed before a stop from what was followed after it.
    @ObservationIgnored private var stopCount = 0
    @ObservationIgnored private var isStopping = false
    /// Whether something else is followed since a stop began.
    @ObservationIgnored private var hasChanged = false

    /// Makes a client.
    ///
    /// - Parameters:
    ///   - relay: The connection.
    ///   - hub: The phone's positions.
    ///   - session: Says whether anybody is signed in.
    public init(relay: ConvoyRelay, hub: LocationHub, session: any SessionProvider) {
        self.relay = relay
        self.hub = hub
        self.session = session
    }

    deinit {
        running?.cancel()
        watching?.cancel()
        sharing?.cancel()
    }

    /// Whether the live relay is part of this version.
    public var isAvailable: Bool { relay.features.liveRelay }

    /// Follows a convoy, nil for none; to follow one is to share in it.
    public func follow(convoy: CompanionGroup?) async {
        let stops = stopCount
        await relay.setConvoy(convoy.map { LiveGroup($0) })
        await adjust(stops)
    }

    /// Follows circles while a screen shows them.
    public func follow(circles: [CompanionGroup]) async {
        let stops = stopCount
        await relay.setNotifyingCircles(circles.map { LiveGroup($0) })
        await adjust(stops)
    }

    /// Offers places to ride to.
    public func offer(_ candidates: [SpinCandidate]) async { await relay.offerSpin(candidates) }

    /// Votes.
    public func vote(_ index: Int) async { await relay.vote(index) }

    /// Ends this phone's own vote with what leads.
    public func closeVote() async { await relay.closeSpin() }

    /// Disconnects; what is followed is taken up again by the next change of it.
    public func stop() async {
        stopCount += 1
        guard let running else { return }
        isStopping = true
        // A run that is still to begin would not hear of the relay's stop.
        running.cancel()
        await relay.stop()
        await running.value
        isStopping = false
        guard hasChanged else { return }
        hasChanged = false
        await adjust(stopCount)
    }

    // MARK: - Details

    /// Runs the relay when something is followed, and shares positions when that is a convoy.
    private func adjust(_ stops: Int) async {
        show(await relay.snapshot)
        guard isAvailable, await session.state().account != nil, stops == stopCount else { return }
        guard !isStopping else {
            hasChanged = true
            return
        }
        if snapshot.convoyID != nil || !snapshot.circleIDs.isEmpty { start() }
        if snapshot.convoyID == nil {
            sharing?.cancel()
            sharing = nil
        } else if isRunning, sharing == nil {
            sharing = Task { [relay, hub] in await Self.share(hub, relay) }
        }
    }

    private func start() {
        if watching == nil {
            watching = Task { [weak self, relay] in
                for await snapshot in await relay.snapshots() { self?.show(snapshot) }
            }
        }
        guard running == nil else { return }
        isRunning = true
        running = Task { [weak self, relay] in
            let hasRun = (try? await relay.run()) != nil
            await self?.ended(hasRun)
        }
    }

    private func ended(_ hasRun: Bool) async {
        running = nil
        isRunning = false
        sharing?.cancel()
        sharing = nil
        // Something may have been followed while the last run was on its way out. A relay that
        // somebody else runs, or that a client of before has not let go of yet, turns the next run away
        // as well, and as fast.
        let count = stopCount
        if !hasRun { try? await Task.sleep(for: .seconds(1)) }
        if !isStopping { await adjust(count) }
    }

    private func show(_ snapshot: RelaySnapshot) {
        self.snapshot = snapshot
        guard snapshot.convoyID == nil else { return }
        // The server may end a convoy, too.
        sharing?.cancel()
        sharing = nil
    }

    private nonisolated static func share(_ hub: LocationHub, _ relay: ConvoyRelay) async {
        let sink = await hub.attach(every: LocationHub.convoyInterval)
        for await fix in sink.fixes { await relay.sendLocationWhenDue(fix.reading) }
        await hub.detach(sink)
    }
}
