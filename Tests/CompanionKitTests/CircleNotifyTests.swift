import Foundation
import Synchronization
import Testing

@testable import CompanionKit

/// Case 97 and spec 4.4.
@Suite struct CircleNotifyPolicyTests {
    static let now = Date(timeIntervalSince1970: 1_800_000_000)

    static func event(
        _ sequence: Int64,
        by rider: AccountID = People.ann,
        ago seconds: Double = 60,
        kind: CrossingKind = .arrive
    ) -> CircleEvent {
        CircleEvent(
            id: EventID(rawValue: UUID()),
            sequence: sequence,
            placeID: Places.home,
            placeName: "Home",
            riderID: rider,
            kind: kind,
            occurredAt: now.addingTimeInterval(-seconds)
        )
    }

    func plan(_ events: [CircleEvent]) -> CircleNotifyPolicy.Plan {
        CircleNotifyPolicy.planCatchUp(events, for: People.me, now: Self.now)
    }

    @Test func `leaves out what the person did themselves`() {
        #expect(plan([Self.event(1, by: People.me), Self.event(2)]).events.map(\.sequence) == [2])
    }

    @Test(arguments: [(10_800.0, true), (10_800.001, false)])
    func `passes over what is older than three hours`(age: Double, isShown: Bool) {
        #expect(plan([Self.event(1, ago: age)]).events.isEmpty == !isShown)
    }

    @Test(arguments: [(0, 0, 0), (5, 5, 0), (6, 5, 1), (8, 5, 3)])
    func `shows the newest five and counts the rest`(count: Int, shown: Int, further: Int) {
        let events = (0..<count).map { Self.event(Int64($0), ago: Double(100 - $0)) }
        let plan = plan(events.shuffled())
        #expect(plan.furtherCount == further)
        // The newest comes last, and so lies on top.
        #expect(plan.events.map(\.sequence) == events.suffix(shown).map(\.sequence))
    }

    @Test func `delivers circles that were joined and not muted`() {
        let circles: [CompanionGroup] = [
            .circle(), .circle(Groups.otherCircle), .circle(Groups.convoy, status: .invited),
        ]
        let chosen = CircleNotifyPolicy.circlesToDeliver(circles, muted: [Groups.circle])
        #expect(chosen.map(\.id) == [Groups.otherCircle])
    }

    @Test(
        arguments: [
            (CrossingKind.arrive, "Home", "Ann arrived at Home"), (.arrive, " ", "Ann arrived"),
            (.depart, "Home", "Ann left Home"), (.depart, "", "Ann left"),
        ]
    )
    func `says what happened`(kind: CrossingKind, place: String, text: String) {
        #expect(CircleNotifyPolicy.text("Ann", kind, place: place) == text)
    }

    @Test func `counts what it does not show`() {
        #expect(CircleNotifyPolicy.summary(1) == "+1 more update")
        #expect(CircleNotifyPolicy.summary(3) == "+3 more updates")
    }
}

@Suite struct CircleNotificationsTests {
    final class Shelf: NotificationDelivery {
        private let shown = Mutex<[CircleNotification]>([])
        var bodies: [String] { shown.withLock { $0.map(\.body) } }
        func deliver(_ notification: CircleNotification) async {
            shown.withLock { $0.append(notification) }
        }
    }

    let server = FakeServer()
    let session = FakeSession()
    let store = InMemoryCompanionStore()
    let shelf = Shelf()
    let clock = ManualCompanionClock()
    let notifications: CircleNotifications

    init() {
        notifications = CircleNotifications(
            api: CompanionAPI(transport: server, session: session),
            session: session,
            store: store,
            delivery: shelf,
            clock: clock
        )
        server.change { world in
            world.circles = [.circle()]
            world.events = [Groups.circle: [CircleNotifyPolicyTests.event(7)]]
        }
    }

    @Test func `shows what happened meanwhile once`() async throws {
        try await notifications.catchUp()
        try await notifications.catchUp()
        #expect(shelf.bodies == ["ann arrived at Home"])
        let asked = server.requests("GET", "/api/circles/\(Groups.circle)/events")
        #expect(asked.map { $0.query["after"] } == ["0", "7"])
    }

    @Test func `asks again for a circle that could not be asked`() async throws {
        server.change { $0.failures = [("/api/circles/\(Groups.circle)/events", nil)] }
        try await notifications.catchUp()
        server.change { $0.failures = [] }
        try await notifications.catchUp()
        #expect(shelf.bodies == ["ann arrived at Home"])
    }

