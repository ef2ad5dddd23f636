import Foundation
import Testing

@testable import CompanionKit

/// Cases 101 to 104, 108, 111 to 115, defects 5, 18 and 19.
@Suite(.timeLimit(.minutes(1))) struct ConvoyRelayTests {
    let server = FakeRelay()
    let session = FakeSession()
    let clock = ManualCompanionClock()
    let relay: ConvoyRelay

    init() {
        relay = ConvoyRelay(
            socket: server,
            session: session,
            clock: clock,
            backoff: ReconnectBackoff(random: { 1 })
        )
    }

    func run() -> Task<Void, any Error> { Task { try await relay.run() } }

    /// Waits until the snapshot is as wanted.
    func shows(_ isWanted: @Sendable (RelaySnapshot) -> Bool) async -> RelaySnapshot {
        for await snapshot in await relay.snapshots() where isWanted(snapshot) { return snapshot }
        return RelaySnapshot()
    }

    /// A relay that runs and has joined a convoy.
    func joined() async -> (FakeRelayConnection, Task<Void, any Error>) {
        await relay.setConvoy(LiveGroup(id: Groups.convoy))
        let running = run()
        let connection = await server.connection()
        connection.confirm(Groups.convoy)
        _ = await shows { $0.isConnected }
        return (connection, running)
    }

    static func positions(_ id: AccountID) -> String {
        #"{"type":"positions","peers":[{"u":"\#(id)","lat":46,"lon":14.5,"ts":1,"ttl":20}]}"#
    }

    // MARK: - Connecting

    @Test func `joins, is connected once the relay says so, and shows peers`() async throws {
        await relay.setConvoy(LiveGroup(id: Groups.convoy))
        let running = run()
        let connection = await server.connection()
        #expect(connection.joins == [Groups.convoy])
        #expect(await !relay.snapshot.isConnected)
        connection.confirm(Groups.convoy)
        _ = await shows { $0.isConnected && $0.lastError == nil }
        connection.push(Self.positions(People.ann))
        _ = await shows { $0.peers[People.ann] != nil }
        await relay.stop()
        try await running.value
    }

    @Test func `ends by stop without an error and shows that it is gone`() async throws {
        let (connection, running) = await joined()
        connection.push(Self.positions(People.ann))
        _ = await shows { !$0.peers.isEmpty }
        await relay.stop()
        try await running.value
        #expect(connection.isClosed)
        let snapshot = await relay.snapshot
        #expect(!snapshot.isConnected && snapshot.lastError == nil)
        // What is followed stays for the next run.
        #expect(snapshot.convoyID == Groups.convoy)
    }

    @Test func `ends by stop while the server does not answer`() async throws {
        server.hold()
        await relay.setConvoy(LiveGroup(id: Groups.convoy))
        let running = run()
        await server.attempts(1)
        await relay.stop()
        try await running.value
    }

    @Test func `ends with its task`() async throws {
        let (_, running) = await joined()
        running.cancel()
        try await running.value
        #expect(await !relay.snapshot.isConnected)
    }

    @Test func `runs once at a time`() async throws {
        let (_, running) = await joined()
        await #expect(throws: RelayError.alreadyRunning) { try await relay.run() }
        await relay.stop()
        try await running.value
    }

    @Test func `does not run when nothing is followed or the feature is off`() async throws {
        try await relay.run()
        let off = ConvoyRelay(
            socket: server,
            session: session,
            features: CompanionFeatures(liveRelay: false),
            clock: clock
        )
        await off.setConvoy(LiveGroup(id: Groups.convoy))
        try await off.run()
        #expect(server.bearers.isEmpty)
    }

    // MARK: - Trying again

    @Test func `reconnects a second after a connection that had worked`() async throws {
        let (connection, running) = await joined()
        connection.drop()
        _ = await shows { !$0.isConnected }
        await clock.sleeper(of: .seconds(1))
        clock.advance(by: .milliseconds(900))
        #expect(server.bearers.count == 1)
        clock.advance(by: .milliseconds(100))
        #expect(await server.connection(2).joins == [Groups.convoy])
        await relay.stop()
        try await running.value
    }

    @Test func `waits longer with each failure, and a second again once it worked`() async throws {
        server.refuse(
            with: RelayError.refused(status: 502),
            RelayError.refused(status: 502),
            RelayError.refused(status: 502),
            RelayError.refused(status: 502),
            RelayError.refused(status: 502),
            RelayError.refused(status: 502)
        )
        await relay.setConvoy(LiveGroup(id: Groups.convoy))
        let running = run()
        for (attempt, seconds) in [2, 4, 8, 16, 30, 30].enumerated() {
            await server.attempts(attempt + 1)
            await clock.pass(.seconds(seconds))
        }
        let connection = await server.connection(7)
        connection.confirm(Groups.convoy)
        _ = await shows { $0.isConnected }
        connection.drop()
        await clock.pass(.seconds(1))
        await server.attempts(8)
        await relay.stop()
        try await running.value
    }

    @Test(arguments: [(0.0, [500, 1000, 2000, 4000, 8000, 15000]), (0.5, [750, 1500, 3000])])
    func `spreads those who come back over half of the pause`(random: Double, pauses: [Int]) {
        var backoff = ReconnectBackoff(random: { random })
        var waits = [backoff.delay(hadJoined: true)]
        while waits.count < pauses.count { waits.append(backoff.delay(hadJoined: false)) }
        #expect(waits == pauses.map { .milliseconds($0) })
    }

    @Test func `draws its pauses at random unless it is told otherwise`() {
        let waits = (0..<20).map { _ in
            var backoff = ReconnectBackoff()
            return backoff.delay(hadJoined: true)
        }
        #expect(Set(waits).count > 1)
        #expect(waits.allSatisfy { (.milliseconds(500)...(.seconds(1))).contains($0) })
    }

    @Test func `does not fight with another phone for the connection`() async throws {
        let (connection, running) = await joined()
        connection.drop(RelayError.closed(code: 1000, reason: "replaced by a newer connection"))
        await clock.pass(.seconds(2))
        let second = await server.connection(2)
        second.confirm(Groups.convoy)
        _ = await shows { $0.isConnected }
        second.drop(RelayError.closed(code: 1000, reason: "replaced by a newer connection"))
        await clock.sleeper(of: .seconds(4))
        await relay.stop()
        try await running.value
    }

    // MARK: - Errors

    struct Silent: Error {}

    @Test(
        arguments: [
            (RelayError.failed("The tunnel has no signal"), "The tunnel has no signal"),
            (RelayError.refused(status: 503), "The server refused the live connection (503)"),
            (RelayError.failed(" "), RelayError.fallbackMessage),
            (Silent(), RelayError.fallbackMessage),
        ] as [(any Error & Sendable, String)]
    )
    func `shows why it cannot connect`(error: any Error & Sendable, text: String) async throws {
        server.refuse(with: error)
        await relay.setConvoy(LiveGroup(id: Groups.convoy))
        let running = run()
        #expect(await shows { $0.lastError != nil }.lastError == text)
        await relay.stop()
        try await running.value
    }

    @Test func `says nothing of a convoy in which nothing happens`() async throws {
        let (connection, running) = await joined()
        connection.drop()
        #expect(await shows { !$0.isConnected }.lastError == nil)
        await relay.stop()
        try await running.value
    }

    @Test func `ends the attempt by an error of nothing in particular`() async throws {
        let (connection, running) = await joined()
        connection.push(#"{"type":"error","message":"Go away"}"#)
        #expect(await shows { !$0.isConnected }.lastError == "Go away")
        #expect(connection.isClosed)
        await clock.pass(.seconds(1))
        await server.attempts(2)
        await relay.stop()
        try await running.value
    }

    @Test func `one refused circle does not take the convoy down`() async throws {
        await relay.setNotifyingCircles([LiveGroup(id: Groups.circle)])
        let (connection, running) = await joined()
        connection.push(#"{"type":"error","message":"No","groupId":"\#(Groups.circle)"}"#)
        let snapshot = await shows { $0.circleIDs.isEmpty }
        #expect(snapshot.isConnected && snapshot.convoyID == Groups.convoy)
        #expect(!connection.isClosed)
        // Nor is it asked for again.
        connection.drop()
        await clock.pass(.seconds(1))
        #expect(await server.connection(2).joins == [Groups.convoy])
        await relay.stop()
        try await running.value
    }

    @Test func `a refusal before anything works ends the attempt, without that group`()
        async throws
    {
        await relay.setConvoy(LiveGroup(id: Groups.convoy))
        await relay.setNotifyingCircles([LiveGroup(id: Groups.circle)])
        let running = run()
        let connection = await server.connection()
        connection.push(#"{"type":"error","message":"No","groupId":"\#(Groups.convoy)"}"#)
        await clock.pass(.seconds(2))
        #expect(await server.connection(2).joins == [Groups.circle])
        await relay.stop()
        try await running.value
    }

    @Test func `ends when the server refuses all there is`() async throws {
        await relay.setConvoy(LiveGroup(id: Groups.convoy))
        let running = run()
        await server.connection()
            .push(#"{"type":"error","message":"No","groupId":"\#(Groups.convoy)"}"#)
        try await running.value
        #expect(await relay.snapshot.convoyID == nil)
        #expect(server.bearers.count == 1)
    }

    // MARK: - Following

    @Test func `joins the convoy first, then the circles`() async throws {
        await relay.setNotifyingCircles([
            LiveGroup(id: Groups.circle), LiveGroup(id: Groups.otherCircle),
        ])
        await relay.setConvoy(LiveGroup(id: Groups.convoy))
        let running = run()
        let connection = await server.connection()
        _ = await connection.types(3)
        #expect(connection.joins == [Groups.convoy, Groups.circle, Groups.otherCircle])
        await relay.stop()
        try await running.value
    }

    @Test func `stays connected for circles alone`() async throws {
        await relay.setNotifyingCircles([LiveGroup(id: Groups.circle)])
        let running = run()
        let connection = await server.connection()
        connection.confirm(Groups.circle)
        _ = await shows { $0.isConnected }
        #expect(connection.joins == [Groups.circle])
        await relay.stop()
        try await running.value
    }

    @Test func `joins what is added on the open connection`() async throws {
        let (connection, running) = await joined()
        await relay.setNotifyingCircles([LiveGroup(id: Groups.circle)])
        #expect(connection.joins == [Groups.convoy, Groups.circle])
        #expect(server.bearers.count == 1)
        await relay.stop()
        try await running.value
    }

    @Test func `joins what is added before the relay has confirmed anything`() async throws {
        await relay.setConvoy(LiveGroup(id: Groups.convoy))
        let running = run()
        let connection = await server.connection()
        await relay.setNotifyingCircles([LiveGroup(id: Groups.circle)])
        #expect(connection.joins == [Groups.convoy, Groups.circle])
        await relay.stop()
        try await running.value
    }

    @Test func `joins what is added while it connects`() async throws {
        server.hold()
        await relay.setConvoy(LiveGroup(id: Groups.convoy))
        let running = run()
        await server.attempts(1)
        await relay.setNotifyingCircles([LiveGroup(id: Groups.circle)])
        server.letGo()
        let connection = await server.connection()
        _ = await connection.types(2)
        #expect(connection.joins == [Groups.convoy, Groups.circle])
        await relay.stop()
        try await running.value
    }

    @Test func `reopens with what remains after a circle went`() async throws {
        await relay.setNotifyingCircles([LiveGroup(id: Groups.circle)])
        let (connection, running) = await joined()
        await relay.setNotifyingCircles([])
        #expect(connection.isClosed)
        await clock.pass(.seconds(1))
        #expect(await server.connection(2).joins == [Groups.convoy])
        await relay.stop()
        try await running.value
    }

    @Test func `reopens for another convoy, without the old one's people`() async throws {
        let (connection, running) = await joined()
        connection.push(Self.positions(People.ann))
        _ = await shows { !$0.peers.isEmpty }
        await relay.setConvoy(LiveGroup(id: Groups.otherConvoy))
        #expect(await relay.snapshot.peers.isEmpty)
        #expect(connection.isClosed)
        await clock.pass(.seconds(1))
        #expect(await server.connection(2).joins == [Groups.otherConvoy])
        await relay.stop()
        try await running.value
    }

    @Test func `goes on with the circles when the convoy is left`() async throws {
        await relay.setNotifyingCircles([LiveGroup(id: Groups.circle)])
        let (_, running) = await joined()
        await relay.setConvoy(nil)
        await clock.pass(.seconds(1))
        #expect(await server.connection(2).joins == [Groups.circle])
        await relay.stop()
        try await running.value
    }

    @Test func `ends when nothing is followed any more, also while it waits`() async throws {
        let (connection, running) = await joined()
        connection.push(Self.positions(People.ann))
        _ = await shows { !$0.peers.isEmpty }
        connection.drop()
        await clock.sleeper(of: .seconds(1))
        #expect(await !relay.snapshot.peers.isEmpty)
        await relay.setConvoy(nil)
        try await running.value
        let snapshot = await relay.snapshot
        #expect(snapshot.peers.isEmpty && snapshot.talking.isEmpty)
    }

    // MARK: - Sessions

    @Test func `forgets everything when somebody else signs in`() async throws {
        let (connection, running) = await joined()
        connection.push(Self.positions(People.ann))
        _ = await shows { !$0.peers.isEmpty }
        session.signIn(People.bob)
        // The next person's position goes nowhere, however soon it comes.
        #expect(await !relay.sendLocation(Places.reading(0, at: clock.now)))
        try await running.value
        #expect(connection.isClosed)
        #expect(await connection.types(1) == ["join"])
        #expect(await relay.snapshot == RelaySnapshot())
        try await relay.run()
        #expect(server.bearers.count == 1)
    }

    @Test func `notices a change of session without being asked`() async throws {
        let (_, running) = await joined()
        session.signIn(nil)
        await clock.pass(ConvoyRelay.housekeepingInterval)
        try await running.value
        #expect(await relay.snapshot.convoyID == nil)
    }

    @Test func `closes at once when it is told to look`() async throws {
        let (connection, running) = await joined()
        session.signIn(nil)
        await relay.checkSession()
        #expect(connection.isClosed)
        try await running.value
    }

    @Test func `forgets what was followed before a change while it did not run`() async throws {
        await relay.setConvoy(LiveGroup(id: Groups.convoy))
        session.signIn(People.bob)
        try await relay.run()
        #expect(server.bearers.isEmpty)
        #expect(await relay.snapshot.convoyID == nil)
    }

    @Test func `says that nobody is signed in`() async throws {
        session.signIn(nil)
        await relay.setConvoy(LiveGroup(id: Groups.convoy))
        let running = run()
        #expect(await shows { $0.lastError != nil }.lastError == "Not signed in")
        await relay.stop()
        try await running.value
    }

    // MARK: - Tokens

    @Test func `asks for a fresh token after one that was refused`() async throws {
        session.set(tokens: ["old", "new"])
        server.refuse(with: RelayError.refused(status: 401))
        await relay.setConvoy(LiveGroup(id: Groups.convoy))
        let running = run()
        await clock.pass(.seconds(2))
        await server.attempts(2)
        #expect(server.bearers == ["old", "new"])
        #expect(session.refused == ["old"])
        await relay.stop()
        try await running.value
    }

    @Test func `sends a fresh token before the old one ends`() async throws {
        session.set(tokens: ["old", "new"], expiresAt: clock.now.addingTimeInterval(120))
        let (connection, running) = await joined()
        await clock.pass(ConvoyRelay.housekeepingInterval)
        #expect(session.refused.isEmpty)
        await clock.sleeper(of: ConvoyRelay.housekeepingInterval)
        clock.advance(by: .seconds(56))
        #expect(await connection.types(2) == ["join", "auth"])
        #expect(connection.sent.last?["token"]?.text == "new")
        let later = clock.now.addingTimeInterval(900).milliseconds
        connection.push(#"{"type":"auth","expiresAt":\#(later)}"#)
        await clock.pass(ConvoyRelay.housekeepingInterval)
        #expect(session.refused == ["old"])
        await relay.stop()
        try await running.value
    }

    // MARK: - Positions

    @Test func `sends positions no oftener than each two seconds, whatever the wall clock says`()
        async throws
    {
        let (connection, running) = await joined()
        func send() async -> Bool {
            await relay.sendLocation(Places.reading(0, at: clock.now))
        }
        #expect(await send())
        clock.setWall(clock.now.addingTimeInterval(3600))
        #expect(await !send())
        clock.advance(by: .milliseconds(1999))
        #expect(await !send())
        // A clock set back an hour silences nobody.
        clock.setWall(clock.now.addingTimeInterval(-7200))
        clock.advance(by: .milliseconds(1))
        #expect(await send())
        #expect(await connection.types(3) == ["join", "location", "location"])
        #expect(connection.sent.last?["groupId"] == nil)
        await relay.stop()
        try await running.value
    }

    @Test func `sends nothing while there is no connection`() async throws {
        #expect(await !relay.sendLocation(Places.reading(0, at: clock.now)))
        let (connection, running) = await joined()
        connection.drop()
        _ = await shows { !$0.isConnected }
        #expect(await !relay.sendLocation(Places.reading(0, at: clock.now)))
        await relay.stop()
        try await running.value
    }

    @Test func `hides peers whose time is up`() async throws {
        let (connection, running) = await joined()
        connection.push(Self.positions(People.ann))
        _ = await shows { !$0.peers.isEmpty }
        await clock.sleeper(of: ConvoyRelay.housekeepingInterval)
        clock.advance(by: .seconds(20))
        _ = await shows { $0.peers.isEmpty }
        await relay.stop()
        try await running.value
    }

    // MARK: - Votes

    @Test func `opens a vote, counts it, and announces the winner alone`() async throws {
        let (connection, running) = await joined()
        connection.push(Self.positions(People.ann))
        _ = await shows { !$0.peers.isEmpty }
        #expect(await relay.offerSpin(SpinRoundTests.candidates))
        #expect(await relay.vote(1))
        #expect(await relay.snapshot.spinOutcome == .wait)
        connection.push(
            #"{"type":"spin_vote","groupId":"\#(Groups.convoy)","user":"\#(People.ann)","index":1}"#
        )
        let winner = SpinRoundTests.candidates[1]
        _ = await shows { $0.spinOutcome == .commit(winner) }
        #expect(
            await connection.types(4) == ["join", "spin_offer", "spin_vote", "spin_offer"]
        )
        #expect(connection.sent.last?["candidates"]?.list?.count == 1)
        await relay.stop()
        try await running.value
    }

    @Test func `closes its own vote by hand, and no one else's`() async throws {
        let (connection, running) = await joined()
        connection.push(Self.positions(People.ann))
        _ = await shows { !$0.peers.isEmpty }
        await relay.offerSpin(SpinRoundTests.candidates)
        #expect(await relay.closeSpin())
        #expect(await relay.snapshot.spinOutcome == .commit(SpinRoundTests.candidates[0]))
        let offer = OutboundFrame.spinOffer(Groups.convoy, SpinRoundTests.candidates).text
        connection.push(offer)
        _ = await shows { $0.spin?.isMine == false }
        #expect(await !relay.closeSpin())
        await relay.stop()
        try await running.value
    }

    @Test func `offers nothing that the relay would void`() async throws {
        let (_, running) = await joined()
        let candidate = SpinRoundTests.candidates[0]
        var long = candidate
        long.name = String(repeating: "x", count: 81)
        var lost = candidate
        lost.coordinate.latitude = 91
        #expect(await !relay.offerSpin([]))
        #expect(await !relay.offerSpin([candidate, candidate, candidate, candidate]))
        #expect(await !relay.offerSpin([candidate, long]))
        #expect(await !relay.offerSpin([candidate, lost]))
        #expect(await !relay.vote(0))
        #expect(await relay.snapshot.spin == nil)
        await relay.stop()
        try await running.value
    }

    @Test func `keeps an offer on the own table when it cannot be sent`() async throws {
        await relay.setConvoy(LiveGroup(id: Groups.convoy))
        #expect(await !relay.offerSpin(SpinRoundTests.candidates))
        #expect(await relay.snapshot.spin?.isMine == true)
    }

    // MARK: - Events and voice

    @Test func `passes arrivals on, dropping the oldest for a slow reader`() async throws {
        await relay.setNotifyingCircles([LiveGroup(id: Groups.circle)])
        let running = run()
        let connection = await server.connection()
        connection.confirm(Groups.circle)
        let events = relay.placeEvents()
        for number in 1...20 {
            connection.push(
                #"{"type":"place_event","groupId":"\#(Groups.circle)","user":"\#(People.ann)","#
                    + #""placeId":"\#(Places.home)","placeName":"Home","kind":"arrive","#
                    + #""ts":\#(number)}"#
            )
        }
        connection.push(Self.positions(People.ann))
        _ = await shows { !$0.peers.isEmpty }
        var iterator = events.makeAsyncIterator()
        #expect(await iterator.next()?.timestampMilliseconds == 5)
        await relay.stop()
        try await running.value
    }

    @Test func `says nothing aloud while voice is off`() async throws {
        let (connection, running) = await joined()
        await relay.setTalking(true)
        await relay.sendVoice([1])
        #expect(connection.sent.count == 1)
        await relay.stop()
        try await running.value
    }
}
