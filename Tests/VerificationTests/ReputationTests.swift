import TestKit
import Testing

@testable import Verification

@Suite struct ReputationTests {
    private static func summary(
        _ reason: EndReason,
        corroborated: Bool = false,
        matched: Int64 = 600
    ) -> RideSummary {
        RideSummary(endReason: reason, isCorroborated: corroborated, matchedSeconds: matched)
    }

    static let deltas: [(RideSummary, Int)] = [
        (summary(.arrived, corroborated: true, matched: 300), 1),
        (summary(.arrived, corroborated: true, matched: 299), 0),
        (summary(.arrived, corroborated: true, matched: 240), 0), (summary(.arrived), 0),
        (summary(.idle), 0), (summary(.offRoute), -1), (summary(.implausible), -1),
        (summary(.offSchedule, corroborated: true), -1),
        (summary(.contradicted, corroborated: true), -3), (summary(.contradicted), -3),
        (summary(.superseded, corroborated: true), 1), (summary(.idle, corroborated: true), 1),
        (summary(.serverRestart, corroborated: true), 0),
    ]

    @Test(arguments: deltas)
    func `gives and takes points`(summary: RideSummary, delta: Int) {
        #expect(Reputation.scoreDelta(of: summary) == delta)
    }

    @Test(arguments: EndReason.allCases)
    func `gives an uncorroborated ride nothing`(reason: EndReason) {
        #expect(Reputation.scoreDelta(of: Self.summary(reason)) <= 0)
    }

    @Test(arguments: [
        (-10, Tier.blocked), (-3, .blocked), (-2, .new), (0, .new), (2, .new), (3, .trusted),
        (10, .trusted),
    ])
    func `has a tier for each score`(score: Int, tier: Tier) { #expect(Tier(score: score) == tier) }

    @Test(arguments: [(11, 10), (10, 10), (-11, -10), (-10, -10), (0, 0), (Int.max, 10)])
    func `clamps`(score: Int, clamped: Int) { #expect(Reputation.clamp(score) == clamped) }

    @Test(arguments: [
        ("new", Tier.new), ("trusted", .trusted), ("blocked", .blocked), ("weird", .new),
        ("", .new),
    ])
    func `reads an unknown tier as new`(name: String, tier: Tier) {
        #expect(Tier(wireName: name) == tier)
    }

    @Test func `three good rides earn trust and one contradiction loses it`() {
        let good = Self.summary(.arrived, corroborated: true)
        var score = 0
        for expected in [1, 2, 3] {
            score = Reputation.score(score, after: good)
            #expect(score == expected)
        }
        #expect(Tier(score: score) == .trusted)
        score = Reputation.score(score, after: Self.summary(.contradicted))
        #expect(score == 0)
        #expect(Tier(score: score) == .new)
        for _ in 0..<5 { score = Reputation.score(score, after: Self.summary(.contradicted)) }
        #expect(score == -10)
        #expect(Tier(score: score) == .blocked)
    }

    @Test(arguments: 0..<50)
    func `keeps every score within the range`(seed: Int) {
        var random = SeededGenerator(seed: seed)
        var score = 0
        for _ in 0..<200 {
            let summary = Self.summary(
                EndReason.allCases.randomElement(using: &random) ?? .idle,
                corroborated: .random(using: &random),
                matched: .random(in: 0...600, using: &random)
            )
            let next = Reputation.score(score, after: summary)
            #expect(Reputation.range.contains(next))
            #expect(abs(next - score) <= 3)
            score = next
        }
    }
}
