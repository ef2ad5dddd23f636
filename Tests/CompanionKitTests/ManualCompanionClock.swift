import Foundation
import Synchronization
import TestKit

@testable import CompanionKit

/// Clocks that move when the test says so; the wall can be set like a person's.
final class ManualCompanionClock: CompanionClock {
    private let time = ManualTime()
    /// What the wall clock would say at no uptime at all.
    private let wall = Mutex(Date(timeIntervalSince1970: 1_800_000_000 - 1000))

    var now: Date { wall.withLock { $0 }.addingTimeInterval(uptime.seconds) }
    var uptime: Duration { .seconds(1000) + time.elapsed }

    func sleep(for duration: Duration) async throws { try await time.sleep(for: duration) }

    /// Returns once someone sleeps for exactly this long.
    func sleeper(of duration: Duration) async { await time.sleeper(of: duration) }

    /// Moves both clocks and wakes who is due.
    func advance(by duration: Duration) { time.advance(by: duration) }

    /// Waits for a sleeper of this length, then lets it sleep its time.
    func pass(_ duration: Duration) async { await time.pass(duration) }

    /// Sets the wall clock, as a person or the network does.
    func setWall(_ date: Date) {
        let uptime = uptime
        wall.withLock { $0 = date.addingTimeInterval(-uptime.seconds) }
    }
}
