import Messages
import RealtimeFeed
import Testing
import Transit

@testable import FeedService

/// Which of the agencies' vehicles count, and which trips they cover (seed 4.2, spec 0).
@Suite struct AgencyFusionTests {
    private let now = TripEstimate.now
    private let age = TrustedAge(maximum: 300)

    private func fuse(_ feeds: [FeedEntity]..., at now: UnixSeconds? = nil) -> AgencyFusion {
        AgencyFusion(feeds.map { AgencyFeed.read($0) }, at: now ?? self.now, age: age)
    }

    private func run(_ trip: TripID, _ date: ServiceDate = .monday) -> TripInstance {
        TripInstance(tripID: trip, startDate: date)
    }

    @Test(
        arguments: [(-301, false), (-300, true), (0, true), (60, true), (61, false)]
            as [(Int64, Bool)]
    )
    func `counts from 300 s old to 60 s ahead`(offset: Int64, counts: Bool) {
        let fusion = fuse([.agency(at: UInt64(now + offset))])
        #expect(fusion.sightings.count == (counts ? 1 : 0))
        #expect(fusion.coverage.covers(run("T1")) == counts)
    }

    @Test func `a date covers its run alone, no date covers every run`() {
        let fusion = fuse([.agency("1"), .agency("2", trip: "T2", on: nil)])
        #expect(fusion.coverage.covers(run("T1", .monday)))
        #expect(!fusion.coverage.covers(run("T1", .tuesday)))
        #expect(fusion.coverage.covers(run("T2", .monday)))
        #expect(fusion.coverage.covers(run("T2", .tuesday)))
        #expect(!fusion.coverage.covers(run("T3")))
    }

    @Test func `a date that is none counts as no date`() {
        let fusion = fuse([.agency(on: "20269999")])
        #expect(fusion.coverage.covers(run("T1", .tuesday)))
    }

    @Test func `without a time of its own a vehicle covers nothing`() {
        let fusion = fuse([.agency(at: nil)])
        #expect(!fusion.coverage.covers(run("T1")))
        #expect(fusion.sightings.count == 1)
    }

    @Test func `a place that is none covers its trip all the same`() {
        #expect(fuse([.agency(latitude: .nan)]).coverage.covers(run("T1")))
        #expect(fuse([.agency(latitude: 91)]).coverage.covers(run("T1")))
    }

    @Test func `in one feed the last of two on a run stands`() {
        let old = UInt64(now - 10)
        let fusion = fuse([.agency("1"), .agency("2", at: old)])
        #expect(fusion.sightings.map(\.vehicle.entityID) == ["e-2"])
    }

    @Test(arguments: [(-1, "e-1"), (0, "e-1"), (1, "e-2")] as [(Int64, String)])
    func `between feeds the fresher stands, the earlier feed on a tie`(
        offset: Int64,
        winner: String
    ) {
        let fusion = fuse(
            [.agency("1", at: UInt64(now - 50))],
            [.agency("2", at: UInt64(now - 50 + offset))]
        )
        #expect(fusion.sightings.map(\.vehicle.entityID) == [winner])
    }

    @Test(arguments: [(-1, "e-2"), (0, "e-1"), (1, "e-1")] as [(Int64, String)])
    func `a time ahead of its receipt is no fresher than the receipt`(
        offset: Int64,
        winner: String
    ) {
        let ahead = AgencyFeed.read([.agency("1", at: UInt64(now + 60))], at: now + offset)
        let fusion = AgencyFusion(
            [ahead, .read([.agency("2", at: UInt64(now))])],
            at: now + 5,
            age: age
        )
        #expect(fusion.sightings.map(\.vehicle.entityID) == [winner])
    }

    @Test(arguments: [(-1, -1), (0, 0), (1, 0), (60, 0)] as [(Int64, Int64)])
    func `a vehicle is dated by its receipt at the latest, and grows old from there`(
        offset: Int64,
        expected: Int64
    ) {
        for time in [now, now + 30] {
            let feeds = [AgencyFeed.read([.agency(at: UInt64(now + offset))])]
            let fusion = AgencyFusion(feeds, at: time, age: age)
            #expect(fusion.sightings.map(\.vehicle.measuredAt) == [now + expected])
            #expect(
                fusion.sightings.map(\.vehicle.position.timestamp) == [UInt64(now + expected)]
            )
            #expect(fusion.changesAt == now + expected + 301)
        }
    }

    @Test func `a fresh word of another feed counts when the first is too old`() {
        let fusion = fuse(
            [.agency("1", at: UInt64(now - 400))],
            [.agency("2", at: UInt64(now - 100))]
        )
        #expect(fusion.sightings.map(\.vehicle.entityID) == ["e-2"])
    }

    @Test func `beside a dated vehicle one without a date is not published`() {
        let fusion = fuse([.agency("1")], [.agency("2", on: nil)])
        #expect(fusion.sightings.map(\.vehicle.entityID) == ["e-1"])
        #expect(fusion.coverage.covers(run("T1", .tuesday)))
    }

    @Test func `vehicles without a trip are all kept`() {
        #expect(fuse([.agency("1", trip: nil), .agency("2", trip: nil)]).sightings.count == 2)
        #expect(fuse([.agency("1", trip: "")]).sightings.count == 1)
    }

    @Test func `knows when the next vehicle becomes too old or is no longer too new`() {
        #expect(fuse([.agency(at: UInt64(now - 100))]).changesAt == now + 201)
        #expect(fuse([.agency(at: UInt64(now + 90))]).changesAt == now + 30)
        #expect(fuse([.agency(at: UInt64(now - 400))]).changesAt == .max)
        #expect(fuse([]).changesAt == .max)
    }
}
