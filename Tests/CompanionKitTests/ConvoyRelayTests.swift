import Foundation
import Testing

@testable import CompanionKit

/// Cases 101 to 104, defects 5 and 19; the extensions have the rest.
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

    @Test func `a stop of the run before does not reach the next one`() async throws {
        let (_, first) = await joined()
        first.cancel()
        try await first.value
        let second = run()
        let connection = await server.connection(2)
        connection.confirm(Groups.convoy)
        _ = await shows { $0.isConnected }
        // As the cancelled run's own does when it comes late.
        await relay.stop(run: 1)
        #expect(await relay.snapshot.isConnected && !connection.isClosed)
        await relay.stop(run: 2)
        try await second.value
        #expect(connection.isClosed)
    }

    @Test func `does not begin in a task that was cancelled before`() async throws {
        await relay.setConvoy(LiveGroup(id: Groups.convoy))
        let cancelled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await relay.run()
        }
        try await cancelled.value
        #expect(server.bearers.isEmpty)
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

    @Test func `tries a connection anew on which the relay confirms nothing`() async throws {
        await relay.setConvoy(LiveGroup(id: Groups.convoy))
        let running = run()
        let connection = await server.connection()
        for _ in 0..<3 { await clock.pass(ConvoyRelay.housekeepingInterval) }
        await clock.sleeper(of: ConvoyRelay.housekeepingInterval)
        #expect(!connection.isClosed)
        clock.advance(by: .seconds(5))
        await clock.pass(.seconds(2))
        #expect(connection.isClosed)
        #expect(await server.connection(2).joins == [Groups.convoy])
        #expect(await relay.snapshot.lastError == "The server does not answer")
        await relay.stop()
        try await running.value
    }
}
