import FoundationEssentials
import Replay
import Testing
import Transit
import Verification

/// Recorded buses of three routes taken through the rules.
///
/// `make soak` claims every trip that overlaps a bus in time; otherwise the one or two that leave at the
/// nearest time. The tables are printed.
@Suite(.serialized) struct RealRidesTests {
    private static let isSoak = ProcessInfo.processInfo.environment["ALONGSIDE_SOAK"] == "1"

    /// What decision 0071 offers beside the seed's rules.
    private static let offered: Thresholds = {
        var thresholds = Thresholds()
        thresholds.verifyStepMeters = 20
        thresholds.regressionRecoveryMeters = 100
        return thresholds
    }()

    // MARK: - The right trip

    @Test func `believes riders of the right trip`() throws {
        var table = [ReplaySummary.head]
        var misses: [String] = []
        var seed = ReplaySummary()
        var offered = ReplaySummary()
        for recording in try Recording.all() {
            var ridden = ReplaySummary()
            var whole = ReplaySummary()
            for busTrip in recording.aboard {
                let ride = try recording.replay(busTrip)
                ridden.add(ride)
                seed.add(ride)
                if !ride.isAccepted { misses += Self.text(busTrip, ride) }
                offered.add(try recording.replay(busTrip, thresholds: Self.offered))
            }
            for busTrip in recording.whole { whole.add(try recording.replay(busTrip)) }
            table.append(ridden.row("right trip, rider aboard: \(recording.name)"))
            table.append(whole.row("right trip, whole recording: \(recording.name)"))
            misses += recording.tooShort.map { busTrip in
                "left out, \(Recording.minimum) fixes between the first and the last stop are needed: "
                    + "bus \(busTrip.vehicleID) on \(busTrip.trip), \(busTrip.fixes.count) in all"
            }
        }
        table.append(seed.row("right trip, rider aboard"))
        table.append(offered.row("right trip, rider aboard, thresholds of decision 0071"))
        print((table + misses).joined(separator: "\n"))
        #expect(seed.rides >= 100)
        #expect(seed.share(\.accepted) >= 0.98)
        #expect(offered.accepted == offered.rides)
    }

    // MARK: - Wrong trips

    @Test(arguments: Claim.allCases)
    func `does not publish riders of a wrong trip`(claim: Claim) throws {
        var seed = ReplaySummary()
        var offered = ReplaySummary()
        var misses: [String] = []
        for recording in try Recording.all() {
            let feed = RecordedFeed(recording.whole)
            let limit = Self.isSoak ? nil : claim == .other ? 2 : 1
            for busTrip in recording.aboard {
                for trip in claim.trips(for: busTrip, in: recording, limit: limit) {
                    let ride = try recording.replay(busTrip, as: trip, feed: feed)
                    seed.add(ride)
                    let strict = try recording.replay(
                        busTrip,
                        as: trip,
                        feed: feed,
                        thresholds: Self.offered
                    )
                    offered.add(strict)
                    if ride.publishableFixes > 0 || strict.verifiedAt != nil {
                        misses += Self.text(busTrip, ride)
                    } else if ride.verifiedAt != nil {
                        misses.append(Self.text(busTrip, ride)[0])
                    }
                }
            }
        }
        let table = [
            ReplaySummary.head, seed.row("\(claim)"),
            offered.row("\(claim), thresholds of decision 0071"),
        ]
        print((table + misses).joined(separator: "\n"))
        #expect(seed.rides >= 100)
        // A new rider is published by the trusted feed's word or by a second rider's. Alone, hardly ever:
        #expect(seed.share(\.publishable) <= 0.01)
        // and with the thresholds that are offered, not with a second one either.
        #expect(offered.share(\.verified) <= 0.01)
    }

    @Test func `never believes the bus that starts four kilometres off its trip`() throws {
        let recording = try Recording.snapped.get()
        let busTrip = try #require(
            recording.whole.first { $0.vehicleID == "2852" && $0.trip.tripID == "5516100" }
        )
        let ride = try recording.replay(busTrip, feed: RecordedFeed(recording.whole))
        #expect(ride.verifiedAt == nil)
        #expect(ride.publishableFixes == 0)
        #expect(ride.session.end?.reason == .offRoute)
        #expect(ride.fixes.count == 5)
        #expect(ride.fixes.contains { ($0.verdict.distanceToShape ?? 0) > 3900 })
    }

    // MARK: - What decision 0071 is about

    @Test func `one stray fix ahead makes the seed's rules reject an honest ride`() throws {
        let recording = try Recording.express.get()
        let busTrip = try #require(recording.aboard.first)
        let seed = try recording.replay(busTrip)
        #expect(seed.session.end?.reason == .implausible)
        #expect(seed.fixes.suffix(5).allSatisfy { $0.verdict.check == .regression })
        let offered = try recording.replay(busTrip, thresholds: Self.offered)
        #expect(offered.isAccepted)
        #expect(offered.fixes.count == busTrip.fixes.count)
    }

    private static func text(_ busTrip: BusTrip, _ ride: ReplayedRide) -> [String] {
        ["miss: bus \(busTrip.vehicleID) on \(busTrip.trip) as \(ride.headline)"]
            + ride.lines.suffix(8).map { "    \($0)" }
    }
}
