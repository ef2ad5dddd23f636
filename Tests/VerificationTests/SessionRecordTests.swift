import Testing
import Transit

@testable import Verification

@Suite struct SessionRecordTests {
    private typealias F = Fixture
    private static let session = F.session(after: [
        F.verdict(.matched, .corroborated, along: 10),
        F.verdict(.matched, .contradicted, along: 20),
        F.verdict(.matched, along: 30), F.verdict(.offRoute), F.verdict(.implausible),
        F.verdict(.offSchedule),
    ])

    private func restore(
        _ record: SessionRecord,
        journey: Journey? = F.journey,
        now: UnixSeconds = F.eight + 60
    ) -> Restoration {
        record.restored(
            rideID: F.id(1),
            riderID: F.id(1),
            journey: journey,
            startedAt: F.eight,
            now: now
        )
    }

    @Test func `brings a ride back as it was`() throws {
        let record = SessionRecord(Self.session, tier: .new)
        #expect(record.recentOutcomes == "OIS")
        #expect(restore(record) == .resumed(Self.session))
    }

    @Test func `drops the place on another shape and keeps the counters`() throws {
        let record = SessionRecord(Self.session, tier: .new)
        guard case .resumed(let session) = restore(record, journey: F.loopJourney) else {
            Issue.record("the ride must go on")
            return
        }
        #expect(session.latestMatched == nil)
        #expect(!session.isFresh(at: F.eight + 3))
        #expect(session.counts == Self.session.counts)
        #expect(session.lastAcceptedAt == Self.session.lastAcceptedAt)
        #expect(session.matchedDuration == Self.session.matchedDuration)
        #expect(session.offRouteStreak == 3)
    }

    @Test func `keeps no place of blocked riders and ended rides`() {
        #expect(SessionRecord(Self.session, tier: .new).alongShape == 30)
        #expect(SessionRecord(Self.session, tier: .blocked).alongShape == nil)
        var ended = Self.session
        ended.end(.arrived, at: F.eight + 60)
        #expect(SessionRecord(ended, tier: .new).alongShape == nil)
    }

    @Test func `does not resume a ride whose trip is gone`() {
        let record = SessionRecord(Self.session, tier: .new)
        #expect(restore(record, journey: nil) == .notResumable(.tripGone))
    }

    @Test(arguments: [(Int64(900), true), (901, false)])
    func `does not resume a ride that was silent too long`(age: Int64, resumes: Bool) {
        let record = SessionRecord(Self.session, tier: .new)
        let restored = restore(record, now: F.eight + 6 + age)
        #expect((restored == .notResumable(.tooOld)) == !resumes)
        let fresh = SessionRecord(F.session(), tier: .new)
        #expect((restore(fresh, now: F.eight + age) == .notResumable(.tooOld)) == !resumes)
    }

    @Test func `does not resume what it cannot read`() {
        var record = SessionRecord(Self.session, tier: .new)
        record.state = "rejected"
        #expect(restore(record) == .notResumable(.unreadable))
        record.state = "pending"
        record.recentOutcomes = "OX"
        #expect(restore(record) == .notResumable(.unreadable))
        record.recentOutcomes = String(repeating: "O", count: 17)
        #expect(restore(record) == .notResumable(.unreadable))
        record.recentOutcomes = ""
        record.lastCorroboration = "maybe"
        #expect(restore(record) == .notResumable(.unreadable))
    }
}
