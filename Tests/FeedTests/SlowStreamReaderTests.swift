import Foundation
import Messages
import Telemetry
import TestKit
import Testing
import Transit
import Web

@testable import FeedService

/// Readers of `/gtfs-rt/stream` who are never silent and never fast: they cost their connections, not states.
@Suite(.timeLimit(.minutes(2))) struct SlowStreamReaderTests {
    /// A state that is counted without being kept.
    private struct Witness {
        weak var state: StreamTick?
    }

    private static let trips = (0..<400).map { TripID("T\($0)") }
    private static let ids = Set(trips.map { "rider:\($0):20260216" })

    /// Whether each vehicle of the fleet is there once.
    private static func isWhole(_ found: [String]) -> Bool {
        found.count == ids.count && Set(found) == ids
    }

    /// The fleet as it is that many seconds later.
    private func fleet(_ second: Int64) -> [TripEstimate] {
        Self.trips.map { trip in
            .sample(trip, latitude: 47.5 + Double(second) / 1000, at: TripEstimate.now + second)
        }
    }

    @Test(arguments: ["", "?route_id=R1"])
    func `however many trickle, few states are kept, and each gets whole snapshots`(
        query: String
    ) async throws {
        try await RunningStream.with(maximumReaders: 20) { stream async throws in
            var readers: [EventReader] = []
            var states: [Witness] = []
            for second in 0..<8 as Range<Int64> {
                stream.publish(fleet(second), tick: second)
                readers.append(try stream.open(query, receiveBuffer: 4096))
                for reader in readers { try await reader.trickle() }
                states.append(Witness(state: stream.hub.newest))
            }
            // Each of the eight is in the middle of a snapshot that it began in another second.
            #expect(stream.hub.readerCount == 8)
            #expect(states.count { $0.state != nil } <= 4)
            let snapshot = try await readers[0].next()
            #expect(snapshot.name == "snapshot")
            #expect(Self.isWhole(snapshot.ids))
            #expect(try #require(snapshot.times.max()) <= snapshot.headerTime)
            #expect(stream.hub.moves.value > 0)
            // Who was left behind starts over with what is the newest by then.
            let next = try await readers[0].next()
            #expect(next.name == "snapshot")
            #expect(Set(next.times) == [TripEstimate.now + 7])
        }
    }

    @Test(arguments: [2, 3] as [Int64], [nil, "R1"] as [RouteID?])
    func `a snapshot goes on in a newer state once its own is gone`(
        states: Int64,
        route: RouteID?
    ) async throws {
        let board = FeedBoard()
        let publisher = FeedPublisher(FeedPublisher.Sources(), board: board, metrics: Metrics())
        let hub = StreamHub(maximumReaders: 1, metrics: Metrics()) { board.feed(.vehiclePositions) }
        var filter = StreamFilter()
        filter.routeID = route
        func publish(_ estimates: [TripEstimate], second: Int64) {
            publisher.heard(Estimates.sample(sequence: UInt64(second) + 1, estimates).encoded())
            publisher.tick(at: TripEstimate.now + second)
            hub.feedChanged()
        }
        publish(fleet(0), second: 0)
        let reader = try #require(hub.join(filter))
        try await eventually("the first state is made") { hub.newest != nil }
        func piece() throws -> String {
            guard case .bytes(let bytes) = reader.next() else { throw Late("nothing came") }
            return String(decoding: bytes.bytes, as: UTF8.self)
        }
        func snapshot(_ begun: String = "") throws -> EventReader.Event {
            var text = begun
            repeat { text += try piece() } while !text.hasSuffix("\n\n")
            return try #require(EventReader.event(text))
        }

        let begun = try piece()
        #expect(begun.contains("rider:T0:20260216") && !begun.contains("rider:T399:"))
        for second in 1...states {
            // The first was told and the last was not; another comes in behind what was told.
            let later = fleet(second).dropFirst().dropLast()
            let new = TripEstimate.sample("T99x", at: TripEstimate.now + second)
            publish(later + [new], second: second)
        }
        let first = try snapshot(begun)
        guard states > StreamHub.patience else {
            // Within patience it is the state in which it began, and what changed follows.
            #expect(Self.isWhole(first.ids))
            #expect(Set(first.times) == [TripEstimate.now])
            #expect(first.headerTime == TripEstimate.now)
            #expect(try piece().hasPrefix("id: 2\nevent: update\n"))
            return
        }
        let now = TripEstimate.now + states
        let found = Set(first.ids)
        #expect(found.count == first.ids.count)
        #expect(Self.ids.subtracting(found) == ["rider:T399:20260216"])
        #expect(found.subtracting(Self.ids) == ["rider:T99x:20260216"])
        #expect(Set(first.times) == [TripEstimate.now, now])
        #expect(first.headerTime == now)
        let next = try snapshot()
        #expect(next.name == "snapshot")
        #expect(!next.ids.contains("rider:T0:20260216") && next.ids.count == 399)
        #expect(Set(next.times) == [now])
        guard case .wait = reader.next() else {
            Issue.record("more came")
            return
        }
        reader.end()
    }

    @Test func `changes of a state that is gone give way to a snapshot`() async throws {
        let board = FeedBoard()
        let publisher = FeedPublisher(FeedPublisher.Sources(), board: board, metrics: Metrics())
        let hub = StreamHub(maximumReaders: 1, metrics: Metrics()) { board.feed(.vehiclePositions) }
        func publish(_ second: Int64) {
            publisher.heard(
                Estimates.sample(sequence: UInt64(second) + 1, fleet(second)).encoded()
            )
            publisher.tick(at: TripEstimate.now + second)
            hub.feedChanged()
        }
        publish(0)
        let reader = try #require(hub.join(StreamFilter()))
        try await eventually("the first state is made") { hub.newest != nil }
        func piece() -> String {
            guard case .bytes(let bytes) = reader.next() else { return "" }
            return String(decoding: bytes.bytes, as: UTF8.self)
        }
        while !piece().isEmpty {}
        publish(1)
        let changes = piece()
        #expect(changes.hasPrefix("id: 2\nevent: update\n") && changes.hasSuffix("\n\n"))
        for second in 2...4 as ClosedRange<Int64> { publish(second) }
        #expect(piece().hasPrefix("id: 5\nevent: snapshot\n"))
        reader.end()
    }
}

extension EventReader.Event {
    /// The times of a snapshot's vehicles.
    fileprivate var times: [UnixSeconds] {
        (object["entity"] as? [[String: Any]] ?? []).compactMap { entity in
            ((entity["vehicle"] as? [String: Any])?["timestamp"] as? String).flatMap(Int64.init)
        }
    }

    /// The time that a snapshot's header says.
    fileprivate var headerTime: UnixSeconds {
        ((object["header"] as? [String: Any])?["timestamp"] as? String).flatMap(Int64.init) ?? 0
    }
}
