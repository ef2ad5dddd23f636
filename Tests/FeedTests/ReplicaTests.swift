import Database
import Messages
import RealtimeFeed
import Synchronization
import Telemetry
import TestKit
import Testing
import Transit
import Web

@testable import FeedService

/// One builds, all serve: the same bytes from every replica, and a header that never goes back.
@Suite struct ReplicaTests {
    private let now = TripEstimate.now

    private func publisher(
        _ sources: FeedPublisher.Sources = FeedPublisher.Sources()
    ) -> FeedPublisher {
        FeedPublisher(sources, metrics: Metrics())
    }

    private func deliver(_ messages: [FeedPublisher.Message], to other: FeedPublisher) {
        for message in messages {
            switch message.topic {
            case BusTopics.built: _ = other.heardBuilt(message.body, key: message.key)
            case BusTopics.trusted: _ = other.heardTrusted(message.body)
            default: Issue.record("an unknown topic \(message.topic)")
            }
        }
    }

    private func bytes(
        _ publisher: FeedPublisher,
        _ source: FeedSource,
        _ format: FeedFormat
    ) -> [UInt8] {
        let request = HTTPRequest.sample
        return publisher.published.content(source, format).response(to: request).body.bytes
    }

    @Test func `every replica has the same bytes and tags in every form`() {
        var sources = FeedPublisher.Sources()
        sources.rules.includesAgency = true
        sources.drivers = { _ in [.sample(trip: "T2")] }
        sources.agencies = { ([.read([.agency("9", trip: "T3")])], 1) }
        let builder = publisher(sources)
        builder.heard(Estimates.sample([.sample()]).encoded())
        let replica = publisher()
        deliver(builder.tick(at: now), to: replica)
        for source in FeedSource.allCases {
            for format in FeedFormat.allCases {
                let ours = builder.published.content(source, format)
                let theirs = replica.published.content(source, format)
                #expect(ours.entityTag == theirs.entityTag)
                #expect(ours.lastModified == now)
                #expect(bytes(builder, source, format) == bytes(replica, source, format))
            }
        }
        #expect(replica.published.entityCount == 3)
    }

    @Test(arguments: FeedSource.allCases)
    func `the pieces together are one feed`(source: FeedSource) throws {
        var sources = FeedPublisher.Sources()
        sources.rules.includesAgency = true
        sources.drivers = { _ in [.sample(trip: "T2")] }
        sources.agencies = { ([.read([.agency("9", trip: "T3")])], 1) }
        let builder = publisher(sources)
        builder.heard(Estimates.sample([.sample()]).encoded())
        builder.tick(at: now)
        let message = try FeedMessage(decoding: bytes(builder, source, .protobuf))
        let expected: [FeedSource: [String]] = [
            .driver: ["bus-1"], .agency: ["9"], .rider: ["rider:T1:20260216"],
            .all: ["bus-1", "9", "rider:T1:20260216"],
        ]
        #expect(message.entities.map(\.id) == expected[source])
        #expect(message.header.timestamp == UInt64(now))
        #expect(message.header.incrementality == .fullDataset)
        #expect(message.encoded() == bytes(builder, source, .protobuf))
    }

    @Test func `a lower epoch or tick is not taken, a header that goes back neither`() {
        let board = FeedBoard()
        func built(_ epoch: UInt64, _ tick: UInt64, _ header: UnixSeconds) -> BuiltFeed {
            BuiltFeed(
                instance: "f",
                epoch: epoch,
                tick: tick,
                headerTimestamp: header,
                variants: []
            )
        }
        #expect(board.take(built(2, 5, 100), .vehiclePositions))
        #expect(!board.take(built(2, 5, 101), .vehiclePositions))
        #expect(!board.take(built(2, 4, 101), .vehiclePositions))
        #expect(!board.take(built(1, 9, 101), .vehiclePositions))
        #expect(!board.take(built(3, 1, 99), .vehiclePositions))
        #expect(board.take(built(3, 2, 100), .vehiclePositions))
        #expect(board.feed(.vehiclePositions).built.epoch == 3)
        #expect(board.feed(.tripUpdates).built.epoch == 0)
    }

    @Test func `nobody is served before there is a feed`() throws {
        let board = FeedBoard()
        for kind in FeedKind.allCases {
            let error = #expect(throws: HTTPError.self) { try board.feedForReaders(kind) }
            #expect(error?.status == 503 && error?.retryAfter == 1)
        }
        let builder = publisher()
        builder.tick(at: now)
        #expect(try builder.board.feedForReaders(.vehiclePositions).built.headerTimestamp == now)
        #expect(try builder.board.feedForReaders(.tripUpdates).built.headerTimestamp == now)
    }

    @Test func `a feed is not built before every slot's owner and every agency were heard`() {
        var sources = FeedPublisher.Sources()
        let wasTried = Mutex(false)
        sources.agencies = {
            ([wasTried.withLock { $0 } ? .read([.agency()]) : AgencyFeed(url: "http://a")], 1)
        }
        let builder = publisher(sources)
        for slot in Slot.all {
            #expect(!builder.isInformed)
            builder.heard(Estimates.sample(slot: slot.rawValue, []).encoded())
        }
        #expect(!builder.isInformed)
        wasTried.withLock { $0 = true }
        #expect(builder.isInformed)
        // Without riders nobody waits for verifiers.
        sources.hasRiders = false
        #expect(publisher(sources).isInformed)
    }

