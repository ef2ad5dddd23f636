import Foundation
import Testing

@testable import CompanionKit

/// Cases 90 to 96, defects 2, 10 and the holes of spec 4.3.
@Suite struct CircleEventsTests {
    let server = FakeServer()
    let store = InMemoryCompanionStore()
    let now = Date(timeIntervalSince1970: 1_800_000_000)

    /// The announcer as a launch of the app makes it.
    func events(_ account: AccountID = People.me) -> CircleEvents {
        CircleEvents(
            api: CompanionAPI(transport: server, session: FakeSession(account)),
            store: store,
            account: account
        )
    }

    func crossing(_ kind: CrossingKind, _ place: PlaceID = Places.home) -> Crossing {
        Crossing(placeID: place, kind: kind, occurredAt: now)
    }

    func fail(_ status: Int?) {
        server.change { $0.failures = [("/api/circles/\(Groups.circle)/events", status)] }
    }

    // MARK: - The gate

    @Test func `lets arrivals and departures alternate`() async throws {
        let events = events()
        #expect(try await events.record(crossing(.arrive), in: Groups.circle))
        #expect(try await !events.record(crossing(.arrive), in: Groups.circle))
        #expect(try await events.record(crossing(.depart), in: Groups.circle))
        #expect(try await !events.record(crossing(.depart), in: Groups.circle))
        #expect(server.announced.count == 2)
        let reasons = await events.suppressions.map(\.reason)
        #expect(reasons == [.noArrivalToDepartFrom, .duplicate])
    }

    @Test func `keeps circles and places apart`() async throws {
        let events = events()
        try await events.record(crossing(.arrive), in: Groups.circle)
        #expect(try await events.record(crossing(.arrive), in: Groups.otherCircle))
        #expect(try await events.record(crossing(.arrive, Places.work), in: Groups.circle))
        #expect(try await !events.record(crossing(.depart, Places.work), in: Groups.otherCircle))
    }

    @Test func `remembers over a launch, and not for somebody else`() async throws {
        try await events().record(crossing(.arrive), in: Groups.circle)
        #expect(try await !events().record(crossing(.arrive), in: Groups.circle))
        #expect(try await events(People.bob).record(crossing(.arrive), in: Groups.circle))
    }

