import Synchronization
import Telemetry

/// A monotonic clock that goes on by itself, as threads that wait need, and that a test moves forward.
final class ShiftedClock: Sendable {
    private let shift = Atomic<UInt64>(0)

    /// Monotonic nanoseconds.
    var nanoseconds: UInt64 {
        Timestamps.monotonicNanoseconds() + shift.load(ordering: .relaxed)
    }

    func advance(by duration: Duration) {
        shift.wrappingAdd(duration.nanoseconds, ordering: .relaxed)
    }
}
