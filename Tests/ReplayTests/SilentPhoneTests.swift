import FoundationEssentials
import Replay
import Testing
import Transit
import Verification

/// A trusted rider in a recorded bus, beside a new one whose phone falls silent (decision 0075).
///
/// `make soak` takes every bus trip; otherwise each fifth.
@Suite struct SilentPhoneTests {
    /// At how many fixes the trusted rider is published.
    private struct Tally {
        var alone = 0
        var seed = 0
        var offered = 0
    }

    private static let isSoak = ProcessInfo.processInfo.environment["ALONGSIDE_SOAK"] == "1"

    private static let offered: Thresholds = {
        var thresholds = Thresholds()
        thresholds.estimateMaxLagSeconds = 20
        return thresholds
    }()

    private static func session(
        _ number: UInt64,
        on journey: Journey,
        from start: RecordedFix
    ) -> Session {
        let id = UniqueID(high: 0, low: number)
        return Session(rideID: id, riderID: id, journey: journey, startedAt: start.point.timestamp)
    }

    private static func add(_ fix: RecordedFix, to session: inout Session) {
        let outcome = try? applyBatch(
            [fix.point],
            to: session,
            tier: .new,
            trusted: nil,
            now: fix.point.timestamp,
            thresholds: Thresholds()
        )
        if let outcome { session = outcome.session }
    }

    /// The other phone is silent after each tenth fix in turn, for as long as its last match counts.
    private static func count(_ fixes: [RecordedFix], on journey: Journey, in tally: inout Tally) {
        var rider = session(1, on: journey, from: fixes[0])
        var silent = session(2, on: journey, from: fixes[0])
        for (index, fix) in fixes.enumerated() {
            add(fix, to: &rider)
            add(fix, to: &silent)
            if index % 10 == 9 { count(fixes[(index + 1)...], rider, beside: silent, in: &tally) }
        }
    }

    private static func count(
        _ fixes: ArraySlice<RecordedFix>,
        _ rider: Session,
        beside silent: Session,
        in tally: inout Tally
    ) {
        var rider = rider
        let end = (silent.lastAcceptedAt ?? 0) + 90
        for fix in fixes.prefix(while: { $0.point.timestamp <= end }) {
            let now = fix.point.timestamp
            add(fix, to: &rider)
            let trusted = Member(rider, tier: .trusted)
            let both = [trusted, Member(silent, tier: .new)]
            guard !estimates(of: [trusted], at: now).isEmpty else { continue }
            tally.alone += 1
            tally.seed += estimates(of: both, at: now).count
            tally.offered += estimates(of: both, at: now, thresholds: offered).count
        }
    }

    @Test func `who lags behind takes nobody's publication away once that is bounded`() throws {
        var tally = Tally()
        for recording in try Recording.all() {
            for (index, busTrip) in recording.aboard.enumerated()
            where Self.isSoak || index.isMultiple(of: 5) {
                let trip = try #require(recording.index.trip(busTrip.trip.tripID))
                let journey = recording.journey(trip, on: busTrip.trip.startDate)
                Self.count(busTrip.fixes, on: journey, in: &tally)
            }
        }
        print(
            """
            a trusted rider within 90 s of another phone's last match: published at \(tally.seed) of \
            \(tally.alone) fixes, \(tally.offered) with a lag of at most 20 s
            """
        )
        #expect(tally.alone >= 500)
        #expect(tally.offered > tally.seed)
        #expect(tally.offered * 100 >= tally.alone * 95)
    }
}