    @Test func `announces once what a fence and a tick see together`() async throws {
        let events = events()
        let posted = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    (try? await events.record(crossing(.arrive), in: Groups.circle)) ?? false
                }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(posted == 1)
        #expect(server.announced.count == 1)
    }

    // MARK: - Failures

    @Test func `sends a failed arrival later, under the same id and with its own time`()
        async throws
    {
        let events = events()
        fail(nil)
        #expect(try await !events.record(crossing(.arrive), in: Groups.circle))
        #expect(try await !events.record(crossing(.arrive), in: Groups.circle))
        server.change { $0.failures = [] }
        try await events.flush()
        #expect(try await events.record(crossing(.depart), in: Groups.circle))
        let bodies = server.postedEvents()
        #expect(bodies.map { $0["kind"]?.text } == ["arrive", "arrive", "depart"])
        #expect(bodies[0]["clientEventId"] == bodies[1]["clientEventId"])
        #expect(bodies[1]["timestampMs"]?.integer == now.milliseconds)
    }

    @Test func `creates nothing twice when an answer is lost`() async throws {
        server.change { $0.losesAnswers = true }
        #expect(try await !events().record(crossing(.arrive), in: Groups.circle))
        server.change { $0.losesAnswers = false }
        // The app was ended between the call and its answer.
        try await events().flush()
        #expect(server.announced.count == 1)
        #expect(await events().pendingCount == 0)
    }

    @Test func `keeps the order of what waits`() async throws {
        let events = events()
        fail(503)
        try await events.record(crossing(.arrive), in: Groups.circle)
        try await events.record(crossing(.depart), in: Groups.circle)
        #expect(await events.pendingCount == 2)
        server.change { $0.failures = [] }
        try await events.flush()
        #expect(server.postedEvents().suffix(2).map { $0["kind"]?.text } == ["arrive", "depart"])
    }

    @Test func `does not let one circle hold up another`() async throws {
        let events = events()
        fail(nil)
        try await events.record(crossing(.arrive), in: Groups.circle)
        #expect(try await events.record(crossing(.arrive), in: Groups.otherCircle))
    }

    @Test(arguments: [400, 404, 422])
    func `gives up what the server refuses for good`(status: Int) async throws {
        let events = events()
        fail(status)
        #expect(try await !events.record(crossing(.arrive), in: Groups.circle))
        #expect(await events.pendingCount == 0)
        #expect(await events.suppressions.map(\.reason) == [.refused])
        server.change { $0.failures = [] }
        #expect(try await events.record(crossing(.arrive), in: Groups.circle))
    }

    @Test func `does not depart from where the server let nobody see an arrival`() async throws {
        let events = events()
        server.change { $0.isPaused = true }
        #expect(try await !events.record(crossing(.arrive), in: Groups.circle))
        server.change { $0.isPaused = false }
        #expect(try await !events.record(crossing(.depart), in: Groups.circle))
        #expect(server.announced.isEmpty)
    }

    @Test func `holds no more than its limit of what waits`() async throws {
        let events = events()
        fail(nil)
        for _ in 0...CircleMemory.pendingLimit {
            let place = PlaceID(rawValue: UUID())
            try await events.record(crossing(.arrive, place), in: Groups.circle)
        }
        #expect(await events.pendingCount == CircleMemory.pendingLimit)
        #expect(await events.suppressions.map(\.reason) == [.overflow])
    }

    // MARK: - Reconciling

    func place(_ id: PlaceID, _ meters: Double, radius: Double = 100) -> CirclePlace {
        let middle = Places.north(meters)
        return CirclePlace(
            id: id,
            ownerID: People.ann,
            name: "Home",
            radiusMeters: radius,
            details: ["lat": .number(middle.latitude), "lon": .number(middle.longitude)]
        )
    }

    @Test(arguments: [(0.0, false), (120, false), (129.9, false), (130.1, true)])
    func `announces as left now what is beyond the way out`(
        meters: Double,
        isLeft: Bool
    )
        async throws
    {
        try await events().record(crossing(.arrive), in: Groups.circle)
        let later = now.addingTimeInterval(3600)
        let left = try await events().reconcile(
            Groups.circle,
            at: Places.north(meters),
            places: [place(Places.home, 0)],
            now: later
        )
        #expect(left == (isLeft ? [Places.home] : []))
        let last = server.postedEvents().last
        #expect(last?["kind"]?.text == (isLeft ? "depart" : "arrive"))
        if isLeft { #expect(last?["timestampMs"]?.integer == later.milliseconds) }
    }

    @Test func `forgets places that are gone, without a word`() async throws {
        let events = events()
        try await events.record(crossing(.arrive), in: Groups.circle)
        let left = try await events.reconcile(
            Groups.circle,
            at: Places.middle,
            places: [],
            now: now
        )
        #expect(left.isEmpty)
        #expect(server.announced.count == 1)
        // The next real arrival is not swallowed by a stale claim.
        #expect(try await events.record(crossing(.arrive), in: Groups.circle))
    }

    @Test func `judges every key of one call for itself`() {
        let gone = PlaceID(rawValue: UUID())
        let left = CircleMemory.key(Places.work, in: Groups.circle)
        let keys: Set<String> = [
            CircleMemory.key(Places.home, in: Groups.circle), left,
            CircleMemory.key(gone, in: Groups.circle), "\(Groups.circle):17", "nonsense",
            CircleMemory.key(gone, in: Groups.otherCircle),
        ]
        let outcome = CircleMemory.reconcile(
            keys,
            of: Groups.circle,
            at: Places.middle,
            places: [place(Places.home, 120), place(Places.work, 5000)]
        )
        #expect(outcome.missedDepartures == [Places.work])
        #expect(outcome.staleKeys == [CircleMemory.key(gone, in: Groups.circle)])
    }

    @Test func `does not claim to have left where it never was`() {
        let outcome = CircleMemory.reconcile(
            [],
            of: Groups.circle,
            at: Places.north(5000),
            places: [place(Places.home, 0)]
        )
        #expect(outcome == CircleMemory.Reconciliation())
    }

    // MARK: - What is kept

    @Test func `keeps the newest suppressions over a launch`() async throws {
        let events = events()
        for _ in 0...CircleMemory.suppressionLimit {
            try await events.record(crossing(.depart), in: Groups.circle)
        }
        try await events.record(crossing(.depart, Places.work), in: Groups.circle)
        let kept = await self.events().suppressions
        #expect(kept.count == CircleMemory.suppressionLimit)
        #expect(kept.first?.placeID == Places.work)
    }

    @Test func `passes over rows that cannot be read`() throws {
        var memory = CircleMemory()
        memory.inside = ["a:b"]
        let event = CircleMemory.Pending(
            id: EventID(rawValue: UUID()),
            circleID: Groups.circle,
            placeID: Places.home,
            kind: .arrive,
            occurredAt: now
        )
        memory.enqueue(event)
        memory.suppress(event, because: .duplicate)
        #expect(
            try JSONDecoder().decode(CircleMemory.self, from: JSONEncoder().encode(memory))
                == memory
        )
        let text = #"{"inside":["x"],"pending":[17,{}],"suppressions":["old",{"reason":"new"}]}"#
        let read = try JSONDecoder().decode(CircleMemory.self, from: Data(text.utf8))
        #expect(read.inside == ["x"])
        #expect(read.pending.isEmpty && read.suppressions.isEmpty)
        #expect(
            try JSONDecoder().decode(CircleMemory.self, from: Data("{}".utf8)) == CircleMemory()
        )
    }

    // MARK: - Answers that cannot be read

    @Test func `what the server took is announced, whatever it says of it`() async throws {
        let transport = ScriptedTransport(.answer(201, "{}"))
        let events = CircleEvents(
            api: CompanionAPI(transport: transport, session: FakeSession()),
            store: store,
            account: People.me
        )
        #expect(try await events.record(crossing(.arrive), in: Groups.circle))
        #expect(try await events.record(crossing(.depart), in: Groups.circle))
        #expect(await events.suppressions.isEmpty)
    }

    @Test func `an unreadable token costs no announcement`() async throws {
        let session = FakeSession()
        let events = CircleEvents(
            api: CompanionAPI(transport: server, session: session),
            store: store,
            account: People.me
        )
        session.fail(with: .decoding("the token is no token"))
        #expect(try await !events.record(crossing(.arrive), in: Groups.circle))
        session.fail(with: nil)
        try await events.flush()
        #expect(server.announced.count == 1)
        #expect(await events.pendingCount == 0)
    }
}
