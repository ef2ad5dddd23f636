import TestKit
import Testing
import Transit

@testable import Verification

@Suite struct WitnessTests {
    private typealias F = Fixture
    private static let varied: @Sendable (Int) -> Double? = { Double(5 + $0 % 3) }

    /// What two rides of some seconds fail together.
    private func findings(
        _ one: Script,
        _ other: Script,
        seconds: Int64 = 300,
        seed: Int = 1
    ) -> WitnessFindings {
        var random = SeededGenerator(seed: seed)
        let first = Script.evidence(one.points(seconds: seconds, &random))
        let second = Script.evidence(other.points(seconds: seconds, &random))
        return WitnessFindings(first, second)
    }

    // MARK: - Each check

    @Test(arguments: [0.0, 1, 4, 8, 12, 20])
    func `constant speed with any noise is too even`(noise: Double) {
        let script = Script(noise: noise)
        #expect(findings(script, script).contains(.motion))
    }

    @Test(arguments: [(75, true), (600, false)], 0..<5)
    func `stopping and going is not, once sixteen points show it`(
        row: (seconds: Int64, isEven: Bool),
        seed: Int
    ) {
        let bus = Script(noise: 5, along: Script.bus)
        #expect(findings(bus, bus, seconds: row.0, seed: seed).contains(.motion) == row.1)
    }

    @Test func `one ride that moves like a bus is enough`() {
        let bus = Script(noise: 5, along: Script.bus)
        #expect(!findings(bus, Script(noise: 5)).contains(.motion))
    }

    static let accuracies: [(@Sendable (Int) -> Double?, Bool)] = [
        ({ _ in 8 }, true), ({ _ in nil }, true), ({ $0 == 20 ? 9 : 8 }, false),
        ({ $0 == 0 ? nil : 8 }, false),
    ]

    @Test(arguments: accuracies.indices)
    func `an accuracy that never changes is noticed`(row: Int) {
        let (accuracy, isConstant) = Self.accuracies[row]
        let constant = Script()
        let other = Script(accuracy: accuracy)
        #expect(findings(constant, other).contains(.accuracy) == isConstant)
    }

    @Test(arguments: [
        (Int64(0), Int64(5), Int64(0), Int64(5), true), (0, 5, 1, 5, false),
        (2, 2, 2, 2, true), (0, 1, 0, 1, false), (0, 5, 0, 10, false), (3, 30, 3, 30, true),
    ])
    func `the same seconds are in step unless phones report each second`(
        phase: Int64,
        interval: Int64,
        otherPhase: Int64,
        otherInterval: Int64,
        inStep: Bool
    ) {
        let one = Script(phase: phase, interval: interval, noise: 5)
        let other = Script(phase: otherPhase, interval: otherInterval, noise: 5)
        #expect(findings(one, other, seconds: 600).contains(.lockstep) == inStep)
    }

    @Test(arguments: [(Int64(25), false), (26, true)])
    func `five points are not in step, six are`(seconds: Int64, inStep: Bool) {
        let script = Script(noise: 5)
        #expect(findings(script, script, seconds: seconds).contains(.lockstep) == inStep)
    }

    /// Rides on the fixture's straight shape with these distances from it.
    private func beside(_ meters: [Double], from time: Int64 = 0) -> WitnessEvidence {
        Script.evidence(
            meters.enumerated().map { index, east in
                F.point(along: 8 * Double(index), east: east, at: F.eight + time + 5 * Int64(index))
            },
            on: F.journey
        )
    }

    @Test func `equal distances from the shape are found, one ride later than the other`() {
        let noise = [3.0, 17, 8, 25, 2, 12]
        let whole = beside(noise)
        #expect(WitnessFindings(whole, beside(noise)).contains(.residuals))
        #expect(WitnessFindings(whole, beside(noise.map { $0 + 0.45 })).contains(.residuals))
        #expect(!WitnessFindings(whole, beside(noise.map { $0 + 0.55 })).contains(.residuals))
        #expect(!WitnessFindings(whole, beside(noise.dropLast())).contains(.residuals))
        #expect(WitnessFindings(whole, beside([40, 30] + noise)).contains(.residuals))
        let snapped = beside([0, 0.5, 0.2, 0, 0.4, 0.1, 0])
        #expect(!WitnessFindings(snapped, snapped).contains(.residuals))
        #expect(!WitnessFindings(whole, beside([3, 17, 8, 40, 25, 2, 12])).contains(.residuals))
    }

