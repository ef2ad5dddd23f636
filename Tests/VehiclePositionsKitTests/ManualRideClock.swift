import Foundation
import TestKit

@testable import VehiclePositionsKit

/// A clock that moves when the test says so, and tells when someone waits on it.
final class ManualRideClock: RideClock {
    private let start: Date
    private let time = ManualTime()

    init(now: Date = Date(timeIntervalSince1970: 1_800_000_000)) { start = now }

    var now: Date { start.addingTimeInterval(time.elapsed.seconds) }

    func sleep(for duration: Duration) async throws { try await time.sleep(for: duration) }

    /// Returns once someone sleeps for exactly this long.
    func sleeper(of duration: Duration) async { await time.sleeper(of: duration) }

    /// Moves time and wakes who is due.
    func advance(seconds: Double) { time.advance(by: .seconds(seconds)) }

    /// Waits for a sleeper of this length, then lets it sleep its time.
    func pass(_ duration: Duration) async { await time.pass(duration) }
}