    @Test func `does not catch up on what it showed live`() async throws {
        let event = CircleNotifyPolicyTests.event(7)
        await notifications.announce(
            LivePlaceEvent(
                circleID: Groups.circle,
                riderID: event.riderID,
                placeID: event.placeID,
                placeName: event.placeName,
                kind: event.kind,
                timestampMilliseconds: event.occurredAt.milliseconds
            )
        )
        try await notifications.catchUp()
        #expect(shelf.bodies == ["ann arrived at Home"])
    }

    static func live(_ event: CircleEvent) -> LivePlaceEvent {
        LivePlaceEvent(
            circleID: Groups.circle,
            riderID: event.riderID,
            placeID: event.placeID,
            placeName: event.placeName,
            kind: event.kind,
            timestampMilliseconds: event.occurredAt.milliseconds
        )
    }

    @Test func `does not show live what it has caught up on`() async throws {
        try await notifications.catchUp()
        await notifications.announce(Self.live(CircleNotifyPolicyTests.event(7)))
        #expect(shelf.bodies == ["ann arrived at Home"])
    }

    @Test func `shows once what comes live while it catches up`() async throws {
        server.change { [notifications] world in
            world.meanwhile = (
                "/api/circles/\(Groups.circle)/events",
                { await notifications.announce(Self.live(CircleNotifyPolicyTests.event(7))) }
            )
        }
        try await notifications.catchUp()
        #expect(shelf.bodies == ["ann arrived at Home"])
        await notifications.announce(Self.live(CircleNotifyPolicyTests.event(7)))
        #expect(shelf.bodies == ["ann arrived at Home"])
    }

    @Test func `two that catch up together show it once`() async throws {
        server.change { [notifications] world in
            world.meanwhile = (
                "/api/circles/\(Groups.circle)/events", { try? await notifications.catchUp() }
            )
        }
        try await notifications.catchUp()
        #expect(shelf.bodies == ["ann arrived at Home"])
    }

    @Test func `keeps quiet about a circle that is muted meanwhile`() async throws {
        server.change { [notifications] world in
            world.meanwhile = (
                "/api/circles/\(Groups.circle)/events",
                { await notifications.setMuted(true, circle: Groups.circle) }
            )
        }
        try await notifications.catchUp()
        try await notifications.catchUp()
        #expect(shelf.bodies.isEmpty)
    }

    @Test func `shows nobody's news to who signs in meanwhile`() async throws {
        server.change { [session] world in
            world.meanwhile = ("/api/circles", { session.signIn(People.bob) })
        }
        try await notifications.catchUp()
        #expect(shelf.bodies.isEmpty)
        #expect(server.requests("GET", "/api/circles/\(Groups.circle)/events").isEmpty)
    }

    @Test func `keeps muted circles and the own moves quiet`() async throws {
        let own = LivePlaceEvent(
            circleID: Groups.circle,
            riderID: People.me,
            placeID: Places.home,
            placeName: "Home",
            kind: .arrive,
            timestampMilliseconds: 1
        )
        await notifications.announce(own)
        await notifications.setMuted(true, circle: Groups.circle)
        try await notifications.catchUp()
        #expect(shelf.bodies.isEmpty)
        await notifications.setMuted(false, circle: Groups.circle)
        try await notifications.catchUp()
        #expect(shelf.bodies == ["ann arrived at Home"])
    }

    @Test func `shows nothing twice though its store keeps nothing`() async throws {
        struct Sieve: CompanionStore {
            func data(for key: String) -> Data? { nil }
            func set(_ data: Data?, for key: String) {}
        }
        let notifications = CircleNotifications(
            api: CompanionAPI(transport: server, session: session),
            session: session,
            store: Sieve(),
            delivery: shelf,
            clock: clock
        )
        for _ in 0..<2 {
            try await notifications.catchUp()
            await notifications.announce(Self.live(CircleNotifyPolicyTests.event(8, ago: 30)))
        }
        #expect(shelf.bodies == ["ann arrived at Home", "ann arrived at Home"])
        await notifications.setMuted(true, circle: Groups.circle)
        await notifications.announce(Self.live(CircleNotifyPolicyTests.event(9, ago: 20)))
        #expect(shelf.bodies.count == 2)
    }
}
