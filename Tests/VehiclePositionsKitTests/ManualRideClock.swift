import Foundation
import Synchronization
import VehiclePositionsKit

/// A clock that moves when the test says so, and tells when someone waits on it.
final class ManualRideClock: RideClock {
    private struct Sleeper {
        let id: Int
        let duration: Duration
        let deadline: Date
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = Date(timeIntervalSince1970: 1_800_000_000)
        var nextID = 0
        var sleepers: [Sleeper] = []
        var watchers: [(Duration, CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    init(now: Date = Date(timeIntervalSince1970: 1_800_000_000)) {
        state.withLock { $0.now = now }
    }

    var now: Date { state.withLock { $0.now } }

    func sleep(for duration: Duration) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                let seconds = Double(duration.components.seconds)
                let watchers = state.withLock { state -> [CheckedContinuation<Void, Never>] in
                    if Task.isCancelled {
                        continuation.resume(throwing: CancellationError())
                        return []
                    }
                    state.sleepers.append(
                        Sleeper(
                            id: id,
                            duration: duration,
                            deadline: state.now.addingTimeInterval(seconds),
                            continuation: continuation
                        )
                    )
                    let seen = state.watchers.filter { $0.0 == duration }.map(\.1)
                    state.watchers.removeAll { $0.0 == duration }
                    return seen
                }
                for watcher in watchers { watcher.resume() }
            }
        } onCancel: {
            let cancelled = state.withLock { state in
                let index = state.sleepers.firstIndex { $0.id == id }
                return index.map { state.sleepers.remove(at: $0).continuation }
            }
            cancelled?.resume(throwing: CancellationError())
        }
    }

    /// Returns once someone sleeps for exactly this long.
    func sleeper(of duration: Duration) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state -> Bool in
                if state.sleepers.contains(where: { $0.duration == duration }) { return true }
                state.watchers.append((duration, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    /// Moves time and wakes who is due.
    func advance(seconds: Double) {
        let due = state.withLock { state in
            state.now += seconds
            let now = state.now
            let due = state.sleepers.filter { $0.deadline <= now }
            state.sleepers.removeAll { $0.deadline <= now }
            return due
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// Waits for a sleeper of this length, then lets it sleep its time.
    func pass(_ duration: Duration) async {
        await sleeper(of: duration)
        advance(seconds: Double(duration.components.seconds))
    }
}
