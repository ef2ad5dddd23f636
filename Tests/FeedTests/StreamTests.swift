import Foundation
import Messages
import RealtimeFeed
import Telemetry
import TestKit
import Testing
import Transit
import Web

@testable import FeedService

/// `GET /gtfs-rt/stream` over real sockets (spec 0).
@Suite(.timeLimit(.minutes(1))) struct StreamTests {
    private let now = TripEstimate.now

    @Test func `first a snapshot, then what changes`() async throws {
        try await RunningStream.with { stream async throws in
            stream.publish([.sample("T1"), .sample("T2")], tick: 0)
            let reader = try stream.open()
            #expect(try await reader.head().contains("Content-Type: text/event-stream"))
            let snapshot = try await reader.next()
            #expect(snapshot.name == "snapshot")
            #expect(snapshot.ids == ["rider:T1:20260216", "rider:T2:20260216"])
            stream.publish([.sample("T1", latitude: 47.6), .sample("T2")], tick: 1)
            let update = try await reader.next()
            #expect(update.name == "update")
            #expect(update.object["id"] as? String == "rider:T1:20260216")
            #expect(update.object["vehicle"] != nil)
            stream.publish([.sample("T2")], tick: 2)
            let removal = try await reader.next()
            #expect(removal.name == "remove")
            #expect(removal.object["id"] as? String == "rider:T1:20260216")
        }
    }

    @Test(arguments: [
        ("?source=rider", ["T1", "T2"]), ("?source=driver", []), ("?source=all", ["T1", "T2"]),
        ("?trip_id=T1", ["T1"]), ("?trip_id=", ["T1", "T2"]), ("?route_id=R1", ["T1", "T2"]),
        ("?route_id=R2", []), ("?bbox=-123,47,-122,47.55", ["T1"]),
        ("?bbox=-122.25,47.5,-122.25,47.5", ["T1"]), ("?trip_id=T1&route_id=R2", []),
        ("?bbox=-123,47,-122,48&trip_id=T2", ["T2"]),
    ])
    func `a filter admits what it says`(query: String, trips: [String]) async throws {
        try await RunningStream.with { stream async throws in
            stream.publish([.sample("T1"), .sample("T2", latitude: 47.6)], tick: 0)
            let reader = try stream.open(query)
            let snapshot = try await reader.next()
            #expect(snapshot.ids == trips.map { "rider:\($0):20260216" })
        }
    }

    @Test func `what leaves a reader's box is removed for it`() async throws {
        try await RunningStream.with { stream async throws in
            stream.publish([.sample("T1")], tick: 0)
            let reader = try stream.open("?bbox=-123,47.4,-122,47.55")
            #expect(try await reader.next().ids.count == 1)
            stream.publish([.sample("T1", latitude: 47.6)], tick: 1)
            #expect(try await reader.next().name == "remove")
            stream.publish([.sample("T1", latitude: 47.7)], tick: 2)
            stream.publish([.sample("T1", latitude: 47.5)], tick: 3)
            #expect(try await reader.next().name == "update")
        }
    }

    @Test(arguments: [
        "?source=agency", "?source=x", "?bbox=1,2,3", "?bbox=1,2,3,x", "?bbox=2,0,1,1",
        "?bbox=0,2,1,1", "?bbox=-181,0,1,1", "?bbox=0,0,1,91", "?bbox=nan,0,1,1", "?bbox=1,2,3,4,5",
    ])
    func `bad parameters are 400`(query: String) async throws {
        try await RunningStream.with { stream async throws in
            let client = HTTPClient()
            let url = "http://127.0.0.1:\(stream.port)/gtfs-rt/stream\(query)"
            #expect(try await client.get(url).status == 400)
            client.close()
        }
    }

    @Test func `a reader beyond the limit is asked to come again`() async throws {
        try await RunningStream.with(maximumReaders: 1) { stream async throws in
            stream.publish([.sample("T1")], tick: 0)
            let first = try stream.open()
            _ = try await first.next()
            let second = try stream.open()
            #expect(try await second.head().hasPrefix("HTTP/1.1 503"))
        }
    }

    @Test(arguments: [1, 5000, .max])
    func `a reader is told in pieces that make up the whole`(size: Int) {
        let board = FeedBoard()
        let publisher = FeedPublisher(FeedPublisher.Sources(), board: board, metrics: Metrics())
        func state(_ second: Int64, after last: StreamTick?) -> StreamTick {
            let estimates = (0..<40 - second).map { index in
                TripEstimate.sample(TripID("T\(index)"), latitude: 47.5 + Double(second) / 100)
            }
            publisher.heard(Estimates.sample(sequence: UInt64(second) + 1, estimates).encoded())
            publisher.tick(at: now + second)
            return StreamTick(
                board.feed(.vehiclePositions),
                number: UInt64(second) + 1,
                after: last
            )
        }
        let first = state(0, after: nil)
        let second = state(1, after: first)
        #expect(second.changes.count == 40)
        var here = StreamFilter()
        here.routeID = "R1"
        var nowhere = StreamFilter()
        nowhere.routeID = "R2"
        func told(
            _ tick: StreamTick,
            _ isSnapshot: Bool,
            _ filter: StreamFilter,
            _ size: Int
        )
            -> [[UInt8]]
        {
            var telling = StreamTelling(of: tick, isSnapshot: isSnapshot)
            var pieces: [[UInt8]] = []
            while !telling.isEnded { pieces.append(telling.next(size, of: tick, for: filter)) }
            return pieces
        }
        for (filter, isAll) in [(here, true), (nowhere, false)] {
            for (tick, isSnapshot) in [(first, true), (second, false)] {
                let pieces = told(tick, isSnapshot, filter, size)
                #expect(pieces.allSatisfy { $0.count < max(size, size &+ 2000) })
                let whole = told(tick, isSnapshot, filter, .max)
                #expect(whole == [Array(pieces.joined())])
                #expect(whole[0].isEmpty == !(isSnapshot || isAll))
            }
        }
    }

    @Test(arguments: [nil, "R1"] as [RouteID?])
    func `who stops reading holds a piece, not the whole`(route: RouteID?) async throws {
        let board = FeedBoard()
        let publisher = FeedPublisher(FeedPublisher.Sources(), board: board, metrics: Metrics())
        let many = (0..<1000).map { TripEstimate.sample(TripID("T\($0)")) }
        publisher.heard(Estimates.sample(sequence: 1, many).encoded())
        publisher.tick(at: now)
        let hub = StreamHub(maximumReaders: 1, metrics: Metrics()) { board.feed(.vehiclePositions) }
        var filter = StreamFilter()
        filter.routeID = route
        let reader = try #require(hub.join(filter))
        try await eventually("the first state is made") { hub.newest != nil }
        guard case .bytes(let piece) = reader.next() else {
            Issue.record("nothing came")
            return
        }
        #expect((32 << 10..<34 << 10).contains(piece.count))
        var total = piece.count
        while case .bytes(let piece) = reader.next() { total += piece.count }
        #expect(total > 200_000)
    }

    @Test func `one that is more than two states behind starts over`() async throws {
        let board = FeedBoard()
        let publisher = FeedPublisher(FeedPublisher.Sources(), board: board, metrics: Metrics())
        let metrics = Metrics()
        let hub = StreamHub(maximumReaders: 3, metrics: metrics) { board.feed(.vehiclePositions) }
        func tick(_ second: Int64) {
            let estimate = TripEstimate.sample(latitude: 47 + Double(second) / 10)
            publisher.heard(Estimates.sample(sequence: UInt64(second) + 1, [estimate]).encoded())
            publisher.tick(at: now + second)
            hub.feedChanged()
        }
        func text(_ piece: StreamPiece) -> String {
            guard case .bytes(let bytes) = piece else { return "nothing" }
            return String(decoding: bytes.bytes, as: UTF8.self)
        }
        tick(0)
        let slow = try #require(hub.join(StreamFilter()))
        try await eventually("the first state is made") { hub.newest != nil }
        #expect(text(slow.next()).contains("event: snapshot"))
        #expect(text(slow.next()) == "nothing")
        tick(1)
        tick(2)
        #expect(text(slow.next()).contains("event: update"))
        #expect(text(slow.next()).contains("event: update"))
        #expect(text(slow.next()) == "nothing")
        for second in 3...5 as ClosedRange<Int64> { tick(second) }
        #expect(text(slow.next()).contains("event: snapshot"))
        #expect(text(slow.next()) == "nothing")
        #expect(metrics.rendered().contains("stream_restarts_total 1\n"))
        slow.end()
        #expect(metrics.rendered().contains("stream_readers_items 0.0\n"))
    }

    @Test func `the server's end ends the stream`() async throws {
        try await RunningStream.with { stream async throws in
            stream.publish([.sample("T1")], tick: 0)
            let reader = try stream.open()
            _ = try await reader.next()
        }
    }

    @Test func `readers who stop reading hold nobody up`() async throws {
        try await RunningStream.with { stream async throws in
            let many = (0..<300).map { TripEstimate.sample(TripID("T\($0)")) }
            stream.publish(many, tick: 0)
            let stuck = try stream.open()
            let reader = try stream.open()
            #expect(try await reader.next().ids.count == 300)
            for tick in 1...20 as ClosedRange<Int64> {
                stream.publish(
                    many.map { estimate in
                        var moved = estimate
                        moved.latitude += Double(tick) / 1000
                        return moved
                    },
                    tick: tick
                )
                var updates = 0
                while updates < 300 {
                    let event = try await reader.next()
                    updates += event.name == "snapshot" ? 300 : 1
                }
            }
            _ = stuck
        }
    }
}
