import Testing
import Transit

@testable import Verification

@Suite struct SessionTests {
    private typealias F = Fixture
    private static let off = F.verdict(.offRoute)
    private static let fast = F.verdict(.implausible)
    private static let early = F.verdict(.offSchedule)
    private static let match = F.verdict(.matched)
    private static let agree = F.verdict(.matched, .corroborated)
    private static let contra = F.verdict(.matched, .contradicted)
    private static let none = F.verdict(.matched, .none)

    @Test func `verifies on the third match in a row`() {
        var session = F.session(after: [Self.match, Self.match])
        #expect(session.state == .pending)
        let transition = session.apply(Self.match, to: F.point(along: 0, at: F.eight + 9))
        #expect(transition == Transition(from: .pending, to: .verified, end: nil))
        #expect(transition.isChange)
        #expect(session.counts.matched == 3)
    }

    @Test(arguments: [
        (0.0, 0.0, true), (0, -30, true), (20, 20, true), (20, 19.9, false), (20, 0, false),
        (20, -20, false),
    ])
    func `asks the verifying point for a step ahead, where that is set`(
        asked: Double,
        step: Double,
        verifies: Bool
    ) {
        var thresholds = Thresholds()
        thresholds.verifyStepMeters = asked
        var session = F.session()
        for (index, along) in [100, 100, 100 + step].enumerated() {
            session.apply(
                F.verdict(.matched, along: along),
                to: F.point(along: 0, at: F.eight + Int64(index)),
                thresholds: thresholds
            )
        }
        #expect((session.state == .verified) == verifies)
        session.apply(
            F.verdict(.matched, along: 200),
            to: F.point(along: 0, at: F.eight + 9),
            thresholds: thresholds
        )
        #expect(session.state == .verified)
    }

