public import ServiceKit
internal import Synchronization
public import Transit

/// A clock that stands still until the test moves it.
public final class ManualClock: Sendable {
    private let time: Mutex<UnixSeconds>

    /// Makes a clock.
    ///
    /// - Parameter start: Its first reading in POSIX seconds; 2026-02-16T16:00:00Z by default.
    public init(_ start: UnixSeconds = 1_771_257_600) { time = Mutex(start) }

    /// The current reading in POSIX seconds.
    public var now: UnixSeconds { time.withLock { $0 } }

    /// Moves the clock.
    ///
    /// - Parameter seconds: How far forward; negative moves it back.
    public func advance(by seconds: Int64) { time.withLock { $0 += seconds } }

    /// Sets the clock to an instant in POSIX seconds.
    public func set(_ instant: UnixSeconds) { time.withLock { $0 = instant } }

    /// The clock as services take it.
    public var application: ApplicationClock { ApplicationClock { self.now } }
}
