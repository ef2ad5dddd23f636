import Foundation
import Synchronization
import Testing

@testable import CompanionKit

/// Cases 81 to 89, decision 13, defects 11 and 12.
@Suite struct CirclePresenceTests {
    let server = FakeServer()
    let session = FakeSession()
    let store = InMemoryCompanionStore()
    let presence: CirclePresence
    let start = Date(timeIntervalSince1970: 1_800_000_000)

    init() {
        presence = CirclePresence(
            api: CompanionAPI(transport: server, session: session),
            session: session,
            store: store
        )
        server.change { world in
            world.circles = [.circle()]
            world.places = [Groups.circle: [(Places.home, 0, 100)]]
        }
    }

    @discardableResult
    func tick(
        _ meters: Double,
        _ seconds: Double,
        age: Duration = .seconds(5)
    ) async throws -> Duration {
        let now = start.addingTimeInterval(seconds)
        return try await presence.tick(
            Places.reading(meters, at: now.addingTimeInterval(-age.seconds)),
            age: age,
            now: now
        )
    }

    var kinds: [String] { server.postedEvents().compactMap { $0["kind"]?.text } }

    // MARK: - Cadence

    @Test func `waits half an hour while nothing is shared, two minutes otherwise`() async throws {
        server.change { $0.circles = [.circle(sharing: false)] }
        #expect(try await tick(500, 0) == .seconds(1800))
        server.change { $0.circles = [.circle()] }
        #expect(try await tick(500, 10) == .seconds(120))
        server.change { $0.circles = [] }
        #expect(try await tick(500, 20) == .seconds(1800))
    }

    @Test func `keeps its interval when the circles cannot be listed`() async throws {
        server.change { $0.circles = [] }
        try await tick(500, 0)
        server.change { $0.failures = [("/api/circles", nil)] }
        #expect(try await tick(500, 10) == .seconds(1800))
        server.change { world in
            world.failures = []
            world.circles = [.circle()]
        }
        try await tick(500, 20)
        server.change { $0.failures = [("/api/circles", 500)] }
        #expect(try await tick(500, 30) == .seconds(120))
    }

    @Test func `goes by the own row, found by id`() async throws {
        var circle = CompanionGroup.circle(sharing: false)
        circle.members[0].username = "ANN"
        circle.members[1].username = "me"
        server.change { $0.circles = [circle] }
        #expect(try await tick(500, 0) == .seconds(1800))
        #expect(server.requests("POST", "/api/me/fix").isEmpty)
    }

    @Test func `leaves circles alone to which the person is only invited`() async throws {
        server.change { $0.circles = [.circle(status: .invited)] }
        #expect(try await tick(500, 0) == .seconds(1800))
    }

    @Test func `does nothing while nobody is signed in`() async throws {
        session.signIn(nil)
        #expect(try await tick(0, 0) == .seconds(120))
        #expect(server.requests.isEmpty)
    }

    // MARK: - The three clocks

    @Test func `tells the fix's wall time once for all circles`() async throws {
        server.change { $0.circles = [.circle(), .circle(Groups.otherCircle)] }
        try await tick(500, 0, age: .seconds(42))
        let bodies = server.requests("POST", "/api/me/fix").compactMap(\.json)
        #expect(bodies.count == 1)
        #expect(bodies.first?["timestampMs"]?.integer == 1_799_999_958_000)
        #expect(bodies.first?["accuracyMeters"]?.number == 5)
    }

    @Test(arguments: [(Duration.seconds(900), true), (.milliseconds(900_001), false)])
    func `trusts a fix of a quarter of an hour and no older one`(
        age: Duration,
        isTrusted: Bool
    ) async throws {
        try await tick(0, 0, age: age)
        #expect(server.requests("POST", "/api/me/fix").count == 1)
        let fetches = server.requests("GET", "/api/circles/\(Groups.circle)/places")
        #expect(fetches.isEmpty == !isTrusted)
    }

