internal import Synchronization

/// Notices that this process stood still or was cut off, so that it does not serve what it missed the end of.
///
/// Whoever was away longer than another waits before it takes over may have been replaced. It catches up
/// when it finds the turn to be its own still, a moment after the first feed that it hears, or after a while in which
/// there was none.
final class Wakefulness: Sendable {
    /// A gap between two beats, in nanoseconds, that another may have used.
    static let longestGap: UInt64 = 3_000_000_000
    /// How long after a gap news are waited for, in nanoseconds.
    static let catchingUp: UInt64 = 5_000_000_000
    /// How long after a gap even news may be old, in nanoseconds: what was sent meanwhile comes one after the other.
    static let settling: UInt64 = 1_000_000_000

    private struct State {
        /// The last beat; nil before the first one, when nobody watches.
        var beatAt: UInt64?
        /// When the process woke up; nil once it has caught up.
        var wokeAt: UInt64?
        /// Whether a feed was heard since.
        var hasNews = false
        /// Whether nobody is reached who could tell of another builder.
        var isCutOff = false
        /// Whether it was so until now; the next beat tells it.
        var hasReturned = false
    }

    private let state = Mutex(State())

    /// Says that the process runs; to be called each second.
    ///
    /// - Parameter now: Monotonic nanoseconds.
    /// - Returns: Whether it stood still or was cut off since the last time.
    func beat(at now: UInt64) -> Bool {
        state.withLock { state in
            let gap = state.beatAt.map { now - min(now, $0) } ?? 0
            let stood = gap > Self.longestGap || state.hasReturned
            state.hasReturned = false
            state.beatAt = now
            if stood { (state.wokeAt, state.hasNews) = (now, false) }
            return stood
        }
    }

    /// Says whether nobody is reached who could tell of another builder.
    func isCutOff(_ isCutOff: Bool, at now: UInt64) {
        state.withLock { state in
            if state.isCutOff, !isCutOff {
                (state.wokeAt, state.hasNews, state.hasReturned) = (now, false, true)
            }
            state.isCutOff = isCutOff
        }
    }

    /// Says that nothing was missed.
    func missedNothing() { state.withLock { $0.wokeAt = nil } }

    /// Says that a feed was heard.
    func heardNews() { state.withLock { $0.hasNews = true } }

    /// Whether the process runs and knows what is new.
    ///
    /// - Parameter now: Monotonic nanoseconds.
    /// - Returns: false after a freeze, until it has caught up.
    func isAwake(at now: UInt64) -> Bool {
        state.withLock { state in
            guard let beatAt = state.beatAt else { return true }
            if state.isCutOff { return false }
            if now > beatAt, now - beatAt > Self.longestGap { return false }
            guard let wokeAt = state.wokeAt else { return true }
            let wait = state.hasNews ? Self.settling : Self.catchingUp
            return now > wokeAt && now - wokeAt > wait
        }
    }
}
