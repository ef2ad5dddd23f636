import Synchronization

/// Lets some tests work at once and the others wait, in their order.
///
/// All tests of a run begin together; hundreds of services at once would need more connections than
/// a database gives.
final class Turnstile: Sendable {
    private struct State {
        var free: Int
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    /// Whether this task has passed already: a second service of one test must not wait for it.
    @TaskLocal private static var isInside = false

    private let state: Mutex<State>

    init(places: Int) { state = Mutex(State(free: places)) }

    func pass<Value>(_ body: () async throws -> Value) async throws -> Value {
        if Self.isInside { return try await body() }
        await enter()
        defer { leave() }
        return try await Self.$isInside.withValue(true) { try await body() }
    }

    private func enter() async {
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                guard state.free == 0 else {
                    state.free -= 1
                    return true
                }
                state.waiting.append(continuation)
                return false
            }
            if isFree { continuation.resume() }
        }
    }

    private func leave() {
        let next: CheckedContinuation<Void, Never>? = state.withLock { state in
            guard state.waiting.isEmpty else { return state.waiting.removeFirst() }
            state.free += 1
            return nil
        }
        next?.resume()
    }
}
