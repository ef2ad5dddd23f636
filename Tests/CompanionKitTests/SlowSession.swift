import Synchronization

@testable import CompanionKit

/// A session one of whose answers is on its way for as long as the test says.
final class SlowSession: SessionProvider {
    private struct State {
        var count = 0
        var isToHold = false
        var held: CheckedContinuation<Void, Never>?
    }

    private let session: FakeSession
    private let content = Mutex(State())

    init(_ session: FakeSession) { self.session = session }

    /// How often it was asked who is signed in.
    var count: Int { content.withLock { $0.count } }

    /// Lets the next answer be known, but not yet given.
    func holdNext() { content.withLock { $0.isToHold = true } }

    func isHolding() async {
        while content.withLock({ $0.held == nil }) { await Task.yield() }
    }

    func letGo() {
        content.withLock { content in
            defer { content.held = nil }
            return content.held
        }?.resume()
    }

    func state() async -> SessionState {
        let answer = session.state()
        let isHeld = content.withLock { content in
            defer { content.isToHold = false }
            content.count += 1
            return content.isToHold
        }
        if isHeld {
            await withCheckedContinuation { waiting in content.withLock { $0.held = waiting } }
        }
        return answer
    }

    func token(replacing refused: String?) throws -> BearerToken {
        try session.token(replacing: refused)
    }
}