    @Test(arguments: [(9, false), (10, true)], [0, 3])
    func `ten places in a row are a replay`(row: (shared: Int, isReplay: Bool), late: Int) {
        let trace = (0..<row.shared).map { Double($0 * 7 % 40) }
        let others = Array(repeating: 55.0, count: late)
        let one = beside(trace + [50])
        let other = beside(others + trace + [20], from: 1)
        #expect(WitnessFindings(one, one).contains(.replay) == (row.shared + 1 >= 10))
        #expect(
            WitnessFindings(one, other).contains(.replay) == (row.isReplay && late == 0)
        )
    }

    @Test func `a trace sent again later is a replay`() {
        var random = SeededGenerator(seed: 3)
        let points = Script(noise: 6).points(seconds: 75, &random)
        let later = points.map { point in
            var point = point
            point.timestamp += 17
            return point
        }
        let findings = WitnessFindings(Script.evidence(points), Script.evidence(later))
        #expect(findings.contains(.replay))
        #expect(!findings.areIndependent)
    }

    @Test func `two phones in a standing bus replay nothing`() {
        let standing = Script(along: { _ in 400 })
        #expect(!findings(standing, standing).contains(.replay))
    }

    @Test func `the origin is compared where both have one`() {
        let trace = WitnessTrace()
        func findings(_ one: WitnessOrigin, _ other: WitnessOrigin) -> WitnessFindings {
            WitnessFindings(
                WitnessEvidence(trace, origin: one),
                WitnessEvidence(trace, origin: other)
            ).intersection([.address, .install])
        }
        let here = WitnessOrigin(addressBlock: 7, installedAt: F.eight, build: 1)
        #expect(findings(here, here) == [.address, .install])
        #expect(findings(WitnessOrigin(), WitnessOrigin()) == [])
        #expect(
            findings(here, WitnessOrigin(addressBlock: 8, installedAt: F.eight + 1, build: 1)) == []
        )
        #expect(
            findings(here, WitnessOrigin(addressBlock: 7, installedAt: F.eight, build: 2))
                == .address
        )
    }

    // MARK: - What follows

    static let decisions: [(WitnessFindings, Bool)] = [
        ([], true), (.lockstep, true), (.residuals, true), (.motion, true), (.accuracy, true),
        ([.install, .address], true), ([.motion, .install, .address], true),
        ([.lockstep, .residuals], false), ([.motion, .accuracy], false),
        ([.lockstep, .accuracy], false), ([.residuals, .motion], false), (.replay, false),
    ]

    @Test(arguments: decisions)
    func `two checks of movement or a replay refuse a pair`(
        findings: WitnessFindings,
        independent: Bool
    ) {
        #expect(findings.areIndependent == independent)
    }

    private func members(_ evidence: [WitnessEvidence?]) -> [Member] {
        evidence.enumerated().map { index, evidence in
            Member(F.rider(index, along: 30), tier: .new, evidence: evidence)
        }
    }

    @Test(arguments: [(WitnessMode.off, true), (.count, true), (.enforce, false)])
    func `only enforcing keeps a script's trip back`(mode: WitnessMode, isPublished: Bool) {
        var thresholds = Thresholds()
        thresholds.witnessChecks = mode
        let script = members([WitnessEvidence(), WitnessEvidence()])
        let now = F.eight + 60
        #expect(
            estimates(of: script, at: now, thresholds: thresholds).isEmpty == !isPublished
        )
        let group = TripGroup.groups(of: script, at: now).first
        let marks = group?.witnessMarks(at: now, thresholds: thresholds) ?? [:]
        let expected: WitnessFindings? = mode == .off ? nil : [.motion, .accuracy]
        #expect(marks[F.id(0)] == expected)
        #expect(marks[F.id(1)] == expected)
    }

    @Test func `two honest riders from one network, installed in one second, publish`() {
        var random = SeededGenerator(seed: 4)
        let origin = WitnessOrigin(addressBlock: 7, installedAt: F.eight, build: 1)
        let riders = [Int64(0), 2].map { phase in
            let script = Script(
                phase: phase,
                noise: 5,
                accuracy: Self.varied,
                along: Script.bus
            )
            return Script.evidence(script.points(seconds: 20, &random), origin: origin)
        }
        let findings = WitnessFindings(riders[0], riders[1])
        #expect(findings.contains([.address, .install]))
        #expect(estimates(of: members(riders), at: F.eight + 60).first?.riders == 2)
    }

    @Test func `an honest rider beside scripts is still published with one who differs`() {
        var random = SeededGenerator(seed: 5)
        let bus = Script(noise: 5, along: Script.bus).points(seconds: 300, &random)
        let evidence = [WitnessEvidence(), WitnessEvidence(), Script.evidence(bus)]
        #expect(estimates(of: members(evidence), at: F.eight + 60).count == 1)
    }

    @Test func `a trusted or corroborated rider needs no witness`() {
        var script = members([WitnessEvidence(), WitnessEvidence()])
        script[0].tier = .trusted
        #expect(estimates(of: script, at: F.eight + 60).count == 1)
    }

    @Test func `traits last through a restart`() {
        var random = SeededGenerator(seed: 6)
        let bus = Script(noise: 5, accuracy: Self.varied, along: Script.bus)
        let trace = Script.evidence(bus.points(seconds: 300, &random)).trace
        #expect(trace.traits == [.movedUnevenly, .accuracyVaried])
        let restored = WitnessTrace(WitnessTrace.Traits(rawValue: trace.traits.rawValue))
        #expect(
            WitnessFindings(WitnessEvidence(restored), WitnessEvidence(restored)).isEmpty
        )
    }

    @Test func `points that do not match leave no trace`() {
        var trace = WitnessTrace()
        trace.add(F.point(along: 0, at: F.eight), F.verdict(.offRoute))
        #expect(trace == WitnessTrace())
    }
}
