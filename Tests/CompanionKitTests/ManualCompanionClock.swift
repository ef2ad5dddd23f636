import Foundation
import Synchronization

@testable import CompanionKit

/// Clocks that move when the test says so; the wall can be set like a person's.
final class ManualCompanionClock: CompanionClock {
    private struct Sleeper {
        let id: Int
        let duration: Duration
        let deadline: Duration
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now = Date(timeIntervalSince1970: 1_800_000_000)
        var uptime = Duration.seconds(1000)
        var nextID = 0
        var sleepers: [Sleeper] = []
        var watchers: [(Duration, CheckedContinuation<Void, Never>)] = []
    }

    private let state = Mutex(State())

    var now: Date { state.withLock { $0.now } }
    var uptime: Duration { state.withLock { $0.uptime } }

    func sleep(for duration: Duration) async throws {
        let id = state.withLock { state in
            state.nextID += 1
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                let watchers = state.withLock { state -> [CheckedContinuation<Void, Never>] in
                    if Task.isCancelled {
                        continuation.resume(throwing: CancellationError())
                        return []
                    }
                    let sleeper = Sleeper(
                        id: id,
                        duration: duration,
                        deadline: state.uptime + duration,
                        continuation: continuation
                    )
                    state.sleepers.append(sleeper)
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

    /// Moves both clocks and wakes who is due.
    func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now += duration.seconds
            state.uptime += duration
            let due = state.sleepers.filter { $0.deadline <= state.uptime }
            state.sleepers.removeAll { $0.deadline <= state.uptime }
            return due
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// Waits for a sleeper of this length, then lets it sleep its time.
    func pass(_ duration: Duration) async {
        await sleeper(of: duration)
        advance(by: duration)
    }

    /// Sets the wall clock, as a person or the network does.
    func setWall(_ date: Date) { state.withLock { $0.now = date } }
}
