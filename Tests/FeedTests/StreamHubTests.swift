import Foundation
import Messages
import Synchronization
import Telemetry
import TestKit
import Testing
import Transit
import Web

@testable import FeedService

/// How the states of `/gtfs-rt/stream` are made while readers come and go and feeds come in.
@Suite(.timeLimit(.minutes(1))) struct StreamHubTests {
    private let now = TripEstimate.now

    /// A publisher whose feed goes through a closure before the hub sees it.
    private struct World {
        let publisher: FeedPublisher
        let hub: StreamHub

        init(_ look: @escaping @Sendable (PublishedFeed) -> Void = { _ in }) {
            let board = FeedBoard()
            publisher = FeedPublisher(FeedPublisher.Sources(), board: board, metrics: Metrics())
            hub = StreamHub(maximumReaders: 10, metrics: Metrics()) {
                let feed = board.feed(.vehiclePositions)
                look(feed)
                return feed
            }
        }

        func publish(_ second: Int64, _ trips: [TripID] = ["T1"]) {
            let estimates = trips.map { trip in
                TripEstimate.sample(trip, latitude: 47 + Double(second) / 100)
            }
            publisher.heard(Estimates.sample(sequence: UInt64(second) + 1, estimates).encoded())
            publisher.tick(at: TripEstimate.now + second)
        }

        /// Joins, and waits for a state.
        func join() async throws -> StreamReader {
            let reader = try #require(hub.join(StreamFilter()))
            try await eventually("there is a state") { hub.newest != nil }
            return reader
        }
    }

    private func text(_ piece: StreamPiece) -> String {
        guard case .bytes(let bytes) = piece else { return "" }
        return String(decoding: bytes.bytes, as: UTF8.self)
    }

    @Test func `no number of a state comes again when readers have left and others come`()
        async throws
    {
        let world = World()
        world.publish(0)
        var numbers: [UInt64] = []
        for _ in 0..<3 {
            let reader = try await world.join()
            numbers.append(try #require(world.hub.newest).number)
            reader.end()
            #expect(world.hub.newest == nil)
        }
        #expect(numbers == [1, 2, 3])
    }

    @Test func `a feed that comes while a state is made of the one before is not lost`()
        async throws
    {
        let looks = Atomic<Int>(0)
        let gates = (0..<2).map { _ in DispatchSemaphore(value: 0) }
        let world = World { _ in
            // Whoever makes the first two states has the feed, and takes its time.
            let look = looks.wrappingAdd(1, ordering: .relaxed).oldValue
            if look < gates.count { gates[look].wait() }
        }
        world.publish(0)
        let reader = try #require(world.hub.join(StreamFilter()))
        try await eventually("the first state has its feed") { looks.load(ordering: .relaxed) == 1 }
        world.publish(1)
        let hub = world.hub
        let isBack = Mutex(false)
        Thread.detachNewThread {
            hub.feedChanged()
            isBack.withLock { $0 = true }
        }
        try await eventually("the second feed was seen, or is left to whoever makes states") {
            isBack.withLock { $0 } || looks.load(ordering: .relaxed) == 2
        }
        gates[0].signal()
        try await eventually("there is a state") { hub.newest != nil }
        gates[1].signal()
        try await eventually("the newest feed is told") { hub.newest?.header == now + 1 }
        #expect(text(reader.next()).contains("event: snapshot"))
    }

    @Test func `who joins in the moment in which the last reader leaves gets what is newest`()
        async throws
    {
        let change = Mutex<(@Sendable () -> Void)?>(nil)
        let world = World { _ in change.withLock { $0 }?() }
        let hub = world.hub
        world.publish(0)
        let first = try await world.join()
        #expect(text(first.next()).contains("event: snapshot"))
        let second = Mutex<StreamReader?>(nil)
        change.withLock { change in
            change = {
                guard second.withLock({ $0 == nil }) else { return }
                first.end()
                second.withLock { $0 = hub.join(StreamFilter()) }
            }
        }
        world.publish(1)
        hub.feedChanged()
        let reader = try #require(second.withLock { $0 })
        try await eventually("there is a state") { hub.newest != nil }
        #expect(hub.newest?.header == now + 1)
        #expect(text(reader.next()).contains("\"timestamp\":\"\(now + 1)\""))
        change.withLock { $0 = nil }
        world.publish(2)
        hub.feedChanged()
        try await eventually("the next state is made") { hub.newest?.header == now + 2 }
        #expect(text(reader.next()).hasPrefix("id: 3\nevent: update"))
    }

    @Test func `vehicles stand in one order however they come and go`() throws {
        let world = World()
        var generator = SystemRandomNumberGenerator()
        var last: StreamTick?
        var known: Set<String> = []
        for second in 0..<60 as Range<Int64> {
            let trips = (0..<30).filter { _ in Bool.random(using: &generator) }
                .map { TripID("T\($0)") }
            world.publish(second, trips)
            let tick = StreamTick(
                world.publisher.published,
                number: UInt64(second) + 1,
                after: last
            )
            let ids = tick.entities.map(\.id)
            #expect(ids == ids.sorted { VehicleID($0) < VehicleID($1) })
            #expect(Set(ids) == Set(trips.map { "rider:\($0):20260216" }))
            // What changed leads from the state before to this one.
            for change in tick.changes {
                if let old = change.old { known.remove(old.id) }
                if let new = change.new { known.insert(new.id) }
            }
            #expect(known == Set(ids))
            #expect(tick.changes.count >= trips.count)
            last = tick
        }
    }
}
