import Messages
import Telemetry
import Transit
import Web

@testable import FeedService

/// `/gtfs-rt/stream` on a real server, with the publisher that feeds it.
struct RunningStream: Sendable {
    let port: Int
    let publisher: FeedPublisher
    let hub: StreamHub
    let metrics: Metrics

    /// Brings the estimates of slot 1 into the feed.
    func publish(_ estimates: [TripEstimate], tick: Int64) {
        publisher.heard(Estimates.sample(sequence: UInt64(tick) + 1, estimates).encoded())
        publisher.tick(at: TripEstimate.now + tick)
    }

    func open(_ query: String = "", receiveBuffer: Int32? = nil) throws -> EventReader {
        try EventReader(
            port: port,
            path: "/gtfs-rt/stream\(query)",
            receiveBuffer: receiveBuffer
        )
    }

    /// Runs a server for as long as `body` takes.
    static func with(
        maximumReaders: Int = 10,
        _ body: (RunningStream) async throws -> Void
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
        var configuration = HTTPServerConfiguration()
        // On a busy machine a test's own reader may take nothing for longer than is allowed elsewhere.
        configuration.streamStallLimit = .seconds(300)
        let server = try HTTPServer(
            endpoints: [endpoint],
            configuration: configuration,
            metrics: metrics
        )
        let port = try server.start()
        let running = RunningStream(port: port, publisher: publisher, hub: hub, metrics: metrics)
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(running)) } catch { outcome = .failure(error) }
        await server.shutdown(within: .seconds(5))
        try outcome.get()
    }
}
