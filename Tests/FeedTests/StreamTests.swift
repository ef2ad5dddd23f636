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

    /// A running stream.
    struct Running: Sendable {
        let port: Int
        let publisher: FeedPublisher
        let hub: StreamHub
        let metrics: Metrics

        /// Brings the estimates of slot 1 into the feed.
        func publish(_ estimates: [TripEstimate], tick: Int64) {
            publisher.heard(
                Estimates.sample(sequence: UInt64(tick) + 1, estimates).encoded()
            )
            publisher.tick(at: TripEstimate.now + tick)
        }

        func open(_ query: String = "") throws -> EventReader {
            try EventReader(port: port, path: "/gtfs-rt/stream\(query)")
        }
    }

    private func withStream(
        maximumReaders: Int = 10,
        _ body: (Running) async throws -> Void
    ) async throws {
        let metrics = Metrics()
        let board = FeedBoard()
        let publisher = FeedPublisher(FeedPublisher.Sources(), board: board, metrics: metrics)
        let hub = StreamHub(maximumReaders: maximumReaders, metrics: metrics) {
            board.feed(.vehiclePositions)
        }
        board.onChange { kind in if kind == .vehiclePositions { hub.feedChanged() } }
        let endpoint = StreamEndpoint(
            board: board,
            hub: hub,
            access: .anyone,
            includesAgency: false
        ).endpoint
        let server = try HTTPServer(endpoints: [endpoint], metrics: metrics)
        let port = try server.start()
        let running = Running(port: port, publisher: publisher, hub: hub, metrics: metrics)
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(running)) } catch { outcome = .failure(error) }
        await server.shutdown(within: .seconds(5))
        try outcome.get()
    }

    @Test func `first a snapshot, then what changes`() async throws {
        try await withStream { stream async throws in
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
        try await withStream { stream async throws in
            stream.publish([.sample("T1"), .sample("T2", latitude: 47.6)], tick: 0)
            let reader = try stream.open(query)
            let snapshot = try await reader.next()
            #expect(snapshot.ids == trips.map { "rider:\($0):20260216" })
        }
    }

    @Test func `what leaves a reader's box is removed for it`() async throws {
        try await withStream { stream async throws in
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
        try await withStream { stream async throws in
            let client = HTTPClient()
            let url = "http://127.0.0.1:\(stream.port)/gtfs-rt/stream\(query)"
            #expect(try await client.get(url).status == 400)
            client.close()
        }
    }

    @Test func `a reader beyond the limit is asked to come again`() async throws {
        try await withStream(maximumReaders: 1) { stream async throws in
            stream.publish([.sample("T1")], tick: 0)
            let first = try stream.open()
            _ = try await first.next()
            let second = try stream.open()
            #expect(try await second.head().hasPrefix("HTTP/1.1 503"))
        }
    }

    @Test(arguments: [1, 5000, .max])
    func `a reader with a filter of its own is told in pieces that make up the whole`(size: Int) {
        let board = FeedBoard()
        let publisher = FeedPublisher(FeedPublisher.Sources(), board: board, metrics: Metrics())
        func state(_ second: Int64, after last: StreamTick?) -> StreamTick {
            let estimates = (0..<40 - second).map { index in
                TripEstimate.sample(TripID("T\(index)"), latitude: 47.5 + Double(second) / 100)
            }
            publisher.heard(Estimates.sample(sequence: UInt64(second) + 1, estimates).encoded())
            publisher.tick(at: now + second)
            return StreamTick(board.feed(.vehiclePositions), after: last)
        }
        let first = state(0, after: nil)
        let second = state(1, after: first)
        #expect(second.changes.count == 40)
        var here = StreamFilter()
        here.routeID = "R1"
        var nowhere = StreamFilter()
        nowhere.routeID = "R2"
        for (filter, isAll) in [(here, true), (nowhere, false)] {
            for (pieces, isEvent) in [
                (first.snapshot(filter), true), (second.update(filter), isAll),
            ] {
                var rest = pieces
                var told: [UInt8] = []
                while let piece = rest.next(size) {
                    #expect(!piece.isEmpty && piece.count < max(size, size &+ 2000))
                    told += piece
                }
                #expect(told == pieces.whole)
                #expect(told.isEmpty != isEvent)
            }
        }
    }

    @Test func `who stops reading with a filter of its own holds a piece, not the whole`() throws {
        let board = FeedBoard()
        let publisher = FeedPublisher(FeedPublisher.Sources(), board: board, metrics: Metrics())
        let many = (0..<1000).map { TripEstimate.sample(TripID("T\($0)")) }
        publisher.heard(Estimates.sample(sequence: 1, many).encoded())
        publisher.tick(at: now)
        let hub = StreamHub(maximumReaders: 1, metrics: Metrics()) { board.feed(.vehiclePositions) }
        var filter = StreamFilter()
        filter.routeID = "R1"
        let reader = try #require(hub.join(filter))
        hub.feedChanged()
        guard case .bytes(let piece) = reader.next() else {
            Issue.record("nothing came")
            return
        }
        #expect((32 << 10..<34 << 10).contains(piece.count))
        var total = piece.count
        while case .bytes(let piece) = reader.next() { total += piece.count }
        #expect(total > 200_000)
    }

    @Test func `one that is more than two states behind starts over`() throws {
        let board = FeedBoard()
        let publisher = FeedPublisher(FeedPublisher.Sources(), board: board, metrics: Metrics())
        let metrics = Metrics()
        let hub = StreamHub(maximumReaders: 3, metrics: metrics) { board.feed(.vehiclePositions) }
        let slow = try #require(hub.join(StreamFilter()))
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
        try await withStream { stream async throws in
            stream.publish([.sample("T1")], tick: 0)
            let reader = try stream.open()
            _ = try await reader.next()
        }
    }

    @Test func `readers who stop reading hold nobody up`() async throws {
        try await withStream { stream async throws in
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

/// Reads server-sent events of a chunked answer.
final class EventReader {
    struct Event {
        let name: String
        let object: [String: Any]

        /// The ids of a snapshot's entities.
        var ids: [String] {
            (object["entity"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String }
        }
    }

    private struct Closed: Error {}

    private let socket: Int32
    private var received: [UInt8] = []
    private var text: [UInt8] = []
    private var headText: String?

    /// Connects and asks.
    init(port: Int, path: String, headers: String = "") throws {
        socket = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(socket, $0, size) }
        }
        guard status == 0 else { throw Closed() }
        HostileServer.send(socket, "GET \(path) HTTP/1.1\r\nHost: t\r\n\(headers)\r\n")
    }

    deinit { _ = close(socket) }

    /// What has come, at least one byte; waits off the cooperative pool.
    private func receive() async throws -> [UInt8] {
        let socket = socket
        let bytes: [UInt8] = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                var buffer = [UInt8](repeating: 0, count: 65_536)
                let count = recv(socket, &buffer, buffer.count, 0)
                continuation.resume(returning: Array(buffer.prefix(max(0, count))))
            }
        }
        guard !bytes.isEmpty else { throw Closed() }
        return bytes
    }

    func head() async throws -> String {
        if let headText { return headText }
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let range = received.firstRange(of: end) {
                let head = String(decoding: received[..<range.lowerBound], as: UTF8.self)
                received.removeSubrange(..<range.upperBound)
                headText = head
                return head
            }
            received += try await receive()
        }
    }

    /// Whether the server has said that nothing more comes; waits for it.
    func isOver() async throws -> Bool {
        let end = Array("0\r\n\r\n".utf8)
        while !received.starts(with: end) {
            if received.isEmpty { received += try await receive() } else { try await readChunk() }
        }
        return true
    }

    /// The next event; comments are passed over.
    func next() async throws -> Event {
        _ = try await head()
        let end = Array("\n\n".utf8)
        while true {
            if let range = text.firstRange(of: end) {
                let block = String(decoding: text[..<range.lowerBound], as: UTF8.self)
                text.removeSubrange(..<range.upperBound)
                if let event = Self.event(block) { return event }
                continue
            }
            try await readChunk()
        }
    }

    private func readChunk() async throws {
        while true {
            if let line = received.firstRange(of: Array("\r\n".utf8)),
                let size = Int(
                    String(decoding: received[..<line.lowerBound], as: UTF8.self),
                    radix: 16
                ),
                received.count >= line.upperBound + size + 2
            {
                text += received[line.upperBound..<(line.upperBound + size)]
                received.removeSubrange(..<(line.upperBound + size + 2))
                return
            }
            received += try await receive()
        }
    }

    private static func event(_ block: String) -> Event? {
        var name = ""
        var data = ""
        for line in block.split(separator: "\n") {
            if line.hasPrefix("event: ") { name = String(line.dropFirst(7)) }
            if line.hasPrefix("data: ") { data = String(line.dropFirst(6)) }
        }
        guard !name.isEmpty,
            let object = try? JSONSerialization.jsonObject(with: Data(data.utf8)) as? [String: Any]
        else { return nil }
        return Event(name: name, object: object)
    }
}