    @Test func `lets a stay last by the clock on the wall, not by the fix`() async throws {
        // The same fix twice: a parked phone makes no new one.
        let reading = Places.reading(0, at: start)
        _ = try await presence.tick(reading, age: .zero, now: start)
        let later = start.addingTimeInterval(60)
        _ = try await presence.tick(reading, age: .seconds(60), now: later)
        #expect(kinds == ["arrive"])
        let event = try #require(server.postedEvents().first)
        #expect(event["timestampMs"]?.integer == later.milliseconds)
    }

    @Test func `announces an arrival a minute after it, not at the next tick but one`()
        async throws
    {
        #expect(try await tick(500, 0) == .seconds(120))
        #expect(try await tick(0, 120) == .seconds(60))
        #expect(kinds == [])
        #expect(try await tick(0, 180) == .seconds(120))
        #expect(kinds == ["arrive"])
    }

    // MARK: - Sessions

    @Test func `keeps a stay over ticks of one session and forgets it with the next`()
        async throws
    {
        try await tick(0, 0)
        try await tick(0, 60)
        #expect(kinds == ["arrive"])
        session.signIn(People.me)
        try await tick(0, 120)
        // A new evaluator: the dwell begins anew, and the memory knows the arrival already.
        try await tick(0, 180)
        #expect(kinds == ["arrive"])
        #expect(await presence.events()?.suppressions.map(\.reason) == [.duplicate])
    }

    @Test func `does not take its first tick for a change of session`() async throws {
        session.signIn(People.me)
        session.signIn(People.me)
        try await tick(0, 0)
        try await tick(0, 60)
        #expect(kinds == ["arrive"])
    }

    @Test(arguments: [People.bob, nil])
    func `keeps no place of the last person for the system's fences`(next: AccountID?) async throws
    {
        try await tick(0, 0)
        #expect(await presence.gateCandidates.count == 1)
        session.signIn(next)
        server.change { $0.failures = [("/api/circles", nil)] }
        try await tick(0, 10)
        #expect(await presence.gateCandidates.isEmpty)
    }

    @Test func `announces nothing in the name of who signs in during a tick`() async throws {
        try await tick(0, 0)
        server.change { [session] world in
            world.meanwhile = (
                "/api/circles/\(Groups.circle)/places", { session.signIn(People.bob) }
            )
        }
        try await tick(0, 60)
        #expect(kinds == [])
        let late = CircleEvents(
            api: CompanionAPI(transport: server, session: session),
            store: store,
            account: People.me
        )
        #expect(await late.pendingCount == 1)
        try await late.flush()
        #expect(kinds == [])
        session.signIn(People.me)
        try await late.flush()
        #expect(kinds == ["arrive"])
    }

    @Test func `lets one tick after the other decide`() async throws {
        try await tick(0, 0)
        let other = Once()
        server.change { [presence, start] world in
            // A background refresh comes while the places are fetched, and sees the way out.
            world.meanwhile = (
                "/api/circles/\(Groups.circle)/places",
                {
                    other.start {
                        _ = try await presence.tick(
                            Places.reading(500, at: start.addingTimeInterval(61)),
                            age: .zero,
                            now: start.addingTimeInterval(61)
                        )
                    }
                    // Long enough for a tick that does not wait.
                    for _ in 0..<1000 { await Task.yield() }
                }
            )
        }
        try await tick(0, 60)
        try await other.end()
        #expect(kinds == ["arrive", "depart"])
        #expect(await presence.events()?.suppressions == [])
    }

    /// A task that is begun in one place and awaited in another.
    final class Once: Sendable {
        private let task = Mutex<Task<Void, any Error>?>(nil)

        func start(_ work: @escaping @Sendable () async throws -> Void) {
            task.withLock { $0 = Task(operation: work) }
        }

        func end() async throws { try await task.withLock { $0 }?.value }
    }

    @Test func `forgets stays in circles that were left and keeps the others`() async throws {
        server.change { world in
            world.circles = [.circle(), .circle(Groups.otherCircle)]
            world.places[Groups.otherCircle] = [(Places.work, 0, 100)]
        }
        try await tick(0, 0)
        server.change { $0.circles = [.circle()] }
        try await tick(0, 30)
        server.change { $0.circles = [.circle(), .circle(Groups.otherCircle)] }
        try await tick(0, 60)
        #expect(kinds == ["arrive"])
        #expect(server.postedEvents(in: Groups.otherCircle).isEmpty)
        try await tick(0, 120)
        #expect(server.postedEvents(in: Groups.otherCircle).count == 1)
    }

