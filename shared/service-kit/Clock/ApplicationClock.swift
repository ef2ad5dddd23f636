internal import Telemetry
public import Transit

/// The clock that gives every domain time: tokens, rides, reports, feeds.
///
/// Waits and limiters use a monotonic clock and heartbeats the database's; neither is shifted.
public struct ApplicationClock: Sendable {
    /// The current time in POSIX seconds.
    public let now: @Sendable () -> UnixSeconds

    /// Makes a clock from its reading.
    public init(now: @escaping @Sendable () -> UnixSeconds) { self.now = now }

    /// The machine's wall clock, moved by a fixed number of seconds.
    ///
    /// - Parameter offsetSeconds: What is added to the wall clock; 0 outside replays and tests.
    /// - Returns: A clock that reads the machine's at each call.
    public static func live(offsetSeconds: Int64 = 0) -> ApplicationClock {
        ApplicationClock { Timestamps.nowMilliseconds() / 1000 + offsetSeconds }
    }
}
