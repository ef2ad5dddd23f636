import Foundation
import Testing

@testable import CompanionKit

/// Parts of an app's own that never answer, nor hear that they should stop, hold nothing up for
/// good.
@Suite(.timeLimit(.minutes(1))) struct SilentPartsTests {
    let server = FakeServer()
    let session = FakeSession()
    let clock = ManualCompanionClock()

    func silent(on path: String) -> SilentTransport { SilentTransport(server: server, path: path) }

    func api(_ transport: any CompanionTransport) -> CompanionAPI {
        CompanionAPI(transport: transport, session: session, clock: clock)
    }

    func isOfTransport(_ error: any Error) -> Bool {
        if case CompanionError.transport = error { true } else { false }
    }

    // MARK: - Calls

    @Test func `a call without an answer fails after twenty seconds`() async throws {
        let transport = silent(on: "/api/circles")
        let call = Task { try await api(transport).groups(.circle) }
        // The token had a deadline of its own.
        await transport.silence.isAwaited()
        await clock.sleeper(of: .seconds(20))
        clock.advance(by: .milliseconds(19_999))
        #expect(server.requests.isEmpty)
        clock.advance(by: .milliseconds(1))
        await #expect {
            _ = try await call.value
        } throws: {
            isOfTransport($0)
        }
        transport.silence.end()
    }

    @Test func `a call that is cancelled returns at once`() async throws {
        let transport = silent(on: "/api/circles")
        let call = Task { try await api(transport).groups(.circle) }
        await clock.sleeper(of: .seconds(20))
        call.cancel()
        await #expect(throws: CancellationError.self) { _ = try await call.value }
        transport.silence.end()
    }

    @Test func `a call for which there is no token fails after twenty seconds`() async throws {
        let provider = SilentSession(session: session)
        let call = Task {
            try await CompanionAPI(transport: server, session: provider, clock: clock)
                .groups(.circle)
        }
        await clock.pass(.seconds(20))
        await #expect {
            _ = try await call.value
        } throws: {
            isOfTransport($0)
        }
        #expect(server.requests.isEmpty)
        provider.silence.end()
    }

    @Test func `a call that is cancelled waits for no token`() async throws {
        let provider = SilentSession(session: session)
        let call = Task {
            try await CompanionAPI(transport: server, session: provider, clock: clock)
                .groups(.circle)
        }
        await provider.silence.isAwaited()
        call.cancel()
        await #expect(throws: CancellationError.self) { _ = try await call.value }
        provider.silence.end()
    }

    @Test func `a transport that gives up by itself has failed`() async throws {
        struct Quitter: CompanionTransport {
            func send(
                _ request: CompanionRequest,
                serverURL: URL
            ) async throws -> CompanionResponse {
                throw CancellationError()
            }
        }
        await #expect {
            _ = try await api(Quitter()).groups(.circle)
        } throws: {
            isOfTransport($0)
        }
    }

    @Test func `a tick without an answer lets the next one through`() async throws {
        server.change { $0.circles = [.circle()] }
        let transport = silent(on: "/api/me/fix")
        let presence = CirclePresence(
            api: api(transport),
            session: session,
            store: InMemoryCompanionStore()
        )
        let reading = Places.reading(0, at: clock.now)
        let first = Task { try await presence.tick(reading, age: .zero, now: clock.now) }
        // The calls before had deadlines of their own.
        await transport.silence.isAwaited()
        await clock.pass(.seconds(20))
        #expect(try await first.value == CirclePresence.activeInterval)
        transport.silence.end()
        _ = try await presence.tick(reading, age: .zero, now: clock.now)
        #expect(server.requests("GET", "/api/circles").count == 2)
    }

    @Test func `a tick that is cancelled while another runs does not wait for it`() async throws {
        server.change { $0.circles = [.circle()] }
        let transport = silent(on: "/api/me/fix")
        let presence = CirclePresence(
            api: api(transport),
            session: session,
            store: InMemoryCompanionStore()
        )
        let reading = Places.reading(0, at: clock.now)
        let first = Task { try await presence.tick(reading, age: .zero, now: clock.now) }
        await transport.silence.isAwaited()
        let second = Task { try await presence.tick(reading, age: .zero, now: clock.now) }
        second.cancel()
        await #expect(throws: CancellationError.self) { _ = try await second.value }
        transport.silence.end()
        _ = try await first.value
        _ = try await presence.tick(reading, age: .zero, now: clock.now)
    }

    @Test func `a driver that is cancelled during a tick ends`() async throws {
        let transport = silent(on: "/api/circles")
        let feed = LocationHubTests.CountingFeed()
        let sync = CircleSync(
            presence: CirclePresence(
                api: api(transport),
                session: session,
                store: InMemoryCompanionStore()
            ),
            hub: LocationHub(feed: feed, clock: clock),
            clock: clock
        )
        let running = Task { await sync.run() }
        await feed.isOpen(true)
        feed.yield(Places.reading(0, at: clock.now))
        await transport.silence.isAwaited()
        running.cancel()
        await running.value
        transport.silence.end()
    }

    // MARK: - Sessions

    func signedIn(silentOn path: String) async throws -> (AccountSession, SilentTransport) {
        let transport = SilentTransport(
            server: ScriptedTransport(.answer(200, AccountSessionTests.tokens(1))),
            path: path
        )
        let session = AccountSession(
            transport: transport,
            store: InMemoryCompanionStore(),
            clock: clock
        )
        try await session.signIn("me", password: "secret", serverURL: FakeSession.server)
        return (session, transport)
    }

    @Test func `a refresh without an answer fails, and the next one begins anew`() async throws {
        let (session, transport) = try await signedIn(silentOn: "/api/v1/auth/refresh")
        let refresh = Task { try await session.token(replacing: "a1") }
        await clock.pass(.seconds(20))
        await #expect {
            _ = try await refresh.value
        } throws: {
            isOfTransport($0)
        }
        #expect(await session.state().account != nil)
        transport.silence.end()
        _ = try await session.token(replacing: "a1")
    }

    @Test func `signing out ends in time though the server is not told`() async throws {
        let (session, transport) = try await signedIn(silentOn: "/api/v1/auth/logout")
        let leaving = Task { await session.signOut() }
        await clock.sleeper(of: .seconds(20))
        #expect(await session.state().account == nil)
        clock.advance(by: .seconds(20))
        await leaving.value
        transport.silence.end()
    }

    // MARK: - The relay

    func relay(_ socket: SilentRelay, _ provider: (any SessionProvider)? = nil) async -> ConvoyRelay
    {
        let relay = ConvoyRelay(
            socket: socket,
            session: provider ?? session,
            clock: clock,
            backoff: ReconnectBackoff(random: { 1 })
        )
        await relay.setConvoy(LiveGroup(id: Groups.convoy))
        return relay
    }

    @Test func `a connection that does not open is tried again, and closed when it comes`()
        async throws
    {
        let socket = SilentRelay(.open)
        let relay = await relay(socket)
        let running = Task { try await relay.run() }
        await socket.relay.attempts(1)
        await clock.sleeper(of: .seconds(20))
        clock.advance(by: .milliseconds(19_999))
        #expect(socket.relay.bearers.count == 1)
        clock.advance(by: .milliseconds(1))
        await clock.sleeper(of: .seconds(2))
        #expect(await relay.snapshot.lastError == "The server does not answer")
        clock.advance(by: .seconds(2))
        await socket.relay.attempts(2)
        await relay.stop()
        try await running.value
        socket.silence.end()
        while !socket.relay.connections.allSatisfy(\.isClosed) { await Task.yield() }
        #expect(socket.relay.connections.count == 2)
    }

    @Test func `stops at once while nothing opens, without an error`() async throws {
        let socket = SilentRelay(.open)
        let relay = await relay(socket)
        let running = Task { try await relay.run() }
        await socket.relay.attempts(1)
        await relay.stop()
        try await running.value
        #expect(await relay.snapshot.lastError == nil)
        socket.silence.end()
    }

    @Test func `stops at once while there is no token, without an error`() async throws {
        let provider = SilentSession(session: session)
        let socket = SilentRelay()
        let relay = await relay(socket, provider)
        let running = Task { try await relay.run() }
        await clock.pass(.seconds(20))
        await clock.sleeper(of: .seconds(2))
        #expect(await relay.snapshot.lastError == "The server does not answer")
        clock.advance(by: .seconds(2))
        await clock.sleeper(of: .seconds(20))
        await relay.stop()
        try await running.value
        #expect(socket.relay.bearers.isEmpty)
        provider.silence.end()
    }

    @Test func `a connection that takes nothing is closed after ten seconds`() async throws {
        let socket = SilentRelay(.send)
        let relay = await relay(socket)
        let running = Task { try await relay.run() }
        await clock.sleeper(of: .seconds(10))
        clock.advance(by: .milliseconds(9999))
        #expect(!socket.relay.connections.contains { $0.isClosed })
        clock.advance(by: .milliseconds(1))
        await clock.sleeper(of: .seconds(2))
        #expect(socket.relay.connections.map(\.isClosed) == [true])
        await relay.stop()
        try await running.value
        socket.silence.end()
    }

    @Test func `following goes on in time on a connection that takes nothing any more`()
        async throws
    {
        let socket = SilentRelay()
        let relay = await relay(socket)
        let running = Task { try await relay.run() }
        await socket.relay.connection().confirm(Groups.convoy)
        while await !relay.snapshot.isConnected { await Task.yield() }
        socket.silence(.send)
        let following = Task {
            await relay.setNotifyingCircles([LiveGroup(id: Groups.circle)])
        }
        await clock.pass(.seconds(10))
        await following.value
        await clock.sleeper(of: .seconds(1))
        await relay.stop()
        try await running.value
        socket.silence.end()
    }

    @Test func `stops though a connection goes on listening`() async throws {
        let socket = SilentRelay(.receive)
        let relay = await relay(socket)
        let running = Task { try await relay.run() }
        _ = await socket.relay.connection()
        await relay.stop()
        try await running.value
        #expect(socket.relay.connections.map(\.isClosed) == [true])
        socket.silence.end()
    }

    @Test func `stops though a connection does not close`() async throws {
        let socket = SilentRelay(.close)
        let relay = await relay(socket)
        let running = Task { try await relay.run() }
        await socket.relay.connection().confirm(Groups.convoy)
        while await !relay.snapshot.isConnected { await Task.yield() }
        let stopping = Task { await relay.stop() }
        await clock.sleeper(of: .seconds(3))
        // The run itself waits for nothing.
        try await running.value
        clock.advance(by: .seconds(3))
        await stopping.value
        socket.silence.end()
    }
}
