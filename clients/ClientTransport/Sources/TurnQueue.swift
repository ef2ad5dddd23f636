internal import Synchronization

/// Lets callers through one at a time, in order, over their waits.
///
/// One that is cancelled while it waits leaves the queue at once: whoever has the turn may need long.
package final class TurnQueue: Sendable {
    private struct State {
        var isBusy = false
        var nextID = 0
        var waiting: [(id: Int, continuation: CheckedContinuation<Bool, Never>)] = []
    }

    private let state = Mutex(State())

    /// Makes a queue in which nobody waits.
    package init() {}

    /// Runs work alone.
    ///
    /// - Throws: `CancellationError` when cancelled before its turn, or what the work throws.
    package func run<Value: Sendable>(
        _ work: @Sendable () async throws -> Value
    ) async throws -> Value {
        try await enter()
        defer { leave() }
        return try await work()
    }

    /// Waits for its turn.
    ///
    /// - Throws: `CancellationError` when cancelled meanwhile; the turn is not taken then.
    package func enter() async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        let isMine = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let answer: Bool? = state.withLock { state in
                    if Task.isCancelled { return false }
                    if !state.isBusy {
                        state.isBusy = true
                        return true
                    }
                    state.waiting.append((id, continuation))
                    return nil
                }
                if let answer { continuation.resume(returning: answer) }
            }
        } onCancel: {
            let abandoned = state.withLock { state in
                let index = state.waiting.firstIndex { $0.id == id }
                return index.map { state.waiting.remove(at: $0).continuation }
            }
            abandoned?.resume(returning: false)
        }
        guard isMine else { throw CancellationError() }
    }

    /// Ends the turn.
    package func leave() {
        let next = state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.isBusy = false
                return nil as CheckedContinuation<Bool, Never>?
            }
            return state.waiting.removeFirst().continuation
        }
        next?.resume(returning: true)
    }
}
