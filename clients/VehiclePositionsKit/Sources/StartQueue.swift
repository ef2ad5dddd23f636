internal import Synchronization

/// Lets starts through one at a time, in order; one that is cancelled while waiting leaves the queue.
final class StartQueue: Sendable {
    private struct State {
        var isBusy = false
        var nextID = 0
        var waiting: [(id: Int, continuation: CheckedContinuation<Bool, Never>)] = []
    }

    private let state = Mutex(State())

    /// Waits for its turn.
    ///
    /// - Throws: `CancellationError` when cancelled meanwhile; the turn is not taken then.
    func enter() async throws {
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
    func leave() {
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
