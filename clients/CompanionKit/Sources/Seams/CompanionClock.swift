internal import ClientTransport
public import Foundation

/// The time the kit lives by; tests hand in one that they move themselves.
///
/// The two readings are never exchanged for each other: people and servers are told the wall clock,
/// every interval and every age is measured on the uptime.
public protocol CompanionClock: Sendable {
    /// The wall clock, which a person or the network may set.
    var now: Date { get }
    /// A clock that nobody sets and that goes on while the phone sleeps; its zero means nothing.
    var uptime: Duration { get }
    /// Waits.
    ///
    /// - Parameter duration: How long.
    /// - Throws: `CancellationError` when the task is cancelled meanwhile.
    func sleep(for duration: Duration) async throws
}

/// The system's clocks.
public struct SystemCompanionClock: CompanionClock {
    private static let origin = ContinuousClock.now

    /// Makes the clock.
    public init() {}

    /// The wall clock.
    public var now: Date { Date() }

    /// The time since this was first asked, sleep included.
    public var uptime: Duration { Self.origin.duration(to: .now) }

    /// Waits on the continuous clock.
    ///
    /// - Parameter duration: How long.
    /// - Throws: `CancellationError` when the task is cancelled meanwhile.
    public func sleep(for duration: Duration) async throws {
        try await Task.sleep(for: duration)
    }
}

extension CompanionClock {
    /// A limit for what a part of an app's own may take; nil for none.
    func deadline(_ limit: Duration?) -> Deadline {
        Deadline(limit) { try await self.sleep(for: $0) }
    }
}

extension Duration {
    /// The span as `Date` arithmetic counts it.
    var seconds: Double {
        Double(components.seconds) + Double(components.attoseconds) * 1e-18
    }
}

extension Date {
    /// POSIX milliseconds, as the wire carries instants.
    ///
    /// Those that no wire can carry become the nearest that one can.
    var milliseconds: Int64 {
        let milliseconds = (timeIntervalSince1970 * 1000).rounded()
        return Int64(exactly: milliseconds) ?? (milliseconds > 0 ? .max : .min)
    }

    /// An instant of the wire.
    init(milliseconds: Int64) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
    }
}
