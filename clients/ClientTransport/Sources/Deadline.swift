internal import Synchronization

/// Bounds work that somebody else's code does, such as a transport that an app brings along.
///
/// Whoever waits is let go in time, whatever the work does: it is told to stop, and one that does
/// not hear that is left to itself.
package struct Deadline: Sendable {
    /// The time was up.
    package struct Passed: Error {}

    private let limit: Duration?
    private let sleep: @Sendable (Duration) async throws -> Void

    /// Makes a deadline.
    ///
    /// - Parameters:
    ///   - limit: How long work may take; without one, only whoever waits can end the wait.
    ///   - sleep: Waits on the clock that the limit is measured by.
    package init(
        _ limit: Duration?,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.limit = limit
        self.sleep = sleep
    }

    /// Runs work.
    ///
    /// - Parameters:
    ///   - work: Runs in a task of its own.
    ///   - late: Takes what the work gives after nobody waits for it any more.
    /// - Returns: What the work gives.
    /// - Throws: ``Passed``, `CancellationError` as soon as the calling task is cancelled, or what
    ///   the work throws.
    package func run<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value,
        late: @escaping @Sendable (Value) async -> Void = { _ in }
    ) async throws -> Value {
        let race = Race<Value>()
        let working = Task {
            do {
                let value = try await work()
                if !race.finish(.success(value)) { await late(value) }
            } catch {
                race.finish(.failure(error))
            }
        }
        let timer = Task {
            guard let limit else { return }
            do { try await sleep(limit) } catch { return }
            race.finish(.failure(Passed()))
        }
        defer {
            working.cancel()
            timer.cancel()
        }
        return try await withTaskCancellationHandler {
            try await race.outcome()
        } onCancel: {
            race.finish(.failure(CancellationError()))
        }
    }
}

/// Holds the first of several outcomes.
private final class Race<Value: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Value, any Error>)
        case decided(Result<Value, any Error>)
    }

    private let state = Mutex(State.open)

    /// Decides the race.
    ///
    /// - Returns: Whether this was the first outcome.
    @discardableResult
    func finish(_ outcome: Result<Value, any Error>) -> Bool {
        let before = state.withLock { state in
            defer { if case .decided = state {} else { state = .decided(outcome) } }
            return state
        }
        switch before {
        case .open: break
        case .awaited(let waiting): waiting.resume(with: outcome)
        case .decided: return false
        }
        return true
    }

    func outcome() async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let decided = state.withLock { state -> Result<Value, any Error>? in
                if case .decided(let outcome) = state { return outcome }
                state = .awaited(continuation)
                return nil
            }
            if let decided { continuation.resume(with: decided) }
        }
    }
}