    @Test func `who stood still serves nothing until it has caught up`() {
        let second: UInt64 = 1_000_000_000
        let start = 100 * second
        let one = Wakefulness()
        // Nobody watches yet.
        #expect(one.isAwake(at: start + 3600 * second))
        #expect(!one.beat(at: start))
        #expect(one.isAwake(at: start + 3 * second))
        #expect(!one.isAwake(at: start + 3 * second + 1))
        #expect(!one.beat(at: start + 3 * second))
        #expect(one.beat(at: start + 7 * second))
        #expect(!one.isAwake(at: start + 7 * second))
        one.missedNothing()
        #expect(one.isAwake(at: start + 7 * second))
        // Without any news it goes on after five seconds.
        #expect(one.beat(at: start + 20 * second))
        for step in 1...5 as ClosedRange<UInt64> {
            #expect(!one.isAwake(at: start + (20 + step) * second))
            #expect(!one.beat(at: start + (20 + step) * second))
        }
        #expect(one.isAwake(at: start + 25 * second + 1))
    }

    @Test func `the first news after a standstill may be old, those of a second later are not`() {
        let second: UInt64 = 1_000_000_000
        let start = 100 * second
        let one = Wakefulness()
        _ = one.beat(at: start)
        // What was heard before says nothing of what was missed.
        one.heardNews()
        #expect(one.beat(at: start + 9 * second))
        #expect(!one.isAwake(at: start + 10 * second + 1))
        one.heardNews()
        #expect(!one.isAwake(at: start + 10 * second))
        #expect(one.isAwake(at: start + 10 * second + 1))
    }

    @Test func `who is cut off serves nothing, and catches up when it is back`() {
        let second: UInt64 = 1_000_000_000
        let start = 100 * second
        let one = Wakefulness()
        _ = one.beat(at: start)
        one.isCutOff(false, at: start)
        #expect(!one.beat(at: start + second))
        #expect(one.isAwake(at: start + second))
        one.isCutOff(true, at: start + 2 * second)
        #expect(!one.beat(at: start + 2 * second))
        #expect(!one.isAwake(at: start + 2 * second))
        // What it hears of itself meanwhile is no news.
        one.heardNews()
        one.isCutOff(true, at: start + 3 * second)
        #expect(!one.isAwake(at: start + 3 * second))
        one.isCutOff(false, at: start + 4 * second)
        #expect(one.beat(at: start + 4 * second))
        #expect(!one.beat(at: start + 5 * second))
        #expect(!one.isAwake(at: start + 5 * second + 1))
        one.heardNews()
        #expect(one.isAwake(at: start + 5 * second + 1))
        // The one whose turn it still is has missed nothing.
        one.isCutOff(true, at: start + 6 * second)
        one.isCutOff(false, at: start + 7 * second)
        #expect(one.beat(at: start + 7 * second))
        one.missedNothing()
        #expect(one.isAwake(at: start + 7 * second))
    }

    @Test func `a takeover goes on with later headers and without a gap in coverage`() throws {
        let agency = AgencyFeed.read([.agency("1", trip: "T1")])
        var sources = FeedPublisher.Sources()
        sources.agencies = { ([agency], 1) }
        let first = publisher(sources)
        // The second has asked no agency yet when its turn comes.
        sources.agencies = { ([AgencyFeed(url: "http://a")], 1) }
        let second = publisher(sources)
        let estimates = Estimates.sample([.sample("T1"), .sample("T2")]).encoded()
        first.heard(estimates)
        second.heard(estimates)
        deliver(first.tick(at: now + 3, epoch: 4), to: second)
        let header = second.published.built.headerTimestamp
        deliver(second.tick(at: now + 2, epoch: 5), to: first)
        #expect(second.published.built.headerTimestamp == header + 1)
        #expect(first.published.built.epoch == 5)
        let ids = first.published.entities(of: .all).map(\.id)
        #expect(ids == ["rider:T2:20260216"])
        // The first wakes up and does not know yet: its own feed is of a lower epoch.
        first.tick(at: now + 60, epoch: 4)
        #expect(first.published.built.epoch == 5)
    }

    @Test func `what is built after the end of a turn is served to nobody`() {
        let builder = publisher()
        builder.tick(at: now, epoch: 4)
        #expect(builder.tick(at: now + 20, epoch: 4, while: { false }).isEmpty)
        #expect(builder.published.built.headerTimestamp == now)
        #expect(builder.board.feed(.tripUpdates).built.headerTimestamp == now)
        // In a turn of its own it goes on.
        #expect(!builder.tick(at: now + 21, epoch: 6).isEmpty)
        #expect(builder.published.built.headerTimestamp == now + 21)
    }

    @Test func `agencies' entities do not blink at a takeover`() {
        var sources = FeedPublisher.Sources()
        sources.rules.includesAgency = true
        sources.agencies = { ([.read([.agency("1")])], 1) }
        let first = publisher(sources)
        sources.agencies = { ([AgencyFeed(url: "http://a")], 1) }
        let second = publisher(sources)
        deliver(first.tick(at: now, epoch: 1), to: second)
        second.tick(at: now + 4, epoch: 2)
        #expect(second.published.entities(of: .agency).map(\.id) == ["1"])
        second.tick(at: now + 301, epoch: 2)
        #expect(second.published.entities(of: .agency).isEmpty)
    }
}

extension HTTPRequest {
    /// A plain request for a feed.
    static var sample: HTTPRequest { HTTPRequest() }
}
