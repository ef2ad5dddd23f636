import Messages
import RealtimeFeed
import Testing
import Transit

@testable import FeedService

/// What is kept of an agency's feed as answers and failures come in (spec 2.11).
@Suite struct AgencyFeedTests {
    private let now = TripEstimate.now

    private func good(_ entities: [FeedEntity], etag: String? = "\"1\"") -> AgencyFeed.Answer {
        .response(
            status: 200,
            etag: etag,
            lastModified: "Mon, 16 Feb 2026 16:00:00 GMT",
            .feed(AgencyReading(.sample(entities)))
        )
    }

    @Test func `asks conditionally once the server gave tag and time`() {
        var feed = AgencyFeed(url: "http://a")
        #expect(feed.conditions.isEmpty)
        _ = feed.take(good([.agency()]), at: now, turn: 1)
        #expect(feed.conditions.map(\.0) == ["If-None-Match", "If-Modified-Since"])
        #expect(feed.conditions.map(\.1) == ["\"1\"", "Mon, 16 Feb 2026 16:00:00 GMT"])
        _ = feed.take(
            .response(status: 200, etag: nil, lastModified: nil, .feed(AgencyReading())),
            at: now,
            turn: 1
        )
        #expect(feed.conditions.isEmpty)
    }

    @Test func `304 keeps the vehicles and counts as success`() {
        var feed = AgencyFeed(url: "http://a")
        _ = feed.take(good([.agency()]), at: now, turn: 1)
        _ = feed.take(.failed("no answer in time"), at: now + 30, turn: 1)
        let isNew = feed.take(
            .response(status: 304, etag: nil, lastModified: nil, .none),
            at: now + 60,
            turn: 1
        )
        #expect(!isNew)
        #expect(feed.lastSuccess == now + 60)
        #expect(feed.lastError == "")
        #expect(feed.reading.vehicles.count == 1)
    }

    @Test func `304 to a request without conditions is an error`() {
        var feed = AgencyFeed(url: "http://a")
        _ = feed.take(.response(status: 304, etag: nil, lastModified: nil, .none), at: now, turn: 1)
        #expect(feed.lastSuccess == nil)
        #expect(feed.lastError == "the server answered 304")
    }

    @Test(arguments: [
        (AgencyFeed.Answer.failed("no answer in time"), "no answer in time"),
        (.response(status: 503, etag: nil, lastModified: nil, .none), "the server answered 503"),
        (.response(status: 301, etag: nil, lastModified: nil, .none), "the server answered 301"),
        (
            .response(status: 200, etag: "\"2\"", lastModified: nil, .refused("not a feed")),
            "not a feed"
        ),
    ])
    func `a failure keeps the vehicles and says why`(answer: AgencyFeed.Answer, reason: String) {
        var feed = AgencyFeed(url: "http://a")
        let isFirstNew = feed.take(good([.agency()]), at: now, turn: 1)
        #expect(isFirstNew)
        let isFailureNew = feed.take(answer, at: now + 30, turn: 1)
        #expect(!isFailureNew)
        #expect(feed.wasTried)
        #expect(feed.lastError == reason)
        #expect(feed.lastSuccess == now)
        #expect(feed.reading.vehicles.count == 1)
        // What could not be read must be sent in full again.
        #expect(feed.conditions.first?.1 == "\"1\"")
        let isSameNew = feed.take(good([.agency()]), at: now + 60, turn: 1)
        #expect(!isSameNew)
        #expect(feed.lastError == "")
    }

    @Test(arguments: [(nil, false), (3, false), (4, true), (5, true)] as [(UInt64?, Bool)])
    func `what was read before a turn does not count in it`(asked: UInt64?, counts: Bool) {
        var feed = AgencyFeed(url: "http://a")
        if let asked { _ = feed.take(good([.agency()]), at: now, turn: asked) }
        let known = feed.asked(since: 4)
        #expect(known.wasTried == counts)
        #expect(known.reading.vehicles.count == (counts ? 1 : 0))
        #expect(known.url == feed.url)
    }

    @Test func `a failure in a turn is a try and no answer`() {
        var feed = AgencyFeed(url: "http://a")
        _ = feed.take(good([.agency()]), at: now, turn: 1)
        _ = feed.take(.failed("no answer in time"), at: now + 30, turn: 3)
        let failed = feed.asked(since: 3)
        #expect(failed.wasTried && !failed.hasAnswered)
        #expect(failed.reading.vehicles.isEmpty)
        // What was read in an earlier turn is what the server has now, if it says so.
        let unchanged = AgencyFeed.Answer.response(
            status: 304,
            etag: nil,
            lastModified: nil,
            .none
        )
        _ = feed.take(unchanged, at: now + 60, turn: 3)
        #expect(feed.asked(since: 3).hasAnswered)
        #expect(feed.asked(since: 3).reading.vehicles.count == 1)
        // A later failure keeps it.
        _ = feed.take(.failed("no answer in time"), at: now + 90, turn: 3)
        #expect(feed.asked(since: 3).reading.vehicles.count == 1)
    }

    @Test func `the receipt of what it says is that of its first word, in each turn anew`() {
        var feed = AgencyFeed(url: "http://a")
        #expect(feed.readAt == nil)
        _ = feed.take(good([.agency("1")]), at: now, turn: 1)
        _ = feed.take(good([.agency("1")]), at: now + 30, turn: 1)
        #expect(feed.readAt == now)
        _ = feed.take(.failed("no answer in time"), at: now + 40, turn: 3)
        #expect(feed.readAt == now)
        _ = feed.take(good([.agency("1")]), at: now + 60, turn: 3)
        #expect(feed.readAt == now + 60)
        _ = feed.take(good([.agency("2")]), at: now + 90, turn: 3)
        #expect(feed.readAt == now + 90)
    }

    @Test func `a whole feed replaces the one before`() {
        var feed = AgencyFeed(url: "http://a")
        _ = feed.take(good([.agency("1"), .agency("2", trip: "T2")]), at: now, turn: 1)
        let isNew = feed.take(good([.agency("3", trip: "T3")]), at: now + 30, turn: 1)
        #expect(isNew)
        #expect(feed.reading.vehicles.map(\.entityID) == ["e-3"])
    }

    @Test func `takes vehicles with a position and trips with updates`() {
        var deleted = FeedEntity.agency("gone")
        deleted.isDeleted = true
        let update = FeedEntity(
            id: "u",
            tripUpdate: TripUpdate(trip: TripDescriptor(tripID: "T9"))
        )
        let nowhere = FeedEntity(
            id: "n",
            vehicle: VehiclePosition(trip: TripDescriptor(tripID: "T"))
        )
        let reading = AgencyReading(.sample([.agency(), deleted, update, nowhere]))
        #expect(reading.vehicles.map(\.entityID) == ["e-100"])
        #expect(reading.tripsWithUpdates == ["T9"])
    }

    @Test(arguments: [(nil, 1_771_257_600), (0, 1_771_257_600), (5, 5)] as [(UInt64?, UInt64)])
    func `a vehicle without a time has the header's, but none of its own`(
        sent: UInt64?,
        published: UInt64
    ) {
        let reading = AgencyReading(.sample([.agency(at: sent)]))
        #expect(reading.vehicles.first?.position.timestamp == published)
        #expect(reading.vehicles.first?.measuredAt == (sent == 5 ? 5 : nil))
    }

    @Test func `a time beyond all time is none`() {
        let reading = AgencyReading(.sample([.agency(at: .max)], header: .max))
        #expect(reading.vehicles.first?.measuredAt == nil)
        #expect(reading.vehicles.first?.position.timestamp == nil)
    }
}
