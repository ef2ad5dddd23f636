internal import Synchronization

/// Time that stands still until a test moves it, and those who wait in it.
public final class ManualTime: Sendable {
    private struct Sleeper {
        let id: Int
        let duration: Duration
        let deadline: Duration
        let waiting: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var elapsed = Duration.zero
        var lastID = 0
        var sleepers: [Sleeper] = []
        var watchers: [(duration: Duration, waiting: CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    /// Makes a time at zero.
    public init() {}

    /// How far the test has moved it.
    public var elapsed: Duration { state.withLock { $0.elapsed } }

    /// Waits, as a clock does.
    ///
    /// - Throws: `CancellationError` when the task is cancelled meanwhile.
    public func sleep(for duration: Duration) async throws {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiting in
                enter(id, duration, waiting)
            }
        } onCancel: {
            let cancelled = state.withLock { state in
                let index = state.sleepers.firstIndex { $0.id == id }
                return index.map { state.sleepers.remove(at: $0).waiting }
            }
            cancelled?.resume(throwing: CancellationError())
        }
    }

    private func enter(
        _ id: Int,
        _ duration: Duration,
        _ waiting: CheckedContinuation<Void, any Error>
    ) {
        let seen = state.withLock { state -> [CheckedContinuation<Void, Never>]? in
            if Task.isCancelled { return nil }
            state.sleepers.append(
                Sleeper(
                    id: id,
                    duration: duration,
                    deadline: state.elapsed + duration,
                    waiting: waiting
                )
            )
            let seen = state.watchers.filter { $0.duration == duration }.map(\.waiting)
            state.watchers.removeAll { $0.duration == duration }
            return seen
        }
        if seen == nil { waiting.resume(throwing: CancellationError()) }
        for watcher in seen ?? [] { watcher.resume() }
    }

    /// Returns once someone sleeps for exactly this long.
    public func sleeper(of duration: Duration) async {
        await withCheckedContinuation { waiting in
            let isThere = state.withLock { state in
                if state.sleepers.contains(where: { $0.duration == duration }) { return true }
                state.watchers.append((duration, waiting))
                return false
            }
            if isThere { waiting.resume() }
        }
    }

    /// Moves time and wakes who is due.
    public func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.elapsed += duration
            let due = state.sleepers.filter { $0.deadline <= state.elapsed }
            state.sleepers.removeAll { $0.deadline <= state.elapsed }
            return due
        }
        for sleeper in due { sleeper.waiting.resume() }
    }

    /// Waits for a sleeper of this length, then lets it sleep its time.
    public func pass(_ duration: Duration) async {
        await sleeper(of: duration)
        advance(by: duration)
    }

    /// Moves to the next deadline and wakes who is due first, alone.
    public func advanceToNext() {
        let next = state.withLock { state -> Sleeper? in
            let index = state.sleepers.indices.min {
                state.sleepers[$0].deadline < state.sleepers[$1].deadline
            }
            guard let index else { return nil }
            let sleeper = state.sleepers.remove(at: index)
            state.elapsed = max(state.elapsed, sleeper.deadline)
            return sleeper
        }
        next?.waiting.resume()
    }
}
