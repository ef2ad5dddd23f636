import TestKit
import Testing
import Transit

@testable import Verification

/// An attacker with a hundred new riders, ten on each of ten trips, whose ten scripts differ in clock
/// phase and noise.
@Suite struct ScriptedRidersTests {
    private static let minutes: Int64 = 15

    private struct Ride {
        let number: Int
        let points: [Point]
        var session: Session
        var evidence = WitnessEvidence()
        var next = 0

        init(_ number: Int, _ script: Script, _ random: inout SeededGenerator) {
            let trip = number / 10
            let journey = Script.journey(TripID("T\(trip)"), Script.journey.trip.shape)
            self.number = number
            points = script.points(
                seconds: ScriptedRidersTests.minutes * 60,
                on: journey,
                &random
            )
            session = Fixture.session(rider: number, ride: number, journey: journey)
        }

        /// Reports what was measured since the last time.
        mutating func report(until now: UnixSeconds) {
            var batch: [Point] = []
            while next < points.count, points[next].timestamp <= now {
                batch.append(points[next])
                next += 1
            }
            guard !batch.isEmpty,
                let outcome = try? applyBatch(
                    batch,
                    to: session,
                    tier: .new,
                    trusted: nil,
                    now: now
                )
            else { return }
            session = outcome.session
            for judged in outcome.accepted { evidence.trace.add(judged.point, judged.verdict) }
        }

        var member: Member { Member(session, tier: .new, evidence: evidence) }
    }

    private static func rides(seed: Int) -> [Ride] {
        var random = SeededGenerator(seed: seed)
        let noise = [0.0, 0.5, 1, 2, 3, 5, 8, 10, 12, 15]
        return (0..<100).map { number in
            let script = Script(phase: Int64(number % 5), noise: noise[number % 10])
            return Ride(number, script, &random)
        }
    }

    /// How many trips are published at some time.
    private static func published(_ mode: WitnessMode, seed: Int, step: Int64) -> Set<TripID> {
        var thresholds = Thresholds()
        thresholds.witnessChecks = mode
        var rides = rides(seed: seed)
        var published: Set<TripID> = []
        for time in stride(from: Int64(10), to: minutes * 60, by: Int64.Stride(step)) {
            let now = Fixture.eight + time
            for index in rides.indices { rides[index].report(until: now) }
            let found = estimates(of: rides.map(\.member), at: now, thresholds: thresholds)
            published.formUnion(found.map(\.trip.tripID))
        }
        return published
    }

    @Test(arguments: 0..<2)
    func `a hundred scripted riders on ten trips publish nothing`(seed: Int) {
        #expect(Self.published(.enforce, seed: seed, step: 30) == [])
    }

    @Test func `without the checks they publish every trip`() {
        #expect(Self.published(.count, seed: 0, step: 120).count == 10)
    }
}
