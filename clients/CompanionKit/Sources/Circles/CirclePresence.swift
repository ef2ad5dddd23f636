internal import ClientTransport
public import Foundation

/// A circle member's tick: tells where the phone is and decides what was entered and left (spec 4.2).
///
/// It takes three readings of time, which must never become fewer. The fix's **age**, measured on
/// the uptime, decides whether the fix is trusted, so setting the clock changes nothing. The fix's
/// **wall time** is what the others are told as "last seen". The stay at a place is measured by the
/// wall clock **now**: a parked phone stops making fixes, and by their time nobody would ever have
/// stayed long enough.
public actor CirclePresence {
    /// Between ticks while the caller shares in some circle.
    public static let activeInterval = Duration.seconds(2 * 60)
    /// Between ticks while they share in none.
    public static let idleInterval = Duration.seconds(30 * 60)
    /// Between ticks while the phone is parked, whatever a tick says: systems wake apps no oftener.
    public static let parkedInterval = Duration.seconds(15 * 60)
    /// The oldest fix that decides about places.
    public static let trustedAge = Duration.seconds(15 * 60)

    private let api: CompanionAPI
    private let session: any SessionProvider
    private let store: any CompanionStore
    private var epoch: Int?
    private var evaluators: [GroupID: GeofenceEvaluator] = [:]
    private var interval = CirclePresence.activeInterval
    private var announcer: (account: AccountID, events: CircleEvents)?
    private let ticks = TurnQueue()

    /// The places nearby, for the system's geofences; their crossings go to ``events()``.
    public private(set) var gateCandidates: [GateCandidate] = []

    /// Makes a presence.
    ///
    /// - Parameters:
    ///   - api: Carries the calls.
    ///   - session: Says who is signed in.
    ///   - store: Keeps what was announced.
    public init(api: CompanionAPI, session: any SessionProvider, store: any CompanionStore) {
        self.api = api
        self.session = session
        self.store = store
    }

    /// The announcer of whoever is signed in, nil when nobody is.
    ///
    /// It is the one door for crossings that a geofence of the system saw.
    public func events() async -> CircleEvents? {
        await session.state().account.map { events(of: $0.id) }
    }

    /// Runs one tick.
    ///
    /// One that comes while another runs, as from a background refresh, waits for its end.
    ///
    /// - Parameters:
    ///   - reading: Where the phone was, and when by the wall clock.
    ///   - age: How old that is by the uptime.
    ///   - now: The wall clock.
    /// - Returns: How long to wait until the next tick. While a stay has begun that does not count
    ///   yet, no longer than until it does.
    /// - Throws: `CancellationError` when the task is cancelled, and nothing else: what fails is
    ///   tried again at the next tick.
    public func tick(_ reading: LocationReading, age: Duration, now: Date) async throws -> Duration
    {
        try await ticks.run { try await self.tickAlone(reading, age: age, now: now) }
    }

    private func tickAlone(
        _ reading: LocationReading,
        age: Duration,
        now: Date
    ) async throws -> Duration {
        let state = await session.state()
        if let epoch, epoch != state.epoch {
            evaluators = [:]
            // Places of the last person are none of the next one's.
            gateCandidates = []
        }
        epoch = state.epoch
        guard let account = state.account else { return interval }
        let api = api.acting(as: account.id)
        guard let circles = try await joinedCircles(api) else { return interval }
        let sharing = circles.filter { $0.isShared(by: account.id) }
        interval = sharing.isEmpty ? Self.idleInterval : Self.activeInterval
        let joined = Set(circles.map(\.id))
        evaluators = evaluators.filter { joined.contains($0.key) }
        let events = events(of: account.id)
        await events.dropPending(except: Set(sharing.map(\.id)))
        guard !sharing.isEmpty else {
            gateCandidates = []
            return interval
        }
        try await isolated { try await api.postFix(reading) }
        try await events.flush()
        guard age <= Self.trustedAge else { return interval }
        var places: [(circle: GroupID, place: GeofencePlace)] = []
        for circle in sharing {
            let fences = try await isolated {
                let places = try await api.places(in: circle.id)
                return try await self.watch(circle.id, reading.coordinate, now, places, events)
            }
            places += (fences ?? []).map { (circle.id, $0) }
        }
        // A failed fetch must not take down the fences that stand.
        if !places.isEmpty {
            gateCandidates = ProximityGate.candidates(near: reading.coordinate, places)
        }
        return wait(sharing.map(\.id), now: now)
    }

    // MARK: - Steps

    /// The circles in which the caller is a member; nil when they cannot be had now.
    private func joinedCircles(_ api: CompanionAPI) async throws -> [CompanionGroup]? {
        try await isolated { try await api.groups(.circle) }?
            .filter { $0.status == .accepted }
    }

    /// Detects and announces what was crossed in one circle.
    ///
    /// - Returns: Those of the circle's places that are somewhere.
    private func watch(
        _ circle: GroupID,
        _ position: Coordinate,
        _ now: Date,
        _ places: [CirclePlace],
        _ events: CircleEvents
    ) async throws -> [GeofencePlace] {
        var evaluator = evaluators[circle] ?? GeofenceEvaluator()
        // What reconciling announces is old news to the evaluator.
        let left = try await events.reconcile(circle, at: position, places: places, now: now)
        for place in left { evaluator.noteDeparture(from: place) }
        let fences = places.compactMap { GeofencePlace($0) }
        let crossings = evaluator.evaluate(at: position, now: now, places: fences)
        evaluators[circle] = evaluator
        for crossing in crossings { try await events.record(crossing, in: circle) }
        return fences
    }

    private func wait(_ sharing: [GroupID], now: Date) -> Duration {
        let arrivals = sharing.compactMap { evaluators[$0]?.timeToArrival(now: now) }
        return min(interval, arrivals.min().map { max($0, .seconds(1)) } ?? interval)
    }

    /// Runs a step whose failure must not stop the others.
    private func isolated<Value: Sendable>(
        _ step: () async throws -> Value
    ) async throws(CancellationError) -> Value? {
        do {
            return try await step()
        } catch {
            if error is CancellationError || Task.isCancelled { throw CancellationError() }
            return nil
        }
    }

    private func events(of account: AccountID) -> CircleEvents {
        if let announcer, announcer.account == account { return announcer.events }
        let events = CircleEvents(api: api, store: store, account: account)
        announcer = (account, events)
        return events
    }
}
