internal import Telemetry
public import Transit

/// The clock that gives every domain time: tokens, rides, reports, feeds.
///
/// Waits and limiters use a monotonic clock and heartbeats the database's; neither is shifted.
public struct ApplicationClock: Sendable {
    /// The current time in POSIX seconds.
    public let now: @Sendable () -> UnixSeconds
    /// The current time in POSIX milliseconds, for what the social API shows in them.
    public let milliseconds: @Sendable () -> Int64

    /// Makes a clock from its reading.
    ///
    /// - Parameters:
    ///   - now: Reads POSIX seconds.
    ///   - milliseconds: Reads POSIX milliseconds; whole seconds by default.
    public init(
        now: @escaping @Sendable () -> UnixSeconds,
        milliseconds: (@Sendable () -> Int64)? = nil
    ) {
        self.now = now
        self.milliseconds = milliseconds ?? { now() * 1000 }
    }

    /// The machine's wall clock, moved by a fixed number of seconds.
    ///
    /// - Parameter offsetSeconds: What is added to the wall clock; 0 outside replays and tests.
    /// - Returns: A clock that reads the machine's at each call.
    public static func live(offsetSeconds: Int64 = 0) -> ApplicationClock {
        ApplicationClock(
            now: { Timestamps.nowMilliseconds() / 1000 + offsetSeconds },
            milliseconds: { Timestamps.nowMilliseconds() + offsetSeconds * 1000 }
        )
    }
}
