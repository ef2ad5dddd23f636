import Foundation
import Testing

@testable import CompanionKit

@Suite(.timeLimit(.minutes(1))) struct CircleSyncTests {
    let server = FakeServer()
    let session = FakeSession()
    let clock = ManualCompanionClock()
    let feed = LocationHubTests.CountingFeed()
    let hub: LocationHub
    let sync: CircleSync

    init() {
        hub = LocationHub(feed: feed, clock: clock)
        sync = CircleSync(
            presence: CirclePresence(
                api: CompanionAPI(transport: server, session: session),
                session: session,
                store: InMemoryCompanionStore()
            ),
            hub: hub,
            clock: clock
        )
        server.change { $0.circles = [.circle()] }
    }

    var fixes: Int { server.requests("POST", "/api/me/fix").count }

    func reading() -> LocationReading { Places.reading(0, at: clock.now) }

    @Test func `ticks from the stream as often as presence says`() async throws {
        let running = Task { await sync.run() }
        await feed.isOpen(true)
        feed.yield(reading())
        await clock.pass(CirclePresence.activeInterval)
        await clock.sleeper(of: CirclePresence.activeInterval)
        #expect(fixes == 2)
        server.change { $0.circles = [] }
        clock.advance(by: CirclePresence.activeInterval)
        await clock.sleeper(of: CirclePresence.idleInterval)
        #expect(feed.intervals.last == CirclePresence.idleInterval)
        running.cancel()
        await running.value
        await feed.isOpen(false)
        #expect(feed.most == 1)
    }

    @Test func `holds no stream while parked and ticks each quarter of an hour`() async throws {
        server.change { $0.circles = [] }
        await sync.setParked(true)
        let running = Task { await sync.run() }
        for _ in 0..<2 {
            await feed.isOpen(true)
            feed.yield(reading())
            // Whatever the tick says: half an hour, with nothing to share.
            await clock.sleeper(of: CirclePresence.parkedInterval)
            await feed.isOpen(false)
            clock.advance(by: CirclePresence.parkedInterval)
        }
        #expect(server.requests("GET", "/api/circles").count == 2)
        running.cancel()
        await running.value
    }

    @Test func `goes over to tracking at once when the ride begins`() async throws {
        await sync.setParked(true)
        let running = Task { await sync.run() }
        await feed.isOpen(true)
        feed.yield(reading())
        await clock.sleeper(of: CirclePresence.parkedInterval)
        await feed.isOpen(false)
        await sync.setParked(false)
        await feed.isOpen(true)
        feed.yield(reading())
        await clock.sleeper(of: CirclePresence.activeInterval)
        running.cancel()
        await running.value
    }

    @Test func `lets go of the stream when parked before the first fix`() async throws {
        let running = Task { await sync.run() }
        await feed.isOpen(true)
        await sync.setParked(true)
        // The parked tick asks for one fix, and gives up.
        await clock.pass(CircleSync.fixPatience)
        await feed.isOpen(false)
        await clock.sleeper(of: CirclePresence.parkedInterval)
        running.cancel()
        await running.value
    }

    @Test func `tracks at once when the ride begins during a parked tick`() async throws {
        await sync.setParked(true)
        let running = Task { await sync.run() }
        await feed.isOpen(true)
        await clock.sleeper(of: CircleSync.fixPatience)
        await sync.setParked(false)
        feed.yield(reading())
        // The stream of the parked tick closes; what it got now would be nobody's.
        while feed.opened < 2 { await Task.yield() }
        feed.yield(reading())
        await clock.sleeper(of: CirclePresence.activeInterval)
        running.cancel()
        await running.value
    }

    @Test func `makes do with the last fix when no fresh one comes`() async throws {
        let first = Task { try await sync.tickOnce() }
        await feed.isOpen(true)
        feed.yield(reading())
        #expect(try await first.value == CirclePresence.activeInterval)
        let second = Task { try await sync.tickOnce() }
        await clock.pass(CircleSync.fixPatience)
        _ = try await second.value
        #expect(fixes == 2)
    }
}

