import Synchronization
import Telemetry

/// A monotonic clock that stands until a test moves it.
final class ManualUptime: Sendable {
    private let now = Atomic<UInt64>(1_000_000_000_000)

    /// Monotonic nanoseconds.
    var nanoseconds: UInt64 { now.load(ordering: .relaxed) }

    func advance(by duration: Duration) {
        now.wrappingAdd(duration.nanoseconds, ordering: .relaxed)
    }
}