    @Test func `remembers how far back a rider was found, until the next match`() {
        func back(_ along: Double) -> Verdict {
            var verdict = F.verdict(.implausible, along: along)
            verdict.check = .regression
            return verdict
        }
        #expect(F.session(after: [Self.match, Self.fast]).regressedTo == nil)
        let session = F.session(after: [Self.match, back(80), back(40), back(60), Self.off])
        #expect(session.regressedTo == 40)
        #expect(
            F.session(after: [Self.match, back(80), Self.match]).regressedTo == nil
        )
    }

    @Test func `a failed point starts the matches anew`() {
        #expect(F.session(after: [Self.match, Self.match, Self.off, Self.match]).state == .pending)
    }

    @Test func `an ignored point touches nothing`() {
        var session = F.session(after: [Self.match, Self.off])
        let before = session
        let transition = session.apply(
            F.verdict(.ignored),
            to: F.point(along: 0, at: F.eight + 50)
        )
        #expect(session == before)
        #expect(!transition.isChange)
    }

    static let rejections: [([Verdict], EndReason)] = [
        ([off, fast, off, early, off], .offRoute), ([off, off, fast, fast, early], .implausible),
        ([fast, fast, off, off, early], .offRoute), ([off, fast, early, fast, off], .offRoute),
        ([early, early, early, off, off], .offSchedule),
        ([off, off, fast, early, early], .offSchedule),
        ([off, early, fast, fast, off], .offRoute), ([fast, fast, fast, fast, fast], .implausible),
    ]

    @Test(arguments: rejections)
    func `rejects on the fifth failure by the most frequent, then the latest`(
        verdicts: [Verdict],
        reason: EndReason
    ) {
        var session = F.session()
        for (index, verdict) in verdicts.enumerated() {
            #expect(session.offRouteStreak == index)
            #expect(session.end == nil)
            session.apply(verdict, to: F.point(along: 0, at: F.eight + Int64(index)))
        }
        #expect(session.state == .rejected)
        #expect(session.end == RideEnd(reason, at: F.eight + 4))
        #expect(session.offRouteStreak == 5)
    }

    @Test func `a match clears the failures`() {
        let session = F.session(
            after: [Self.off, Self.off, Self.off, Self.off, Self.match, Self.off]
        )
        #expect(session.offRouteStreak == 1)
        #expect(!session.hasEnded)
        #expect(session.recentOutcomes.text == "O")
    }

    static let contradictions: [([Verdict], Bool, Int)] = [
        ([contra, contra], false, 2), ([contra, contra, contra], true, 3),
        ([contra, contra, agree, contra, contra, contra], true, 6),
        ([contra, contra, agree, contra, contra], false, 5),
        ([contra, contra, match, contra], true, 4),
        ([contra, contra, none, contra], true, 4), ([contra, contra, off, contra], true, 3),
        ([contra, none, match], false, 3),
    ]

    @Test(arguments: contradictions)
    func `only an agreement clears contradictions`(
        verdicts: [Verdict],
        rejected: Bool,
        matched: Int
    ) {
        let session = F.session(after: verdicts)
        #expect((session.state == .rejected) == rejected)
        #expect((session.end?.reason == .contradicted) == rejected)
        #expect(session.counts.matched == matched)
    }

    @Test func `contradicted points count towards verification`() {
        #expect(F.session(after: [Self.contra, Self.none, Self.match]).state == .verified)
    }

    @Test func `becomes corroborated at twelve agreements and stays so`() {
        let eleven = F.session(after: Array(repeating: Self.agree, count: 11))
        #expect(!eleven.isCorroborated)
        var session = F.session(after: Array(repeating: Self.agree, count: 12))
        #expect(session.isCorroborated)
        session.apply(Self.none, to: F.point(along: 0, at: F.eight + 60))
        session.apply(Self.off, to: F.point(along: 0, at: F.eight + 61))
        #expect(session.isCorroborated)
    }

    @Test func `becomes corroborated while pending too`() {
        let verdicts = (0..<12).flatMap { _ in [Self.agree, Self.off] }
        let session = F.session(after: verdicts)
        #expect(session.state == .pending)
        #expect(session.isCorroborated)
    }

    @Test func `the first end wins`() {
        var session = F.session(after: Array(repeating: Self.off, count: 5))
        let before = session
        #expect(session.end(.arrived, at: F.eight + 99).reason == .offRoute)
        let transition = session.apply(Self.match, to: F.point(along: 0, at: F.eight + 50))
        #expect(transition.end?.reason == .offRoute)
        #expect(session == before)
    }

    // MARK: - Freshness and publication

    @Test(arguments: [(Int64(90), true), (91, false), (35, true)])
    func `is fresh up to the limit`(age: Int64, fresh: Bool) {
        let session = F.rider(1, along: 10, at: F.eight)
        #expect(session.isFresh(at: F.eight + age) == fresh)
    }

    @Test func `takes the limit of freshness from the thresholds`() {
        var thresholds = Thresholds()
        thresholds.pointMaxAgeSeconds = 30
        let session = F.rider(1, along: 10, at: F.eight)
        #expect(!session.isFresh(at: F.eight + 35, thresholds: thresholds))
        #expect(!F.session().isFresh(at: F.eight))
    }

    @Test func `failed points do not keep a ride fresh`() {
        var session = F.rider(1, along: 10, at: F.eight)
        session.apply(Self.off, to: F.point(along: 10, at: F.eight + 90))
        #expect(!session.isFresh(at: F.eight + 95))
    }

    @Test(arguments: [
        (Tier.new, 0, false), (.trusted, 0, true), (.blocked, 0, false), (.new, 12, true),
        (.blocked, 12, false), (.trusted, 12, true),
    ])
    func `is publishable alone by tier or corroboration`(
        tier: Tier,
        agreements: Int,
        expected: Bool
    ) {
        var session = F.rider(1, along: 10, at: F.eight, corroborated: agreements)
        #expect(session.isPublishable(tier: tier, at: F.eight) == expected)
        #expect(!session.isPublishable(tier: tier, at: F.eight + 91))
        session.end(.arrived, at: F.eight)
        #expect(!session.isPublishable(tier: tier, at: F.eight))
    }

    @Test func `a pending ride is not publishable`() {
        let session = F.session(after: [Self.match, Self.match])
        #expect(!session.isPublishable(tier: .trusted, at: F.eight + 3))
    }

    // MARK: - Summary and ends

    @Test func `sums a ride up`() {
        var session = F.session()
        session.apply(Self.match, to: F.point(along: 0, at: F.eight + 20))
        session.apply(Self.agree, to: F.point(along: 0, at: F.eight + 350))
        #expect(session.summary == nil)
        session.end(.arrived, at: F.eight + 400)
        let summary = session.summary
        #expect(summary?.matchedSeconds == 330)
        #expect(summary?.durationSeconds == 400)
        #expect(summary?.counts.total == 2)
        #expect(summary?.counts.corroborated == 1)
    }

    @Test func `counts no matched time for one point and no negative duration`() {
        var session = F.session(after: [Self.match])
        #expect(session.matchedDuration == 0)
        session.end(.arrived, at: F.eight - 10)
        #expect(session.summary?.durationSeconds == 0)
    }

    @Test(arguments: EndReason.allCases)
    func `takes only a client's own reasons from a client`(reason: EndReason) {
        let allowed = [
            "user_requested", "arrived", "stationary", "max_duration", "location_unavailable",
            "authorization_denied", "network_failure", "app_terminated",
        ]
        let isAllowed = allowed.contains(reason.rawValue)
        #expect((EndReason.reported(reason.rawValue) == reason) == isAllowed)
        #expect(EndReason.clientReportable.contains(reason) == isAllowed)
    }

    @Test(arguments: ["", "nonsense", "Arrived", "offRoute"])
    func `refuses unknown reasons`(name: String) { #expect(EndReason.reported(name) == nil) }

    // MARK: - Reaping

    @Test(arguments: [
        (Int64(900), EndReason?.none), (901, .idle), (10_800, .idle), (10_801, .maxDuration),
    ])
    func `reaps a ride that never reported`(age: Int64, reason: EndReason?) {
        #expect(F.session().reapReason(at: F.eight + age) == reason)
    }

    @Test func `reaps by the last accepted point and keeps the first reason`() {
        var session = F.session(after: [Self.match, Self.off])
        let last = F.eight + 2
        #expect(session.reap(at: last + 900) == nil)
        #expect(session.reap(at: last + 960) == RideEnd(.idle, at: last + 960))
        #expect(session.reap(at: last + 20_000) == RideEnd(.idle, at: last + 960))
        #expect(session.reapReason(at: last + 20_000) == nil)
    }

    @Test(arguments: [(Int64(10_800), EndReason?.none), (10_801, .maxDuration)])
    func `reaps the longest ride even while it reports`(age: Int64, reason: EndReason?) {
        var session = F.session()
        session.apply(Self.match, to: F.point(along: 0, at: F.eight + age))
        #expect(session.reapReason(at: F.eight + age) == reason)
    }
}
