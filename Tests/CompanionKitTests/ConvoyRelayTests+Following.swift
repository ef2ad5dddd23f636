import Foundation
import Testing

@testable import CompanionKit

/// Cases 111 to 115: what is followed, by whom, and with which token.
extension ConvoyRelayTests {
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

    @Test func `dropping the last circle takes everyone away, talkers too`() async throws {
        let relay = ConvoyRelay(
            socket: server,
            session: session,
            features: CompanionFeatures(voice: true),
            clock: clock
        )
        await relay.setNotifyingCircles([LiveGroup(id: Groups.circle)])
        let running = Task { try await relay.run() }
        let connection = await server.connection()
        connection.confirm(Groups.circle)
        connection.push(Self.positions(People.ann))
        connection.push(#"{"type":"ptt_start","user":"\#(People.ann)"}"#)
        for await snapshot in await relay.snapshots() where !snapshot.talking.isEmpty { break }
        #expect(await relay.snapshot.peers[People.ann] != nil)
        await relay.setNotifyingCircles([])
        try await running.value
        let snapshot = await relay.snapshot
        #expect(snapshot.peers.isEmpty && snapshot.talking.isEmpty && snapshot.circleIDs.isEmpty)
        #expect(connection.isClosed)
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

    @Test func `opens no connection with the token of who signs in meanwhile`() async throws {
        await relay.setConvoy(LiveGroup(id: Groups.convoy))
        session.meanwhile { [session] in session.signIn(People.bob) }
        try await relay.run()
        #expect(server.bearers.isEmpty)
        #expect(await relay.snapshot == RelaySnapshot())
    }

    @Test func `sends no one else's token over a connection`() async throws {
        session.set(tokens: ["mine", "theirs"], expiresAt: clock.now.addingTimeInterval(30))
        let (connection, running) = await joined()
        session.meanwhile { [session] in session.signIn(People.bob) }
        await clock.pass(ConvoyRelay.housekeepingInterval)
        try await running.value
        #expect(connection.sent.compactMap { $0["type"]?.text } == ["join"])
        #expect(session.refused == ["mine"])
    }

    @Test func `an old answer about the session overtakes no new one`() async throws {
        let slow = SlowSession(session)
        let relay = ConvoyRelay(socket: server, session: slow, clock: clock)
        await relay.setConvoy(LiveGroup(id: Groups.otherConvoy))
        slow.holdNext()
        let early = Task { await relay.checkSession() }
        await slow.isHolding()
        session.signIn(People.me)
        await relay.setConvoy(LiveGroup(id: Groups.convoy))
        slow.letGo()
        await early.value
        #expect(await relay.snapshot.convoyID == Groups.convoy)
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
}
