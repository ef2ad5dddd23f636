import Synchronization
import Telemetry
import Testing
import Transit

@testable import Schedule

@Suite(.timeLimit(.minutes(3))) struct ScheduleSourceTests {
    /// What an address answers, one after the other.
    private final class Server: Sendable {
        struct Down: Error {}
        let answers: Mutex<[[UInt8]?]>
        let waits = Mutex<[Duration]>([])

        init(_ answers: [[UInt8]?]) { self.answers = Mutex(answers) }

        func answer() throws -> [UInt8] {
            let next = answers.withLock { $0.isEmpty ? nil : $0.removeFirst() }
            guard let next else { throw Down() }
            return next
        }
    }

    private func source(_ server: Server) -> ScheduleSource {
        ScheduleSource(
            location: "https://example.org/gtfs.zip",
            fetch: { _ in try server.answer() },
            now: { 1_788_332_400 },
            logger: .silent,
            sleep: { duration in
                server.waits.withLock { $0.append(duration) }
                if server.answers.withLock({ $0.isEmpty }) { throw CancellationError() }
            }
        )
    }

    private func zip(without trip: String? = nil) throws -> [UInt8] {
        guard let trip else { return try FixtureFeed.zip() }
        let lines = FixtureFeed.text("trips.txt").split(separator: "\n")
        let kept = lines.filter { !$0.contains(",\(trip),") }.joined(separator: "\n")
        return try FixtureFeed.zip(["trips.txt": kept])
    }

    @Test func `swaps the schedule and lets the old one live`() async throws {
        let source = source(Server([try zip(), try zip(without: "T1")]))
        #expect(source.current == nil)
        try await source.load()
        let first = try #require(source.current)
        #expect(first.loadedAt == 1_788_332_400)
        #expect(first.contentHash.utf8.count == 16)
        let ridden = try #require(first.index.trip("T1"))
        await source.refresh()
        let second = try #require(source.current)
        #expect(second.index.tripIDs == ["T2", "T3"])
        #expect(second.contentHash != first.contentHash)
        #expect(ridden.stopTimes.count == 3)
        #expect(first.index.trip("T1") === ridden)
    }

    @Test func `keeps the schedule when a refresh fails or brings nothing new`() async throws {
        let server = Server([try zip(), nil, [0x50, 0x4B], try zip()])
        let source = source(server)
        try await source.load()
        let first = try #require(source.current)
        await source.run(every: .seconds(600))
        #expect(source.current?.index === first.index)
        #expect(server.waits.withLock { $0 } == Array(repeating: .seconds(600), count: 4))
    }

    @Test func `says why a first load failed`() async throws {
        let down = source(Server([]))
        let error = await #expect(throws: ScheduleError.self) { try await down.load() }
        #expect(error?.description == "https://example.org/gtfs.zip: it cannot be fetched: Down()")
        #expect(down.current == nil)
    }

    @Test func `reads a path`() async throws {
        let source = ScheduleSource(
            location: RecordedFeeds.path("israel-route-2126.gtfs"),
            fetch: { _ in [] },
            now: { 0 },
            logger: .silent
        )
        try await source.load()
        #expect(source.current?.index.tripIDs.count == 4)
        let missing = ScheduleSource(
            location: "/nowhere/at/all.zip",
            fetch: { _ in [] },
            now: { 0 },
            logger: .silent
        )
        let error = await #expect(throws: ScheduleError.self) { try await missing.load() }
        #expect(error?.description == "all.zip: it cannot be opened: No such file or directory")
    }
}
