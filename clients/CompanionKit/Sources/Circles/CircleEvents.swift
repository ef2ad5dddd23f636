internal import ClientTransport
public import Foundation

/// Announces one person's arrivals and departures, each once (seed section 8).
///
/// Whoever detects a crossing, a tick or a fence of the system, records it here, and this decides
/// whether it is news: arrivals and departures at a place alternate. What is to be announced is
/// written down first, under an id of its own, and crossed off when the server has it. A lost
/// answer, a crash and a dead network therefore neither lose an announcement nor repeat it.
public actor CircleEvents {
    private let api: CompanionAPI
    private let store: any CompanionStore
    private let key: String
    private let queue = TurnQueue()
    private var memory: CircleMemory

    /// Makes the announcer of one account.
    ///
    /// - Parameters:
    ///   - api: Carries the announcements.
    ///   - store: Keeps the memory; each account has its own key in it.
    ///   - account: Who moves.
    public init(api: CompanionAPI, store: any CompanionStore, account: AccountID) {
        self.api = api.acting(as: account)
        self.store = store
        key = "circle-events-\(account)"
        memory = store.value(CircleMemory.self, for: key) ?? CircleMemory()
    }

    /// Crossings that were not announced, newest first, for a diagnostics screen.
    public var suppressions: [Suppression] { memory.suppressions }

    /// Announcements that wait for the network.
    public var pendingCount: Int { memory.pending.count }

    /// Records a crossing.
    ///
    /// - Parameters:
    ///   - crossing: What was crossed.
    ///   - circle: Whose place it is.
    /// - Returns: Whether the circle has been told; false also when it will be told later.
    /// - Throws: `CancellationError` when the task is cancelled.
    @discardableResult
    public func record(_ crossing: Crossing, in circle: GroupID) async throws -> Bool {
        try await queue.run { try await self.recordAlone(crossing, circle) }
    }

    /// Sends what waits.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func flush() async throws {
        _ = try await queue.run { try await self.sendPending() }
    }

    /// Makes memory and position agree (spec 4.3): a place that was left while nobody watched is
    /// announced as left now, and what is remembered of places that are gone is forgotten.
    ///
    /// - Parameters:
    ///   - circle: The circle.
    ///   - position: Where the phone is, trusted.
    ///   - places: The circle's places as just fetched.
    ///   - now: The wall clock.
    /// - Returns: The places that were left.
    /// - Throws: `CancellationError` when the task is cancelled.
    public func reconcile(
        _ circle: GroupID,
        at position: Coordinate,
        places: [CirclePlace],
        now: Date
    ) async throws -> [PlaceID] {
        try await queue.run {
            let outcome = await CircleMemory.reconcile(
                self.memory.announced,
                of: circle,
                at: position,
                places: places
            )
            for place in outcome.missedDepartures {
                let crossing = Crossing(placeID: place, kind: .depart, occurredAt: now)
                _ = try await self.recordAlone(crossing, circle)
            }
            await self.forget(outcome.staleKeys)
            return outcome.missedDepartures
        }
    }

    /// Drops what waits for circles in which the person does not share: they paused or left.
    ///
    /// - Parameter circles: The circles that may be told.
    public func dropPending(except circles: Set<GroupID>) async {
        // A caller who is cancelled meanwhile gets no further; the next one drops them.
        try? await queue.run { await self.keepPending(of: circles) }
    }

    // MARK: - Alone

    private func recordAlone(_ crossing: Crossing, _ circle: GroupID) async throws -> Bool {
        let event = CircleMemory.Pending(
            id: EventID(rawValue: UUID()),
            circleID: circle,
            placeID: crossing.placeID,
            kind: crossing.kind,
            occurredAt: crossing.occurredAt
        )
        if let reason = memory.reasonToSuppress(event.kind, event.key) {
            memory.suppress(event, because: reason)
            save()
            return false
        }
        memory.enqueue(event)
        save()
        return try await sendPending().contains(event.id)
    }

    /// Sends what waits, oldest first; a circle whose turn fails keeps its order and waits on.
    ///
    /// - Returns: What the server announced.
    @discardableResult
    private func sendPending() async throws -> Set<EventID> {
        var announced: Set<EventID> = []
        var stalled: Set<GroupID> = []
        for event in memory.pending where !stalled.contains(event.circleID) {
            do {
                let wasAnnounced = try await api.announce(
                    event.kind,
                    at: event.placeID,
                    in: event.circleID,
                    occurredAt: event.occurredAt,
                    id: event.id
                )
                memory.settle(event, wasAnnounced: wasAnnounced)
                if wasAnnounced { announced.insert(event.id) }
            } catch let error as CompanionError where error.isRefusalForGood {
                memory.settle(event, wasAnnounced: false)
                memory.suppress(event, because: .refused)
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                stalled.insert(event.circleID)
                continue
            }
            save()
        }
        return announced
    }

    private func forget(_ keys: Set<String>) {
        guard !keys.isEmpty else { return }
        memory.inside.subtract(keys)
        memory.pending.removeAll { keys.contains($0.key) }
        save()
    }

    private func keepPending(of circles: Set<GroupID>) {
        let count = memory.pending.count
        memory.pending.removeAll { !circles.contains($0.circleID) }
        if memory.pending.count < count { save() }
    }

    private func save() { store.setValue(memory, for: key) }
}