@MainActor
@Suite(.timeLimit(.minutes(1))) struct ConvoyLiveClientTests {
    let relayServer = FakeRelay()
    let session = FakeSession()
    let clock = ManualCompanionClock()
    let feed = LocationHubTests.CountingFeed()

    func client(_ features: CompanionFeatures = .standard) -> ConvoyLiveClient {
        ConvoyLiveClient(
            relay: ConvoyRelay(
                socket: relayServer,
                session: session,
                features: features,
                clock: clock,
                backoff: ReconnectBackoff(random: { 1 })
            ),
            hub: LocationHub(feed: feed, clock: clock),
            session: session
        )
    }

    static let convoy = CompanionGroup(
        id: Groups.convoy,
        kind: .convoy,
        name: "Ride",
        ownerID: nil,
        status: .accepted,
        members: [
            GroupMember(id: People.ann, username: "ann", status: .accepted, sharing: nil)
        ]
    )

    /// Waits until the client shows what is wanted.
    func shows(_ client: ConvoyLiveClient, _ isWanted: (RelaySnapshot) -> Bool) async {
        while !isWanted(client.snapshot) { await Task.yield() }
    }

    @Test func `follows a convoy, shows it and passes positions on`() async throws {
        let client = client()
        await client.follow(convoy: Self.convoy)
        let connection = await relayServer.connection()
        connection.confirm(Groups.convoy)
        await shows(client) { $0.isConnected }
        await feed.isOpen(true)
        feed.yield(Places.reading(0, at: clock.now))
        #expect(await connection.types(2) == ["join", "location"])
        #expect(feed.intervals == [LocationHub.convoyInterval])
        await client.follow(convoy: nil)
        await feed.isOpen(false)
        while client.isRunning { await Task.yield() }
        #expect(client.snapshot.convoyID == nil)
    }

    @Test func `passes a position on each two seconds though fixes come a little too soon`()
        async throws
    {
        let client = client()
        await client.follow(convoy: Self.convoy)
        let connection = await relayServer.connection()
        connection.confirm(Groups.convoy)
        await shows(client) { $0.isConnected }
        await feed.isOpen(true)
        for count in 1...10 {
            feed.yield(Places.reading(0, at: clock.now))
            if count > 1 { await clock.pass(.milliseconds(1)) }
            #expect(await connection.types(count + 1).last == "location")
            clock.advance(by: .milliseconds(1999))
        }
        await client.stop()
    }

    @Test func `takes up again what is followed while the last run ends`() async throws {
        let client = client()
        for attempt in 1...5 {
            await client.follow(convoy: Self.convoy)
            // The run of before may be over, or may still be there and pause.
            while relayServer.bearers.count < attempt {
                clock.advance(by: .milliseconds(100))
                await Task.yield()
            }
            let connection = await relayServer.connection(attempt)
            connection.confirm(Groups.convoy)
            await shows(client) { $0.isConnected }
            await client.follow(convoy: nil)
        }
        await client.stop()
    }

    @Test func `stops also a run that is still to begin`() async throws {
        for _ in 0..<20 {
            let client = client()
            await client.follow(convoy: Self.convoy)
            await client.stop()
            #expect(!client.isRunning)
        }
    }

    @Test func `takes up what is followed while it stops`() async throws {
        let client = client()
        await client.follow(convoy: Self.convoy)
        let connection = await relayServer.connection()
        connection.confirm(Groups.convoy)
        await shows(client) { $0.isConnected }
        let stopping = Task { await client.stop() }
        while !connection.isClosed { await Task.yield() }
        await client.follow(circles: [.circle()])
        await stopping.value
        let next = await relayServer.connection(2)
        _ = await next.types(2)
        #expect(next.joins == [Groups.convoy, Groups.circle])
        await client.stop()
        #expect(!client.isRunning)
    }

    @Test func `leaves a relay alone that somebody else runs`() async throws {
        let session = SlowSession(session)
        let relay = ConvoyRelay(socket: relayServer, session: session, clock: clock)
        let client = ConvoyLiveClient(
            relay: relay,
            hub: LocationHub(feed: feed, clock: clock),
            session: session
        )
        await relay.setConvoy(LiveGroup(id: Groups.convoy))
        let running = Task { try await relay.run() }
        _ = await relayServer.connection()
        await client.follow(convoy: Self.convoy)
        while client.isRunning { await Task.yield() }
        let asked = session.count
        for _ in 0..<500 { await Task.yield() }
        #expect(session.count == asked && !client.isRunning)
        await client.stop()
        await relay.stop()
        try await running.value
    }

    @Test func `opens no location stream for circles alone`() async throws {
        let client = client()
        await client.follow(circles: [.circle()])
        let connection = await relayServer.connection()
        connection.confirm(Groups.circle)
        await shows(client) { $0.isConnected }
        #expect(feed.opened == 0)
        await client.stop()
        #expect(!client.isRunning)
    }

    @Test func `does nothing when the feature is off or nobody is signed in`() async throws {
        let off = client(CompanionFeatures(liveRelay: false))
        #expect(!off.isAvailable)
        await off.follow(convoy: Self.convoy)
        session.signIn(nil)
        let anonymous = client()
        await anonymous.follow(convoy: Self.convoy)
        #expect(!off.isRunning && !anonymous.isRunning)
        #expect(relayServer.bearers.isEmpty && feed.opened == 0)
    }

    @Test func `votes through the relay`() async throws {
        let client = client()
        await client.follow(convoy: Self.convoy)
        let connection = await relayServer.connection()
        connection.confirm(Groups.convoy)
        await shows(client) { $0.isConnected }
        connection.push(ConvoyRelayTests.positions(People.ann))
        await shows(client) { !$0.peers.isEmpty }
        await client.offer(SpinRoundTests.candidates)
        await client.vote(2)
        await client.closeVote()
        await shows(client) { $0.spinOutcome == .commit(SpinRoundTests.candidates[2]) }
        await client.stop()
    }
}
