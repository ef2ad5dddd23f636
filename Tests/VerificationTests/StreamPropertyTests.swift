import Testing
import Transit

@testable import Verification

/// Rides made up from a seed: honest, wandering, reordered, repeated and nonsense points.
@Suite struct StreamPropertyTests {
    private typealias F = Fixture
    private static let now = Fixture.eight + 240

    private static func stream(
        _ random: inout SeededGenerator,
        on journey: Journey
    ) -> [Point] {
        let shape = journey.trip.shape
        let start = F.startOfService + Int64(journey.trip.startTime)
        var along = Double.random(in: 0...60, using: &random)
        var points: [Point] = []
        for index in 0..<40 {
            along += Double.random(in: -15...60, using: &random)
            let at = shape.point(at: along)
            let wild = Int.random(in: 0..<10, using: &random)
            let east = wild < 3 ? Double.random(in: -0.003...0.003, using: &random) : 0
            points.append(
                Point(
                    Coordinate(latitude: at.latitude, longitude: at.longitude + east),
                    accuracy: wild == 9 ? 150 : 8,
                    speed: 5,
                    timestamp: start + Int64(index) * 5 + (wild == 8 ? -10 : 0)
                )
            )
        }
        return points
    }

    /// Everything a stream leads to when it is cut at these places.
    private static func run(
        _ points: [Point],
        cutAt cuts: [Int],
        on journey: Journey,
        trusted: TrustedVehicle?,
        now: UnixSeconds
    ) -> (session: Session, accepted: [JudgedPoint]) {
        var session = F.session(journey: journey)
        var accepted: [JudgedPoint] = []
        for (from, to) in zip([0] + cuts, cuts + [points.count]) {
            guard
                let outcome = try? applyBatch(
                    Array(points[from..<to]),
                    to: session,
                    tier: .new,
                    trusted: trusted,
                    now: now
                )
            else { break }
            session = outcome.session
            accepted += outcome.accepted
        }
        return (session, accepted)
    }

    @Test(arguments: 0..<150, [true, false])
    func `verdicts do not depend on how a stream is cut`(seed: Int, isLoop: Bool) {
        var random = SeededGenerator(seed: seed)
        let journey = isLoop ? F.loopJourney : F.journey
        let now = F.startOfService + Int64(journey.trip.startTime) + 240
        let points = Self.stream(&random, on: journey).sorted { $0.timestamp < $1.timestamp }
        // On the loop the trusted vehicle is placed once per batch, so it is left out there.
        let trusted =
            isLoop
            ? nil
            : TrustedVehicle(
                tripID: journey.trip.id,
                startDate: nil,
                vehicleID: "",
                coordinate: F.straight.point(at: .random(in: 0...1000, using: &random)),
                timestamp: now - 120
            )
        let whole = Self.run(points, cutAt: [], on: journey, trusted: trusted, now: now)
        let cuts = (1..<points.count).filter { _ in Bool.random(using: &random) }
        let cut = Self.run(points, cutAt: cuts, on: journey, trusted: trusted, now: now)
        let single = Self.run(
            points,
            cutAt: Array(1..<points.count),
            on: journey,
            trusted: trusted,
            now: now
        )
        #expect(cut.session == whole.session)
        #expect(cut.accepted == whole.accepted)
        #expect(single.session == whole.session)
        #expect(single.accepted == whole.accepted)
    }

    @Test(arguments: 0..<100)
    func `repeating a batch changes nothing`(seed: Int) throws {
        var random = SeededGenerator(seed: seed)
        let points = Array(Self.stream(&random, on: F.journey).prefix(8))
        let first = try applyBatch(
            points,
            to: F.session(),
            tier: .new,
            trusted: nil,
            now: Self.now
        )
        guard !first.session.hasEnded else { return }
        let again = try applyBatch(
            points,
            to: first.session,
            tier: .new,
            trusted: nil,
            now: Self.now
        )
        #expect(again.session == first.session)
        #expect(again.result.accepted == 0)
        #expect(again.result.ignored == points.count)
    }

    @Test(arguments: 0..<100)
    func `a ride goes on after a restart as if nothing had happened`(seed: Int) {
        var random = SeededGenerator(seed: seed)
        let points = Self.stream(&random, on: F.journey)
        let cut = Int.random(in: 1..<points.count, using: &random)
        let before = Self.run(
            Array(points[..<cut]),
            cutAt: [],
            on: F.journey,
            trusted: nil,
            now: Self.now
        ).session
        guard !before.hasEnded else { return }
        let restored = SessionRecord(before, tier: .new).restored(
            rideID: before.rideID,
            riderID: before.riderID,
            journey: F.journey,
            startedAt: before.startedAt,
            now: Self.now
        )
        #expect(restored == .resumed(before))
    }

    @Test(arguments: 0..<150)
    func `estimates never use a blocked, stale, ended or superseded ride`(seed: Int) {
        var random = SeededGenerator(seed: seed)
        let now = Self.now
        // Good rides are north of 500 m, all others south: no estimate may be drawn south.
        var members: [Member] = []
        for rider in 0..<Int.random(in: 1...8, using: &random) {
            let isGood = Bool.random(using: &random)
            let along = Double.random(in: isGood ? 600...640 : 100...140, using: &random)
            var session = F.rider(
                rider,
                along: along,
                at: now - .random(in: 0...90, using: &random),
                corroborated: .random(in: 0...12, using: &random)
            )
            var tier: Tier = Bool.random(using: &random) ? .trusted : .new
            if !isGood {
                switch Int.random(in: 0..<4, using: &random) {
                case 0: tier = .blocked
                case 1: session = F.rider(rider, along: along, at: now - 91, corroborated: 12)
                case 2: session.end(.arrived, at: now)
                default:
                    members.append(Member(session, tier: tier))
                    session = F.session(rider: rider, ride: 100 + rider, startedAt: now)
                }
            }
            members.append(Member(session, tier: tier))
        }
        let found = estimates(of: members, at: now)
        #expect(found.count <= 1)
        #expect(found.allSatisfy { $0.alongShape >= 600 })
        #expect(found.allSatisfy { $0.timestamp <= now })
        #expect(estimates(of: members, at: now, isCovered: { _ in true }).isEmpty)
    }
}
