internal import Database
internal import Synchronization
internal import Transit

/// What one address may try in a minute; an address that has used it up is refused from memory.
///
/// Else a single host that goes on regardless would keep the database, and the places before the
/// password worker, from everybody else. The attempts of an address never become fewer within a
/// window, so what was refused once is refused until the window ends.
final class AddressLimiter: Sendable {
    private struct State {
        var window: UnixSeconds = 0
        var spent: Set<String> = []
    }

    private let limiter: AttemptLimiter
    private let state = Mutex(State())

    init(_ limiter: AttemptLimiter) { self.limiter = limiter }

    /// How long an address has to wait that this process has refused before; asks nobody.
    ///
    /// - Parameters:
    ///   - address: Reduced to the network that counts as one.
    ///   - now: The application clock.
    /// - Returns: Seconds to the end of the window; nil for whoever has to be counted.
    func knownWait(of address: String, at now: UnixSeconds) -> Int? {
        let window = AttemptLimiter.window(at: now)
        return state.withLock { state in
            guard state.window == window, state.spent.contains(address) else { return nil }
            return Int(window + AttemptLimiter.windowSeconds - now)
        }
    }

    /// Counts one attempt, as ``AttemptLimiter/attempt(by:at:on:)`` does, and remembers a refusal.
    func attempt(
        by address: String,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> AttemptLimiter.Answer {
        let answer = try limiter.attempt(by: address, at: now, on: connection)
        if case .refused = answer { remember(address, AttemptLimiter.window(at: now)) }
        return answer
    }

    private func remember(_ address: String, _ window: UnixSeconds) {
        state.withLock { state in
            if state.window != window { state = State(window: window) }
            // Beyond that many the database says it, as it does the first time.
            guard state.spent.count < AttemptLimiter.callerLimit else { return }
            state.spent.insert(address)
        }
    }
}
