import Messages
import RealtimeFeed
import Telemetry
import Testing
import Transit
import Web

@testable import FeedService

/// `GET /gtfs-rt/vehicle-positions` as readers see it.
@Suite(.timeLimit(.minutes(1))) struct FeedEndpointTests {
    /// A running feed.
    struct Process: Sendable {
        let port: Int
        let client: HTTPClient
        let publisher: FeedPublisher
        let metrics: Metrics

        func get(
            _ query: String = "",
            headers: [(String, String)] = [("Accept-Encoding", "identity")]
        ) async throws -> HTTPClientResponse {
            try await client.get(
                "http://127.0.0.1:\(port)/gtfs-rt/vehicle-positions\(query)",
                headers: headers
            )
        }

        func message(_ query: String = "") async throws -> FeedMessage {
            try FeedMessage(decoding: try await get(query).body)
        }
    }

    private func withFeed(
        _ estimates: [TripEstimate] = [.sample()],
        sources: FeedPublisher.Sources = FeedPublisher.Sources(),
        _ body: (Process) async throws -> Void
    ) async throws {
        let metrics = Metrics()
        let publisher = FeedPublisher(sources, metrics: metrics)
        publisher.heard(Estimates.sample(estimates).encoded())
        publisher.tick(at: TripEstimate.now)
        let server = try HTTPServer(
            endpoints: FeedEndpoints(
                board: publisher.board,
                includesAgency: sources.rules.includesAgency
            ).all
        )
        let client = HTTPClient()
        let outcome: Result<Void, any Error>
        do {
            let port = try server.start()
            let process = Process(
                port: port,
                client: client,
                publisher: publisher,
                metrics: metrics
            )
            outcome = .success(try await body(process))
        } catch {
            outcome = .failure(error)
        }
        client.close()
        await server.shutdown(within: .seconds(1))
        try outcome.get()
    }

    @Test(arguments: [
        ("", "application/x-protobuf"), ("?format=protobuf", "application/x-protobuf"),
        ("?format=pb", "application/x-protobuf"), ("?format=json", "application/json"),
        ("?format=geojson", "application/geo+json"),
        ("?source=rider&format=json", "application/json"),
    ])
    func `each format has its media type`(query: String, type: String) async throws {
        try await withFeed { feed async throws in
            let answer = try await feed.get(query)
            #expect(answer.status == 200)
            #expect(answer.headers.first("Content-Type") == type)
            #expect(answer.headers.first("Cache-Control") == "no-cache")
        }
    }

    @Test(arguments: [("", 1), ("?source=", 1), ("?source=all", 1), ("?source=rider", 1)])
    func `these sources hold the riders' estimates`(query: String, count: Int) async throws {
        try await withFeed { feed async throws in
            let message = try await feed.message(query)
            #expect(message.entities.map(\.id) == ["rider:T1:20260216"])
            #expect(message.header.timestamp == UInt64(TripEstimate.now))
        }
    }

    @Test func `drivers alone are an empty valid feed`() async throws {
        try await withFeed { feed async throws in
            let message = try await feed.message("?source=driver")
            #expect(message.entities.isEmpty)
            #expect(message.complianceFindings(now: UInt64(TripEstimate.now)).isEmpty)
        }
    }

    @Test func `source and format combine`() async throws {
        try await withFeed { feed async throws in
            let id = "rider:T1:20260216"
            #expect(try await feed.get("?source=rider&format=json").text.contains(id))
            #expect(try await feed.get("?source=rider&format=geojson").text.contains(id))
            #expect(!(try await feed.get("?source=driver&format=json").text.contains(id)))
            #expect(!(try await feed.get("?source=driver&format=geojson").text.contains(id)))
        }
    }

    @Test(arguments: ["x", "ALL", "rider,driver"])
    func `another source is 400`(source: String) async throws {
        try await withFeed { feed async throws in
            let answer = try await feed.get("?source=\(source)")
            #expect(answer.status == 400)
            #expect(answer.text == "{\"error\":\"invalid source\",\"code\":\"source.invalid\"}")
        }
    }

    @Test func `a reader who has the feed gets 304 until it changes`() async throws {
        try await withFeed { feed async throws in
            let first = try await feed.get()
            let tag = try #require(first.headers.first("ETag"))
            let condition = [("Accept-Encoding", "identity"), ("If-None-Match", tag)]
            feed.publisher.tick(at: TripEstimate.now + 14)
            let same = try await feed.get(headers: condition)
            #expect(same.status == 304)
            #expect(same.body.isEmpty)
            #expect(same.headers.first("ETag") == tag)
            feed.publisher.tick(at: TripEstimate.now + 15)
            let dated = try await feed.get(headers: condition)
            #expect(dated.status == 200)
            #expect(dated.headers.first("ETag") != tag)
        }
    }

    @Test func `a large feed comes gzipped to those who take it`() async throws {
        let estimates = (0..<100).map { TripEstimate.sample(TripID("T\($0)")) }
        try await withFeed(estimates) { feed async throws in
            for format in FeedFormat.allCases {
                let query = "?format=\(format.rawValue)"
                // The first to ask for a form may get it uncompressed; from the next feed on it is ready.
                _ = try await feed.get(query)
            }
            feed.publisher.tick(at: TripEstimate.now + 15)
            for format in FeedFormat.allCases {
                let query = "?format=\(format.rawValue)"
                let plain = try await feed.get(query)
                #expect(plain.headers.first("Content-Encoding") == nil)
                #expect(plain.headers.first("Vary") == "Accept-Encoding")
                let packed = try await feed.get(query, headers: [("Accept-Encoding", "gzip")])
                #expect(packed.headers.first("Content-Encoding") == "gzip")
                #expect(packed.headers.first("ETag") != plain.headers.first("ETag"))
                // The client inflates what it receives.
                #expect(packed.body == plain.body)
            }
        }
    }

    @Test func `an estimate leaves the feed after 90 seconds without word`() async throws {
        try await withFeed { feed async throws in
            feed.publisher.tick(at: TripEstimate.now + 90)
            #expect(try await feed.message().entities.count == 1)
            feed.publisher.tick(at: TripEstimate.now + 91)
            #expect(try await feed.message().entities.isEmpty)
        }
    }

    @Test func `counts what it withholds and what it cannot read`() async throws {
        try await withFeed([.sample(latitude: 91)]) { feed async throws in
            #expect(try await feed.message().entities.isEmpty)
            feed.publisher.heard([0xFF, 0xFF])
            let text = feed.metrics.rendered()
            #expect(text.contains("feed_entities_withheld_total{rule=\"E026\"} 1\n"))
            #expect(text.contains("feed_messages_undecodable_total 1\n"))
            #expect(text.contains("feed_builds_total 1\n"))
            #expect(text.contains("feed_entities_items{feed=\"vehicle-positions\"} 0.0\n"))
        }
    }
}
