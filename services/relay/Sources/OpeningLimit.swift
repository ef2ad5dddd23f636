internal import Synchronization
internal import Transit

/// How often each account may open a socket at this relay: every one draws a claim and asks groups for views.
///
/// A bucket of tokens for each account that opened one lately. What is full again is forgotten.
final class OpeningLimit: Sendable {
    private struct Bucket {
        var tokens: Double
        var filledAt: UInt64

        /// The tokens that there are now.
        func filled(at now: UInt64) -> Double {
            let elapsed = Double(now - min(now, filledAt)) / 1e9
            return min(RelayLimits.openingBurst, tokens + elapsed * RelayLimits.openingsPerSecond)
        }
    }

    private struct State {
        var buckets: [UniqueID: Bucket] = [:]
        /// Full ones are looked for when there are so many.
        var sweepAt = 1024
    }

    private let uptime: @Sendable () -> UInt64
    private let state = Mutex(State())

    /// Makes a limit.
    ///
    /// - Parameter uptime: Monotonic nanoseconds.
    init(_ uptime: @escaping @Sendable () -> UInt64) { self.uptime = uptime }

    /// How many accounts it remembers.
    var count: Int { state.withLock { $0.buckets.count } }

    /// Whether an account may open one more now; it is counted then.
    func admits(_ account: UniqueID) -> Bool {
        let now = uptime()
        return state.withLock { state in
            let tokens = state.buckets[account]?.filled(at: now) ?? RelayLimits.openingBurst
            guard tokens >= 1 else { return false }
            state.buckets[account] = Bucket(tokens: tokens - 1, filledAt: now)
            if state.buckets.count >= state.sweepAt { Self.sweep(&state, at: now) }
            return true
        }
    }

    private static func sweep(_ state: inout State, at now: UInt64) {
        state.buckets = state.buckets.filter { $0.value.filled(at: now) < RelayLimits.openingBurst }
        state.sweepAt = max(1024, 2 * state.buckets.count)
    }
}
