import Messages
import RealtimeFeed
import Testing
import Transit

@testable import FeedService

/// When the feed says something new, and how it is dated.
@Suite struct FeedBuilderTests {
    private let now = TripEstimate.now

    private func sourced(_ estimates: [TripEstimate], at now: UnixSeconds? = nil) -> [SourcedEntity]
    {
        estimates.map {
            SourcedEntity(source: .rider, entity: FeedEntity($0, now: now ?? self.now))
        }
    }

    @Test func `the first feed is valid even without entities`() throws {
        var builder = FeedBuilder()
        let first = builder.tick(sourced([]), at: now)
        let build = try #require(first)
        #expect(build.message.entities.isEmpty)
        #expect(build.message.header.timestamp == UInt64(now))
        #expect(build.message.complianceFindings(now: UInt64(now)).isEmpty)
    }

    @Test func `the same content says nothing for 15 seconds, then is dated anew`() throws {
        var builder = FeedBuilder()
        let firstTick = builder.tick(sourced([.sample()]), at: now)
        let first = try #require(firstTick)
        for second in 0..<15 as Range<Int64> {
            let same = builder.tick(sourced([.sample()]), at: now + second)
            #expect(same == nil, "after \(second) s")
        }
        let againTick = builder.tick(sourced([.sample()]), at: now + 15)
        let again = try #require(againTick)
        #expect(again.message.entities == first.message.entities)
        #expect(again.message.header.timestamp == UInt64(now + 15))
        let soon = builder.tick(sourced([.sample()]), at: now + 29)
        #expect(soon == nil)
    }

    @Test func `other content speaks at once`() throws {
        var builder = FeedBuilder()
        _ = builder.tick(sourced([.sample()]), at: now)
        let movedTick = builder.tick(sourced([.sample(latitude: 47.6)]), at: now + 1)
        let moved = try #require(movedTick)
        #expect(moved.message.header.timestamp == UInt64(now + 1))
        let goneTick = builder.tick(sourced([]), at: now + 2)
        let gone = try #require(goneTick)
        #expect(gone.message.entities.isEmpty)
    }

    @Test func `the header never goes back nor stands still`() throws {
        var builder = FeedBuilder()
        var last: UInt64 = 0
        for (index, offset) in [0, 0, -30, -3600, 1].enumerated() {
            let estimate = TripEstimate.sample(latitude: Double(index), at: now - 7200)
            let built = builder.tick(sourced([estimate]), at: now + Int64(offset))
            let time = try #require(built?.message.header.timestamp)
            #expect(time > last)
            last = time
        }
        #expect(last == UInt64(now + 4))
    }

    @Test(arguments: [-90, -1, 0, 1, 30, 100_000])
    func `no entity is newer than the header or the clock`(offset: Int64) throws {
        var builder = FeedBuilder()
        let built = builder.tick(sourced([.sample(at: now + offset)]), at: now)
        let build = try #require(built)
        let entity = try #require(build.message.entities.first?.vehicle?.timestamp)
        #expect(entity == UInt64(now + min(0, offset)))
        #expect(build.message.header.timestamp == UInt64(now))
        #expect(build.withheld.isEmpty)
    }

    @Test(arguments: [(0, 1), (1, 0), (60, 0)] as [(UInt64, Int)])
    func `an entity ahead of the clock dates no feed`(offset: UInt64, published: Int) {
        let entity = FeedEntity.agency(at: UInt64(now) + offset)
        var builder = FeedBuilder()
        let built = builder.tick([SourcedEntity(ofAgency: entity, feed: 0)], at: now)
        #expect(built?.headerTimestamp == now)
        #expect(built?.entities.count == published)
        #expect(built?.withheld == (published == 1 ? [:] : ["E012": 1]))
    }

    @Test func `the header follows the clock, not old entities`() throws {
        var builder = FeedBuilder()
        let built = builder.tick(sourced([.sample(at: now - 80)]), at: now)
        #expect(built?.message.header.timestamp == UInt64(now))
    }

    @Test(
        arguments: [
            (91, 90, 8, "E026"), (.nan, 90, 8, "E026"), (47, 361, 8, "E027"), (47, .nan, 8, "E027"),
            (47, 90, -1, "A001"), (47, 90, .infinity, "A001"),
        ] as [(Double, Double, Double, String)]
    )
    func `an entity that breaks a rule is withheld and counted`(
        latitude: Double,
        bearing: Double,
        speed: Double,
        rule: String
    ) throws {
        var bad = TripEstimate.sample("bad", latitude: latitude)
        bad.bearing = bearing
        bad.speed = speed
        var builder = FeedBuilder()
        let built = builder.tick(sourced([.sample("A"), bad, .sample("Z")]), at: now)
        let build = try #require(built)
        #expect(build.message.entities.map(\.id) == ["rider:A:20260216", "rider:Z:20260216"])
        #expect(build.withheld == [rule: 1])
        let same = builder.tick(sourced([.sample("A"), bad, .sample("Z")]), at: now + 1)
        #expect(same == nil)
    }

    @Test func `of two estimates of one trip the first is published`() throws {
        var builder = FeedBuilder()
        let built = builder.tick(sourced([.sample(latitude: 1), .sample(latitude: 2)]), at: now)
        let build = try #require(built)
        #expect(build.message.entities.map(\.vehicle?.position?.latitude) == [1])
        #expect(build.withheld == ["E052": 1])
    }

    @Test(arguments: [(-90, 0), (90, 360), (0, 90), (47, 180)] as [(Double, Double)])
    func `the edges of the earth and of the compass are published`(
        latitude: Double,
        bearing: Double
    ) {
        var estimate = TripEstimate.sample(latitude: latitude)
        estimate.bearing = bearing
        estimate.longitude = latitude < 0 ? -180 : 180
        var builder = FeedBuilder()
        let built = builder.tick(sourced([estimate]), at: now)
        #expect(built?.message.entities.count == 1)
    }
}
