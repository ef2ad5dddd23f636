import Foundation
import Synchronization

@testable import CompanionKit

/// What waits until the test says so, and does not hear that it should stop.
final class Silence: Sendable {
    private let state = Mutex((isOver: false, waiting: [CheckedContinuation<Void, Never>]()))

    func wait() async {
        await withCheckedContinuation { waiting in
            let isOver = state.withLock { state in
                if !state.isOver { state.waiting.append(waiting) }
                return state.isOver
            }
            if isOver { waiting.resume() }
        }
    }

    /// Returns once someone waits.
    func isAwaited() async {
        while state.withLock({ $0.waiting.isEmpty }) { await Task.yield() }
    }

    func end() {
        let waiting = state.withLock { state in
            defer { state = (true, []) }
            return state.waiting
        }
        for one in waiting { one.resume() }
    }
}

/// A transport that does not answer on one path.
struct SilentTransport: CompanionTransport {
    let server: any CompanionTransport
    let path: String
    let silence = Silence()

    func send(_ request: CompanionRequest, serverURL: URL) async throws -> CompanionResponse {
        if request.path == path { await silence.wait() }
        return try await server.send(request, serverURL: serverURL)
    }
}

/// A session that says who is signed in, but has no token to give.
struct SilentSession: SessionProvider {
    let session: FakeSession
    let silence = Silence()

    func state() -> SessionState { session.state() }

    func token(replacing refused: String?) async throws -> BearerToken {
        await silence.wait()
        return try session.token(replacing: refused)
    }
}

/// A relay's socket of which parts do not answer.
final class SilentRelay: RelaySocket {
    enum Part {
        case open, send, receive, close
    }

    let relay = FakeRelay()
    let silence = Silence()
    private let parts: Mutex<Set<Part>>

    init(_ parts: Part...) { self.parts = Mutex(Set(parts)) }

    func silence(_ part: Part) { parts.withLock { _ = $0.insert(part) } }

    fileprivate func wait(in part: Part) async {
        if parts.withLock({ $0.contains(part) }) { await silence.wait() }
    }

    func open(bearer: String) async throws -> any RelayConnection {
        let connection = try await relay.open(bearer: bearer)
        await wait(in: .open)
        return SilentConnection(relay: self, connection: connection)
    }
}

private struct SilentConnection: RelayConnection {
    let relay: SilentRelay
    let connection: any RelayConnection

    func send(_ text: String) async throws {
        await relay.wait(in: .send)
        try await connection.send(text)
    }

    func receive() async throws -> String? {
        await relay.wait(in: .receive)
        return try await connection.receive()
    }

    func close() async {
        await relay.wait(in: .close)
        await connection.close()
    }
}
