import Foundation
import Synchronization
import Testing

@testable import VehiclePositionsKit

/// A ride goes on in the next process of an app, where its host wants that.
@Suite(.timeLimit(.minutes(1))) struct RideResumeTests {
    final class Journal: RideJournal {
        private let kept = Mutex<(data: Data?, saves: Int)>((nil, 0))

        var saves: Int { kept.withLock { $0.saves } }
        func load() -> Data? { kept.withLock { $0.data } }
        func save(_ ride: Data) { kept.withLock { $0 = (ride, $0.saves + 1) } }
        func clear() { kept.withLock { $0.data = nil } }
    }

    static let epoch = Date(timeIntervalSince1970: 1_800_000_000)

    let journal = Journal()
    let credentials = RiderCredentials(
        installationID: RideFixture.installationID,
        riderID: "rider-1",
        token: "token-1"
    )

    /// A reporter of the app's first process, or of one that many seconds later.
    ///
    /// Each has a clock of its own: a process whose clock stands still is as good as ended.
    func process(
        later seconds: Double = 0,
        _ credentials: RiderCredentials? = nil,
        _ configure: (inout RideReporterConfiguration) -> Void = { _ in }
    ) throws -> RideFixture {
        try RideFixture(
            credentials: credentials ?? self.credentials,
            clock: ManualRideClock(now: Self.epoch.addingTimeInterval(seconds))
        ) {
            $0.journal = journal
            configure(&$0)
        }
    }

    /// Starts a ride and leaves it after six seconds and five fixes, of which the last was not saved.
    func leaveBehind() async throws {
        let ride = try process()
        let destination = #"{"stop_id":"S","latitude":47.61,"longitude":-122.33}"#
        let started = RiderResponse(
            status: 201,
            body: Data(FakeRideTransport.started(batch: 20, destination: destination).utf8),
            acceptsGzip: true
        )
        await ride.transport.always(.start, .full(started))
        await ride.transport.always(.positions, .deaf)
        _ = try await ride.start()
        await ride.locations.feed(ride.fixes(1))
        ride.clock.advance(seconds: 4)
        await ride.locations.feed(ride.fixes(2, from: 200))
        await ride.clock.sleeper(of: .seconds(5))
        ride.clock.advance(seconds: 2)
        await ride.transport.arrival(of: .positions)
        await ride.locations.feed(ride.fixes(1, from: 400))
        #expect(journal.load() != nil)
    }

    @Test func `a ride goes on with its positions, its destination and its id`() async throws {
        try await leaveBehind()
        let next = try process(later: 306)
        let stream = try #require(try await next.reporter.resume())
        #expect(await next.reporter.currentState == .pending)
        #expect(next.locations.handles.count == 1)
        next.locations.send(next.fixes(1, from: 1112))
        let events = await stream.all()
        #expect(events.first == .started(rideID: "ride-1"))
        guard case .ended(.arrived, let summary) = events.last else {
            Issue.record("\(events)")
            return
        }
        #expect(summary != nil)
        // The first fix of the first process is the start of the way to the destination.
        let times = try await next.uploadedTimes().flatMap { $0 }
        let first = Int64(Self.epoch.timeIntervalSince1970)
        #expect(times.map { $0 - first } == [0, 4, 5, 306])
        let uploads = await next.transport.requests(.positions)
        #expect(uploads.allSatisfy { $0.path.contains("/ride-1/") && $0.bearerToken == "token-1" })
        #expect(uploads.allSatisfy { $0.contentEncoding == "gzip" })
        #expect(await next.transport.requests(.start).isEmpty)
        #expect(await next.transport.requests(.register).isEmpty)
        #expect(journal.load() == nil)
    }

    @Test func `what was acknowledged is not sent again`() async throws {
        let first = try process()
        _ = try await first.start()
        await first.locations.feed(first.fixes(2))
        await first.clock.pass(.seconds(5))
        await first.clock.sleeper(of: .seconds(5))
        first.clock.advance(seconds: 4)
        await first.locations.feed(first.fixes(1))
        await first.clock.sleeper(of: .seconds(5))
        first.clock.advance(seconds: 1)
        await first.transport.arrival(of: .positions, count: 2)
        let next = try process(later: 12)
        let stream = try #require(try await next.reporter.resume())
        await next.locations.feed(next.fixes(1))
        await next.reporter.end()
        // The third fix of the first process may have been on its way: it goes out once more.
        #expect(try await next.uploads().reduce(0, +) == 2)
        #expect(await stream.ending() == .userRequested)
    }

    @Test func `the interval that the server named goes on`() async throws {
        let first = try process()
        let slower = FakeRideTransport.accepted()
            .replacingOccurrences(of: "\"ended\"", with: "\"report_interval_seconds\":15,\"ended\"")
        await first.transport.always(.positions, .answer(200, slower))
        _ = try await first.start()
        await first.locations.feed(first.fixes(1))
        await first.clock.pass(.seconds(5))
        await first.clock.sleeper(of: .seconds(15))
        first.clock.advance(seconds: 5)
        await first.locations.feed(first.fixes(1))
        let next = try process(later: 20)
        _ = try #require(try await next.reporter.resume())
        await next.clock.sleeper(of: .seconds(15))
        // Every third second counts.
        await next.locations.feed(next.fixes(9))
        await next.reporter.end()
        #expect(try await next.uploads() == [4])
    }

    @Test func `who ends the start under way goes on with no older ride either`() async throws {
        try await leaveBehind()
        let next = try process(later: 9)
        await next.transport.next(.start, .deaf)
        let start = Task { try await next.start() }
        await next.transport.arrival(of: .start)
        let resumption = Task { try await next.reporter.resume() }
        for _ in 0..<100 { await Task.yield() }
        await next.reporter.end()
        await next.transport.release()
        await #expect(throws: CancellationError.self) { try await start.value }
        await #expect(throws: CancellationError.self) { try await resumption.value }
        #expect(await next.reporter.currentState == nil)
    }

    // The first process saved the ride at its sixth second.
    @Test(arguments: [(606.0, true), (607.0, false), (6.0, true), (5.0, false)])
    func `ten minutes are the limit, and a clock that was set back is none`(
        later: Double,
        resumes: Bool
    ) async throws {
        try await leaveBehind()
        let next = try process(later: later)
        let stream = try await next.reporter.resume()
        #expect((stream != nil) == resumes)
        if !resumes { #expect(journal.load() == nil) }
        await next.reporter.end()
    }

    @Test func `there is nothing to resume for another rider, another server or no token`()
        async throws
    {
        try await leaveBehind()
        let other = try #require(URL(string: "https://other.example"))
        let elsewhere = try process(later: 9) { $0.serverURL = other }
        #expect(try await elsewhere.reporter.resume() == nil)
        // Another reporter's ride is left to it.
        let saved = try #require(journal.load())
        var stranger = credentials
        stranger.riderID = "rider-2"
        #expect(try await process(later: 9, stranger).reporter.resume() == nil)
        #expect(journal.load() == nil)
        journal.save(saved)
        stranger = credentials
        stranger.token = nil
        #expect(try await process(later: 9, stranger).reporter.resume() == nil)
        #expect(journal.load() == nil)
    }

    @Test(arguments: ["", "{}", "not json", "{\"rideID\":5}"])
    func `what cannot be read is forgotten`(text: String) async throws {
        journal.save(Data(text.utf8))
        #expect(try await process().reporter.resume() == nil)
        #expect(journal.load() == nil)
    }

    @Test func `an old ride is forgotten, whichever server's it was`() async throws {
        try await leaveBehind()
        let other = try #require(URL(string: "https://other.example"))
        let elsewhere = try process(later: 607) { $0.serverURL = other }
        #expect(try await elsewhere.reporter.resume() == nil)
        #expect(journal.load() == nil)
    }

    @Test func `numbers that no ride has are no trouble`() async throws {
        try await leaveBehind()
        let saved = try #require(journal.load())
        var kept = try JSONDecoder().decode(KeptRide.self, from: saved)
        kept.pointsAccepted = .max
        for time in [Int64.min, .max, .min] {
            var position = kept.positions[0]
            position.timestamp = time
            kept.positions.append(position)
        }
        journal.save(try JSONEncoder().encode(kept))
        let next = try process(later: 9)
        let stream = try #require(try await next.reporter.resume())
        await next.locations.feed(next.fixes(1))
        await next.clock.pass(.seconds(5))
        await next.clock.sleeper(of: .seconds(5))
        await next.reporter.end()
        #expect(await stream.ending() == .userRequested)
    }

    @Test func `a ride that ended leaves nothing, whoever ended it`() async throws {
        let ended = try process()
        _ = try await ended.start()
        #expect(journal.load() != nil)
        await ended.reporter.end()
        #expect(journal.load() == nil)
        let refused = try process()
        await refused.transport.always(.positions, .answer(409, "{}"))
        let stream = try await refused.start()
        await refused.locations.feed(refused.fixes(1))
        await refused.clock.pass(.seconds(5))
        #expect(await stream.ending() == .serverRestart)
        #expect(journal.load() == nil)
    }

    @Test func `a running ride is not resumed over`() async throws {
        let ride = try process()
        _ = try await ride.start()
        #expect(try await ride.reporter.resume() == nil)
        #expect(await ride.reporter.currentState == .pending)
        await ride.reporter.end()
    }

    @Test func `the journal hears of a ride each five seconds at most`() async throws {
        let ride = try process()
        _ = try await ride.start()
        #expect(journal.saves == 1)
        await ride.locations.feed(ride.fixes(11))
        #expect(journal.saves == 1)
        await ride.clock.pass(.seconds(5))
        await ride.locations.feed(ride.fixes(3))
        await ride.clock.sleeper(of: .seconds(5))
        #expect(journal.saves == 2)
        await ride.reporter.end()
    }

    @Test func `nothing is kept unless a host asks for it`() async throws {
        let ride = try RideFixture()
        _ = try await ride.start()
        await ride.locations.feed(ride.fixes(3))
        #expect(try await ride.reporter.resume() == nil)
        await ride.reporter.end()
        #expect(journal.saves == 0)
    }

    @Test func `a file keeps a ride for its user alone`() throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "journal-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let journal = FileRideJournal(folder: folder)
        #expect(journal.load() == nil)
        journal.save(Data("ride".utf8))
        #expect(journal.load() == Data("ride".utf8))
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        let path = folder.appending(path: try #require(names.first)).path
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
        #expect((mode as? NSNumber)?.intValue == 0o600)
        try Data(count: FileRideJournal.sizeLimitBytes + 1).write(to: URL(fileURLWithPath: path))
        #expect(journal.load() == nil)
        journal.clear()
        #expect(!FileManager.default.fileExists(atPath: path))
        journal.clear()
    }
}
