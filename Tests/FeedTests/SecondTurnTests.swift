import Foundation
import Messages
import RealtimeFeed
import Synchronization
import Telemetry
import Testing
import Transit

@testable import FeedService

/// A replica that builds for the second time: what another one said meanwhile stands until the agencies have
/// answered anew.
@Suite(.timeLimit(.minutes(1))) struct SecondTurnTests {
    /// An agency's server that answers when it is let.
    private final class Agency: Sendable {
        private let answer: Answer
        let server: HostileServer

        private final class Answer: Sendable {
            let state = Mutex<(body: [UInt8], isSlow: Bool, isAway: Bool)>(([], false, false))
            let time = Mutex(TripEstimate.now)
        }

        init() {
            let answer = Answer()
            self.answer = answer
            server = HostileServer { socket, port in
                while answer.state.withLock({ $0.isSlow }) { usleep(2000) }
                let (body, isAway) = answer.state.withLock { ($0.body, $0.isAway) }
                let status = isAway ? "503 Service Unavailable" : "200 OK"
                HostileServer.answer(status, "", isAway ? [] : body)(socket, port)
            }
        }

        func say(_ trips: [TripID], at time: UnixSeconds) {
            let entities = trips.map { FeedEntity.agency($0.rawValue, trip: $0, at: UInt64(time)) }
            let body = FeedMessage.sample(entities, header: UInt64(time)).encoded()
            answer.state.withLock { $0.body = body }
            answer.time.withLock { $0 = time }
        }

        /// When it last said something new.
        var time: UnixSeconds { answer.time.withLock { $0 } }

        /// The server answers, and not with a feed.
        func isAway(_ isAway: Bool) { answer.state.withLock { $0.isAway = isAway } }

        func isSlow(_ isSlow: Bool) { answer.state.withLock { $0.isSlow = isSlow } }
    }

    /// A replica of the feed with a poller of its own.
    private struct Replica {
        let poller: AgencyPoller
        let publisher: FeedPublisher

        init(_ agencies: Agency...) {
            let poller = AgencyPoller(
                urls: agencies.map(\.server.url),
                clock: { agencies.map(\.time).max() ?? TripEstimate.now },
                turn: { nil },
                logger: .silent,
                metrics: Metrics()
            )
            var sources = FeedPublisher.Sources()
            sources.rules.includesAgency = true
            sources.agencies = { (poller.feeds, poller.version) }
            self.poller = poller
            publisher = FeedPublisher(sources, metrics: Metrics())
        }

        func hear(_ messages: [FeedPublisher.Message]) {
            for message in messages {
                if message.topic == BusTopics.built {
                    _ = publisher.heardBuilt(message.body, key: message.key)
                } else {
                    _ = publisher.heardTrusted(message.body)
                }
            }
        }

        /// Hears of riders on three trips.
        func hearRiders(_ sequence: UInt64, at time: UnixSeconds) {
            let riders = (1...3).map { TripEstimate.sample(TripID("T\($0)"), at: time) }
            publisher.heard(Estimates.sample(sequence: sequence, riders).encoded())
        }

        /// The published vehicles with their times.
        var vehicles: [String: UnixSeconds] {
            let entities = publisher.published.entities(of: .all)
            return Dictionary(
                entities.map { ($0.id, Int64($0.vehicle?.timestamp ?? 0)) },
                uniquingKeysWith: { first, _ in first }
            )
        }
    }

    private let now = TripEstimate.now

    @Test(arguments: [36, 330] as [Int64])
    func `no vehicle goes back and no trip is uncovered while an agency is slow`(
        pause: Int64
    ) async {
        let agency = Agency()
        let (first, second) = (Replica(agency), Replica(agency))
        agency.say(["T1"], at: now)
        for replica in [first, second] { replica.hearRiders(1, at: now) }
        await first.poller.poll(0, in: 1)
        second.hear(first.publisher.tick(at: now, epoch: 1))
        #expect(
            second.vehicles == ["T1": now, "rider:T2:20260216": now, "rider:T3:20260216": now]
        )

        let later = now + pause
        agency.say(["T1", "T2"], at: later)
        for replica in [first, second] { replica.hearRiders(2, at: later) }
        await second.poller.poll(0, in: 2)
        first.hear(second.publisher.tick(at: later, epoch: 2))
        let expected = ["T1": later, "T2": later, "rider:T3:20260216": later]
        #expect(first.vehicles == expected)

        agency.isSlow(true)
        let polling = Task { await first.poller.poll(0, in: 3) }
        var header = first.publisher.published.built.headerTimestamp
        for second in 1...20 as ClosedRange<Int64> {
            first.publisher.tick(at: later + second, epoch: 3)
            #expect(first.vehicles == expected)
            #expect(first.publisher.published.built.headerTimestamp >= header)
            header = first.publisher.published.built.headerTimestamp
        }
        #expect(first.publisher.published.built.epoch == 3)
        agency.say(["T1"], at: later + 20)
        agency.isSlow(false)
        await polling.value
        first.publisher.tick(at: later + 21, epoch: 3)
        #expect(
            first.vehicles == [
                "T1": later + 20, "rider:T2:20260216": later, "rider:T3:20260216": later,
            ]
        )
    }

    @Test
    func
        `an agency that fails leaves standing what another builder heard of it, until it is too old`()
        async
    {
        let agency = Agency()
        let (first, second) = (Replica(agency), Replica(agency))
        agency.say(["T1"], at: now)
        for replica in [first, second] { replica.hearRiders(1, at: now) }
        await first.poller.poll(0, in: 1)
        second.hear(first.publisher.tick(at: now, epoch: 1))

        let later = now + 330
        agency.say(["T1", "T2"], at: later)
        for replica in [first, second] { replica.hearRiders(2, at: later) }
        await second.poller.poll(0, in: 2)
        first.hear(second.publisher.tick(at: later, epoch: 2))
        let expected = ["T1": later, "T2": later, "rider:T3:20260216": later]
        #expect(first.vehicles == expected)

        agency.isAway(true)
        await first.poller.poll(0, in: 3)
        for second in 1...3 as ClosedRange<Int64> {
            first.publisher.tick(at: later + second, epoch: 3)
            #expect(first.vehicles == expected)
        }
        first.hearRiders(3, at: later + 301)
        first.publisher.tick(at: later + 300, epoch: 3)
        #expect(Set(first.vehicles.keys) == ["T1", "T2", "rider:T3:20260216"])
        first.publisher.tick(at: later + 301, epoch: 3)
        #expect(Set(first.vehicles.keys) == Set((1...3).map { "rider:T\($0):20260216" }))
    }

    @Test func `an agency that is away holds nothing of another's, turn after turn`() async throws {
        let (here, away) = (Agency(), Agency())
        let replicas = (0..<3).map { _ in Replica(here, away) }
        here.say(["T1", "A"], at: now)
        away.say(["T2"], at: now)
        for replica in replicas { replica.hearRiders(1, at: now) }
        for agency in [0, 1] { await replicas[0].poller.poll(agency, in: 1) }
        replicas[1].hear(replicas[0].publisher.tick(at: now, epoch: 1))
        away.isAway(true)
        here.say(["A"], at: now + 5)
        for turn in [1, 2] {
            let (replica, time) = (replicas[turn], now + 5 * Int64(turn))
            for agency in [0, 1] { await replica.poller.poll(agency, in: UInt64(turn) + 1) }
            let messages = replica.publisher.tick(at: time, epoch: UInt64(turn) + 1)
            // The bus of the first agency that left its trip is gone, the other agency's stands.
            #expect(
                replica.vehicles == [
                    "A": now + 5, "T2": now, "rider:T1:20260216": now, "rider:T3:20260216": now,
                ]
            )
            let trusted = try #require(messages.first { $0.topic == BusTopics.trusted })
            let snapshot = try TrustedVehicles(decoding: trusted.body)
            #expect(snapshot.complete)
            #expect(snapshot.vehicles.map(\.tripID) == ["A", "T2"])
            if turn == 1 { replicas[2].hear(messages) }
        }
    }

    @Test func `a vehicle that leaves an agency does not come back while another has not answered`()
        async
    {
        let (here, away) = (Agency(), Agency())
        let (first, second) = (Replica(here, away), Replica(here, away))
        here.say(["A", "B"], at: now)
        away.say(["C"], at: now)
        for agency in [0, 1] { await first.poller.poll(agency, in: 1) }
        second.hear(first.publisher.tick(at: now, epoch: 1))
        away.isAway(true)
        for (step, trips) in ([["A", "B"], ["A"], [], ["B"]] as [[TripID]]).enumerated() {
            let time = now + 5 * Int64(step + 1)
            here.say(trips, at: time)
            for agency in [0, 1] { await second.poller.poll(agency, in: 2) }
            for tick in [time, time + 1] {
                second.publisher.tick(at: tick, epoch: 2)
                var expected = ["C": now]
                for trip in trips { expected[trip.rawValue] = time }
                #expect(second.vehicles == expected)
            }
        }
    }

    @Test func `who gets the lock back before anybody else built goes on with what it knows`()
        async throws
    {
        let agency = Agency()
        let replica = Replica(agency)
        agency.say(["T1"], at: now)
        replica.hearRiders(1, at: now)
        await replica.poller.poll(0, in: 1)
        replica.publisher.tick(at: now, epoch: 1)
        let before = replica.vehicles
        let messages = replica.publisher.tick(at: now + 6, epoch: 2)
        #expect(replica.vehicles == before)
        let trusted = try #require(messages.first { $0.topic == BusTopics.trusted })
        #expect(try TrustedVehicles(decoding: trusted.body).complete)
    }
}