    // MARK: - Announcements

    @Test func `announces an ordinary departure once and suppresses nothing`() async throws {
        for (meters, seconds) in [(0.0, 0.0), (0, 60), (500, 180), (500, 300)] {
            try await tick(meters, seconds)
        }
        #expect(kinds == ["arrive", "depart"])
        #expect(await presence.events()?.suppressions == [])
    }

    @Test func `goes on with the places when the fix cannot be posted`() async throws {
        server.change { $0.failures = [("/api/me/fix", nil)] }
        try await tick(0, 0)
        try await tick(0, 60)
        #expect(kinds == ["arrive"])
    }

    @Test func `lets one circle's failure stay its own`() async throws {
        server.change { world in
            world.circles = [.circle(), .circle(Groups.otherCircle)]
            world.places[Groups.otherCircle] = [(Places.work, 0, 100)]
            world.failures = [("/api/circles/\(Groups.circle)/places", 503)]
        }
        try await tick(0, 0)
        try await tick(0, 60)
        #expect(kinds == [])
        #expect(server.postedEvents(in: Groups.otherCircle).count == 1)
    }

    @Test func `drops what waits for a circle once the person pauses in it`() async throws {
        server.change { $0.failures = [("/api/circles/\(Groups.circle)/events", nil)] }
        try await tick(0, 0)
        try await tick(0, 60)
        let events = try #require(await presence.events())
        #expect(await events.pendingCount == 1)
        server.change { $0.circles = [.circle(sharing: false)] }
        try await tick(0, 70)
        #expect(await events.pendingCount == 0)
    }

    @Test func `throws nothing but cancellation`() async throws {
        server.change { $0.failures = [("/api/me/fix", 500), ("/api/circles", 500)] }
        try await tick(0, 0)
        let ticking = Task { [server] in
            server.change { $0.failures = [] }
            try await tick(0, 60)
        }
        ticking.cancel()
        await #expect(throws: CancellationError.self) { try await ticking.value }
    }

    // MARK: - The system's fences

    @Test func `offers the nearest places of all circles, at most fifty, none far away`()
        async throws
    {
        server.change { world in
            world.circles = [.circle(), .circle(Groups.otherCircle)]
            world.places = [
                Groups.circle: (0..<40).map { (PlaceID(rawValue: UUID()), Double($0) * 100, 50) },
                Groups.otherCircle: [(Places.home, 1, 50), (Places.work, 100_000, 50)]
                    + (0..<40).map { (PlaceID(rawValue: UUID()), Double($0) * 100 + 50, 50) },
            ]
        }
        try await tick(0, 0)
        let candidates = await presence.gateCandidates
        #expect(candidates.count == 50)
        #expect(candidates[1].place.id == Places.home)
        #expect(candidates.map(\.distanceMeters) == candidates.map(\.distanceMeters).sorted())
        #expect(!candidates.contains { $0.place.id == Places.work })
    }

    @Test(arguments: [(4_999.0, true), (5_001, false)])
    func `reaches five kilometres`(meters: Double, isOffered: Bool) async throws {
        try await tick(meters, 0)
        #expect(await presence.gateCandidates.isEmpty == !isOffered)
    }

    @Test func `keeps its fences through failures and clears them when nothing is shared`()
        async throws
    {
        try await tick(0, 0)
        server.change { $0.failures = [("/api/circles", nil)] }
        try await tick(0, 10)
        #expect(await presence.gateCandidates.count == 1)
        server.change { $0.failures = [("/api/circles/\(Groups.circle)/places", nil)] }
        try await tick(0, 20)
        #expect(await presence.gateCandidates.count == 1)
        server.change { world in
            world.failures = []
            world.places = [:]
        }
        try await tick(0, 30)
        #expect(await presence.gateCandidates.count == 1)
        server.change { $0.circles = [.circle(sharing: false)] }
        try await tick(0, 40)
        #expect(await presence.gateCandidates.isEmpty)
    }
}
