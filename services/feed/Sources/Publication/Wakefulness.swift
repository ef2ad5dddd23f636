internal import Synchronization

/// Notices that this process stood still, so that it does not serve what it missed the end of.
///
/// Whoever was frozen longer than another waits before it takes over may have been replaced. It catches up
/// with the first feed that it takes or finds to be its own still, or after a while in which there was none.
final class Wakefulness: Sendable {
    /// A gap between two beats, in nanoseconds, that another may have used.
    static let longestGap: UInt64 = 3_000_000_000
    /// How long after a gap news are waited for, in nanoseconds.
    static let catchingUp: UInt64 = 5_000_000_000

    private struct State {
        /// The last beat; nil before the first one, when nobody watches.
        var beatAt: UInt64?
        /// When the process woke up; nil once it has caught up.
        var wokeAt: UInt64?
    }

    private let state = Mutex(State())

    /// Says that the process runs; to be called each second.
    ///
    /// - Parameter now: Monotonic nanoseconds.
    /// - Returns: Whether it stood still since the last time.
    func beat(at now: UInt64) -> Bool {
        state.withLock { state in
            let stood = state.beatAt.map { now - min(now, $0) > Self.longestGap } ?? false
            state.beatAt = now
            if stood { state.wokeAt = now }
            return stood
        }
    }

    /// Says that nothing was missed, or that it is here now.
    func caughtUp() { state.withLock { $0.wokeAt = nil } }

    /// Whether the process runs and knows what is new.
    ///
    /// - Parameter now: Monotonic nanoseconds.
    /// - Returns: false after a freeze, until it has caught up.
    func isAwake(at now: UInt64) -> Bool {
        state.withLock { state in
            guard let beatAt = state.beatAt else { return true }
            if now > beatAt, now - beatAt > Self.longestGap { return false }
            guard let wokeAt = state.wokeAt else { return true }
            return now > wokeAt && now - wokeAt > Self.catchingUp
        }
    }
}
