public import Foundation

/// The time a reporter lives by; tests hand in one they move themselves.
public protocol RideClock: Sendable {
    /// The wall clock. A jump may make a timer fire once early or late, which a ride of minutes bears.
    var now: Date { get }
    /// Waits.
    ///
    /// - Parameter duration: How long.
    /// - Throws: `CancellationError` when the task is cancelled meanwhile.
    func sleep(for duration: Duration) async throws
}

/// The system's clocks.
public struct ContinuousRideClock: RideClock {
    /// Makes the clock.
    public init() {}

    /// The wall clock.
    public var now: Date { Date() }

    /// Waits on the continuous clock.
    ///
    /// - Parameter duration: How long.
    /// - Throws: `CancellationError` when the task is cancelled meanwhile.
    public func sleep(for duration: Duration) async throws {
        try await Task.sleep(for: duration)
    }
}

extension Duration {
    /// The same span as `Date` arithmetic counts it.
    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) * 1e-18
    }
}
