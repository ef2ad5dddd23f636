import TestKit
import Testing
import Transit

@testable import Verification

/// An attacker with a hundred new riders, ten on each of ten trips, whose scripts differ in clock phase and
/// noise.
@Suite struct ScriptedRidersTests {
    private static let minutes: Int64 = 15

    private struct Ride {
        let number: Int
        let points: [Point]
        var session: Session
        var evidence = WitnessEvidence()
        var next = 0

        init(_ number: Int, of family: ScriptFamily, _ random: inout SeededGenerator) {
            let journey = family.journey(of: number / 10)
            let script = family.script(number, &random)
            let seconds = ScriptedRidersTests.minutes * 60
            self.number = number
            if let times = family.times?(seconds, &random) {
                points = script.points(at: times, on: journey, &random)
            } else {
                points = script.points(seconds: seconds, on: journey, &random)
            }
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

    private struct Outcome {
        var published: Set<TripID> = []
        var first: Int64?
    }

    /// Which trips are published at some time.
    private static func outcome(
        of family: ScriptFamily,
        _ mode: WitnessMode = .enforce,
        seed: Int,
        step: Int64
    ) -> Outcome {
        var thresholds = Thresholds()
        thresholds.witnessChecks = mode
        var random = SeededGenerator(seed: seed)
        var rides = (0..<100).map { Ride($0, of: family, &random) }
        var outcome = Outcome()
        for time in stride(from: Int64(10), to: minutes * 60, by: Int64.Stride(step)) {
            let now = Fixture.eight + time
            for index in rides.indices { rides[index].report(until: now) }
            let found = estimates(of: rides.map(\.member), at: now, thresholds: thresholds)
            outcome.published.formUnion(found.map(\.trip.tripID))
            if !found.isEmpty, outcome.first == nil { outcome.first = time }
        }
        return outcome
    }

    private static func show(_ family: ScriptFamily, _ outcome: Outcome, checks: String = "with") {
        let first = outcome.first.map { ", the first after \($0) s" } ?? ""
        print(
            "scripts, \(family.testDescription): \(outcome.published.count) of 10 trips \(checks) "
                + "the checks\(first)"
        )
    }

    @Test(arguments: ScriptFamily.steady)
    func `a hundred scripted riders on ten trips publish nothing`(family: ScriptFamily) {
        for seed in 0..<2 {
            let outcome = Self.outcome(of: family, seed: seed, step: 30)
            Self.show(family, outcome)
            #expect(outcome.published == [])
        }
    }

    @Test(arguments: ScriptFamily.steady)
    func `without the checks they publish trips`(family: ScriptFamily) {
        let outcome = Self.outcome(of: family, .count, seed: 0, step: 120)
        Self.show(family, outcome, checks: "without")
        #expect(outcome.published.count >= 8)
    }

    /// Shown for what it is: no check of one minute's movement tells these from a bus (decision 0076).
    @Test(arguments: ScriptFamily.lifelike)
    func `scripts that move as traffic does publish nothing in the first minute`(
        family: ScriptFamily
    ) {
        let outcome = Self.outcome(of: family, seed: 0, step: 10)
        Self.show(family, outcome)
        #expect(outcome.first ?? .max >= 60)
    }
}
