import Testing
import Transit

@testable import Verification

@Suite struct BatchTests {
    private typealias F = Fixture

    /// Points every five seconds at 1.7 m/s along the straight shape, from eight o'clock on.
    private func walk(_ count: Int, from first: Int = 0, east: Double = 0) -> [Point] {
        (first..<first + count).map { index in
            F.point(
                along: Double(index) * 8.5,
                east: east,
                at: F.eight + Int64(index) * 5,
                speed: 1.7
            )
        }
    }

    private func apply(
        _ points: [Point],
        to session: Session = F.session(),
        tier: Tier = .new,
        trusted: TrustedVehicle? = nil,
        now: UnixSeconds = F.eight + 60
    ) throws -> BatchOutcome {
        try applyBatch(points, to: session, tier: tier, trusted: trusted, now: now)
    }

    private func vehicle(along: Double, at time: UnixSeconds) -> TrustedVehicle {
        TrustedVehicle(
            tripID: "T1",
            startDate: nil,
            vehicleID: "bus",
            coordinate: F.straight.point(at: along),
            timestamp: time
        )
    }

    @Test func `a batch of seven verifies`() throws {
        let outcome = try apply(walk(7))
        #expect(outcome.result.state == .verified)
        #expect(outcome.result.accepted == 7)
        #expect(outcome.result.ignored == 0)
        #expect(!outcome.result.published)
        #expect(outcome.result.corroboration == .unavailable)
        #expect(outcome.result.offRouteStreak == 0)
        #expect(outcome.result.endReason == "")
        #expect(outcome.changes == [StateChange(state: .verified, timestamp: F.eight + 10)])
    }

    @Test func `sorts a reversed batch and ignores what comes after the end`() throws {
        let points = walk(6, east: 300) + walk(1, from: 6)
        let outcome = try apply(points.reversed())
        #expect(outcome.result.accepted == 5)
        #expect(outcome.result.ignored == 2)
        #expect(outcome.result.ended)
        #expect(outcome.result.endReason == "off_route")
        #expect(outcome.result.offRouteStreak == 5)
        #expect(outcome.session.end?.endedAt == F.eight + 20)
        #expect(outcome.accepted.map(\.point) == Array(points.prefix(5)))
    }

    @Test func `an on-route point older than accepted failures does not clear them`() throws {
        let failed = try apply(walk(3, from: 4, east: 300))
        let late = try apply(walk(1, from: 1), to: failed.session)
        #expect(late.result.ignored == 1)
        #expect(late.result.offRouteStreak == 3)
        #expect(late.session == failed.session)
    }

    @Test func `refuses a batch after the end`() {
        var session = F.session()
        session.end(.arrived, at: F.eight)
        #expect(throws: BatchRefusal.rideEnded(.arrived)) { try apply(walk(1), to: session) }
    }

    @Test func `publishes a new rider whom the trusted vehicle confirms`() throws {
        let outcome = try apply(walk(12), trusted: vehicle(along: 40, at: F.eight + 30))
        #expect(outcome.result.published)
        #expect(outcome.result.corroboration == .corroborated)
        #expect(outcome.session.counts.corroborated == 12)
    }

    @Test func `ends a ride whom the trusted vehicle contradicts`() throws {
        // The trusted fix must be of the same seconds: its allowance grows 35 m with each of them.
        let outcome = try apply(walk(5), trusted: vehicle(along: 1000, at: F.eight + 5))
        #expect(outcome.result.endReason == "contradicted")
        #expect(outcome.result.accepted == 3)
        #expect(outcome.result.state == .rejected)
    }

    @Test func `reports unavailable after a point that did not match`() throws {
        let points = walk(2) + walk(1, from: 2, east: 300)
        let outcome = try apply(points, trusted: vehicle(along: 0, at: F.eight))
        #expect(outcome.result.corroboration == .unavailable)
        let next = try apply(walk(1), to: outcome.session)
        #expect(next.result.accepted == 0)
        #expect(next.result.corroboration == .unavailable)
    }

    @Test func `keeps the latest corroboration through a batch of ignored points`() throws {
        let first = try apply(walk(2), trusted: vehicle(along: 0, at: F.eight))
        let repeated = try apply(walk(2), to: first.session)
        #expect(repeated.result.corroboration == .corroborated)
    }

    @Test func `a blocked rider gets normal answers and stores nothing`() throws {
        let outcome = try apply(walk(12), tier: .blocked)
        #expect(outcome.result.state == .verified)
        #expect(outcome.result.accepted == 12)
        #expect(!outcome.result.published)
        #expect(outcome.pointsToStore(tier: .blocked).isEmpty)
        #expect(outcome.pointsToStore(tier: .new).count == 12)
    }

    @Test func `names the ignored points with their check`() throws {
        let vague = F.point(along: 0, at: F.eight + 1, accuracy: 500)
        let outcome = try apply([vague, vague] + walk(1))
        #expect(outcome.ignored.map(\.verdict.check) == [.accuracy, .accuracy])
        #expect(outcome.result.ignored == 2)
        #expect(outcome.result.accepted == 1)
    }

    @Test func `of two points of one second the first reported counts`() throws {
        let near = F.point(along: 10, at: F.eight)
        let far = F.point(along: 12, at: F.eight)
        let earlier = F.point(along: 0, at: F.eight - 5)
        let outcome = try apply([near, far, earlier])
        #expect(outcome.accepted.map(\.point) == [earlier, near])
    }
}
