import Foundation
import Testing

@testable import VehiclePositionsKit

@Suite(.timeLimit(.minutes(1))) struct RideStartTests {
    @Test func `registers anew once when the stored token has expired`() async throws {
        let old = RiderCredentials(
            installationID: RideFixture.installationID,
            riderID: "rider-1",
            token: "old"
        )
        let ride = try RideFixture(credentials: old)
        await ride.transport.next(.start, .answer(401, "{}"))
        let stream = try await ride.start()
        #expect(await ride.transport.requests(.register).count == 1)
        #expect(await ride.transport.requests(.start).map(\.bearerToken) == ["old", "token-1"])
        #expect(ride.store.load()?.token == "token-1")
        #expect(ride.store.load()?.installationID == RideFixture.installationID)
        await ride.reporter.end()
        #expect(await stream.ending() == .userRequested)
    }

    @Test func `gives up when the new token is refused too`() async throws {
        let ride = try RideFixture()
        await ride.transport.always(.start, .answer(401, "{}"))
        await #expect(throws: RideError.notAuthorized) { try await ride.start() }
        #expect(await ride.transport.requests(.start).count == 2)
    }

    @Test func `keeps the installation id when the registration fails`() async throws {
        let ride = try RideFixture()
        await ride.transport.next(.register, .failure)
        await #expect(throws: RideError.self) { try await ride.start() }
        let id = ride.store.load()?.installationID
        #expect(id != nil)
        let stream = try await ride.start()
        #expect(ride.store.load()?.installationID == id)
        await ride.reporter.end()
        #expect(await stream.ending() == .userRequested)
    }

    @Test func `throws what the server says and takes nothing`() async throws {
        let ride = try RideFixture()
        await ride.transport.always(
            .start,
            .answer(404, FakeRideTransport.refusal("unknown trip"))
        )
        await #expect(throws: RideError.server(status: 404, message: "unknown trip")) {
            try await ride.start()
        }
        #expect(ride.locations.handles.isEmpty)
        #expect(await ride.reporter.currentState == nil)
    }

    @Test func `ends the running ride first, with its positions and without an end call`()
        async throws
    {
        let ride = try RideFixture()
        let first = try await ride.start()
        await ride.locations.feed(ride.fixes(2))
        let second = try await ride.start()
        #expect(await first.ending() == .superseded)
        let calls = await ride.transport.requests.map(RiderCall.init)
        #expect(calls == [.register, .start, .positions, .start])
        #expect(ride.locations.handles.map(\.isInvalidated) == [true, false])
        await ride.reporter.end()
        #expect(await second.ending() == .userRequested)
    }

    @Test func `lets exactly one of two concurrent starts survive`() async throws {
        let ride = try RideFixture()
        async let one = ride.start()
        async let two = ride.start()
        let streams = try await [one, two]
        #expect(await ride.transport.requests(.start).count == 2)
        #expect(ride.locations.handles.filter { !$0.isInvalidated }.count == 1)
        await ride.reporter.end()
        let endings = [await streams[0].ending(), await streams[1].ending()]
        #expect(Set(endings) == [.superseded, .userRequested])
    }

    @Test func `installs nothing when cancelled while the server thinks`() async throws {
        let ride = try RideFixture()
        await ride.transport.always(.start, .held)
        let start = Task { try await ride.start() }
        await ride.transport.arrival(of: .start)
        start.cancel()
        await #expect(throws: CancellationError.self) { try await start.value }
        #expect(ride.locations.handles.isEmpty)
        #expect(await ride.reporter.currentState == nil)
    }

    @Test func `closes the ride of a caller who left after the server accepted`() async throws {
        let ride = try RideFixture()
        await ride.transport.next(.start, .deaf)
        let start = Task { try await ride.start() }
        await ride.transport.arrival(of: .start)
        start.cancel()
        await ride.transport.release()
        await #expect(throws: CancellationError.self) { try await start.value }
        await ride.transport.arrival(of: .end)
        let body = try #require(await ride.transport.requests(.end).first?.body)
        #expect(String(decoding: body, as: UTF8.self) == #"{"reason":"app_terminated"}"#)
        #expect(ride.locations.handles.isEmpty)
    }

    @Test func `leaves the ride alone when a queued start is cancelled`() async throws {
        let ride = try RideFixture()
        await ride.transport.next(.start, .deaf)
        let first = Task { try await ride.start() }
        await ride.transport.arrival(of: .start)
        let second = Task { try await ride.start() }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        await ride.transport.release()
        let stream = try await first.value
        #expect(await ride.reporter.currentState == .pending)
        #expect(await ride.transport.requests(.start).count == 1)
        let third = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await ride.start()
        }
        await #expect(throws: CancellationError.self) { try await third.value }
        #expect(await ride.reporter.currentState == .pending)
        await ride.reporter.end()
        #expect(await stream.ending() == .userRequested)
    }

    @Test func `registers before it asks for a trip's status`() async throws {
        let ride = try RideFixture()
        let status = try await ride.reporter.tripStatus(tripID: "T1", startDate: nil)
        #expect(status.tripID == "T1")
        let calls = await ride.transport.requests.map(RiderCall.init)
        #expect(calls == [.register, .status])
        #expect(await ride.transport.requests.last?.bearerToken == "token-1")
    }

    @Test func `ends the start that is under way, too`() async throws {
        let ride = try RideFixture()
        await ride.transport.next(.start, .deaf)
        let start = Task { try await ride.start() }
        await ride.transport.arrival(of: .start)
        await ride.reporter.end()
        await ride.transport.release()
        await #expect(throws: CancellationError.self) { try await start.value }
        await ride.transport.arrival(of: .end)
        #expect(ride.locations.handles.isEmpty)
        #expect(await ride.reporter.currentState == nil)
        // The next one is another matter.
        let stream = try await ride.start()
        await ride.reporter.end()
        #expect(await stream.ending() == .userRequested)
    }

    @Test func `ends the starts that wait their turn with the running ride`() async throws {
        let ride = try RideFixture()
        let stream = try await ride.start()
        await ride.transport.always(.positions, .deaf)
        await ride.locations.feed(ride.fixes(1))
        let next = Task { try await ride.start() }
        // The flush of the superseded ride.
        await ride.transport.arrival(of: .positions)
        let ending = Task { await ride.reporter.end() }
        while await ride.reporter.endCount == 0 { await Task.yield() }
        await ride.clock.pass(.seconds(10))
        await ending.value
        await #expect(throws: CancellationError.self) { try await next.value }
        #expect(await stream.ending() == .superseded)
        #expect(await ride.transport.requests(.start).count == 1)
        await ride.transport.release()
    }
}
