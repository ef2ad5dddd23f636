import Foundation
import Testing

@testable import VehiclePositionsKit

/// A transport of an app's own that never answers, and does not hear that it should stop.
///
/// Calls fail in time, and a ride ends when it should, whatever the transport does.
@Suite(.timeLimit(.minutes(1))) struct SilentTransportTests {
    /// A ride of which the first upload, a periodic or a full batch, is under way without an
    /// answer.
    private func silent(
        fullBatch: Bool = false,
        configure: (inout RideReporterConfiguration) -> Void = { _ in }
    ) async throws -> (RideFixture, AsyncStream<RideEvent>) {
        let ride = try RideFixture(configure: configure)
        await ride.transport.always(
            .start,
            .answer(201, FakeRideTransport.started(batch: fullBatch ? 2 : 12))
        )
        await ride.transport.always(.positions, .deaf)
        await ride.transport.always(.end, .deaf)
        let stream = try await ride.start()
        await ride.locations.feed(ride.fixes(2))
        if !fullBatch { await ride.clock.pass(.seconds(5)) }
        await ride.transport.arrival(of: .positions)
        return (ride, stream)
    }

    /// Lets whoever still waits go.
    private func answer(_ ride: RideFixture) async {
        await ride.transport.always(.positions, .answer(200, FakeRideTransport.accepted()))
        await ride.transport.always(.end, .answer(200, FakeRideTransport.ended))
        await ride.transport.release()
    }

    // MARK: - Calls

    @Test(arguments: [RiderCall.register, .start])
    func `a start fails after its time and leaves the way free`(call: RiderCall) async throws {
        let ride = try RideFixture()
        await ride.transport.next(call, .deaf)
        let start = Task { try await ride.start() }
        await ride.transport.arrival(of: call)
        await ride.clock.sleeper(of: .seconds(12))
        ride.clock.advance(seconds: 11)
        #expect(await ride.transport.requests.count == (call == .register ? 1 : 2))
        ride.clock.advance(seconds: 1)
        await #expect {
            _ = try await start.value
        } throws: {
            if case RideError.transport = $0 { true } else { false }
        }
        #expect(ride.locations.handles.isEmpty)
        let stream = try await ride.start()
        await ride.reporter.end()
        #expect(await stream.ending() == .userRequested)
        await ride.transport.release()
    }

    @Test func `an app may grant its transport more time`() async throws {
        let ride = try RideFixture { $0.callTimeout = .seconds(300) }
        await ride.transport.next(.start, .deaf)
        let start = Task { try await ride.start() }
        await ride.transport.arrival(of: .start)
        await ride.clock.sleeper(of: .seconds(300))
        ride.clock.advance(seconds: 299)
        await ride.transport.release()
        _ = try await start.value
        #expect(await ride.reporter.currentState == .pending)
        await ride.reporter.end()
    }

    @Test func `a ride that the server begins too late is closed`() async throws {
        let ride = try RideFixture()
        await ride.transport.next(.start, .deaf)
        let start = Task { try await ride.start() }
        await ride.transport.arrival(of: .start)
        await ride.clock.pass(.seconds(12))
        await #expect(throws: RideError.self) { _ = try await start.value }
        await ride.transport.release()
        await ride.transport.arrival(of: .end)
        let body = try #require(await ride.transport.requests(.end).first?.body)
        #expect(String(decoding: body, as: UTF8.self) == #"{"reason":"app_terminated"}"#)
    }

    @Test func `a start that is cancelled returns at once`() async throws {
        let ride = try RideFixture()
        await ride.transport.next(.start, .deaf)
        let start = Task { try await ride.start() }
        await ride.transport.arrival(of: .start)
        start.cancel()
        await #expect(throws: CancellationError.self) { _ = try await start.value }
        await ride.transport.release()
    }

    @Test func `asking for a trip's status fails after its time`() async throws {
        let ride = try RideFixture()
        await ride.transport.next(.status, .deaf)
        let status = Task { try await ride.reporter.tripStatus(tripID: "T", startDate: nil) }
        await ride.transport.arrival(of: .status)
        await ride.clock.pass(.seconds(12))
        await #expect(throws: RideError.self) { _ = try await status.value }
        await ride.transport.release()
    }

    @Test func `an upload without an answer has failed and is tried again`() async throws {
        let (ride, stream) = try await silent()
        await ride.clock.sleeper(of: .seconds(12))
        ride.clock.advance(seconds: 11)
        #expect(try await ride.uploads() == [2])
        await ride.transport.always(.positions, .answer(200, FakeRideTransport.accepted()))
        ride.clock.advance(seconds: 1)
        await ride.clock.pass(.seconds(1))
        await ride.clock.sleeper(of: .seconds(5))
        #expect(try await ride.uploads() == [2, 2])
        await answer(ride)
        await ride.reporter.end()
        #expect(await stream.all().contains(.warning(.uploadRetrying(attempt: 1))))
    }

    @Test func `a transport that gives up by itself has failed`() async throws {
        let ride = try RideFixture()
        await ride.transport.next(.start, .givenUp)
        await #expect {
            _ = try await ride.start()
        } throws: {
            if case RideError.transport = $0 { true } else { false }
        }
        let stream = try await ride.start()
        await ride.transport.next(.positions, .givenUp)
        await ride.locations.feed(ride.fixes(1))
        await ride.clock.pass(.seconds(5))
        await ride.clock.pass(.seconds(1))
        await ride.clock.sleeper(of: .seconds(5))
        await ride.reporter.end()
        #expect(await stream.all().contains(.warning(.uploadRetrying(attempt: 1))))
    }

    // MARK: - Ends

    @Test func `the longest ride ends to the second`() async throws {
        let (ride, stream) = try await silent { $0.maxRideDuration = .seconds(14) }
        await ride.clock.sleeper(of: .seconds(9))
        ride.clock.advance(seconds: 8)
        #expect(await ride.reporter.currentState == .pending)
        ride.clock.advance(seconds: 1)
        await ride.clock.pass(.seconds(10))
        #expect(await stream.ending() == .maxDuration)
        await answer(ride)
    }

    @Test func `a phone that lies still ends to the second`() async throws {
        let ride = try RideFixture { $0.stationaryTimeout = .seconds(14) }
        await ride.transport.always(.positions, .deaf)
        let stream = try await ride.start()
        await ride.locations.feed(ride.fixes(1) + [ride.still()])
        await ride.clock.pass(.seconds(5))
        await ride.clock.sleeper(of: .seconds(9))
        ride.clock.advance(seconds: 8)
        #expect(await ride.reporter.currentState == .pending)
        ride.clock.advance(seconds: 1)
        await ride.clock.pass(.seconds(10))
        #expect(await stream.ending() == .stationary)
        await answer(ride)
    }

    @Test func `stillness that begins during an upload is seen however long that takes`()
        async throws
    {
        let (ride, stream) = try await silent {
            $0.callTimeout = .seconds(3600)
            $0.stationaryTimeout = .seconds(60)
        }
        await ride.locations.feed([ride.still()])
        for _ in 0..<3 { await ride.clock.pass(.seconds(20)) }
        await ride.clock.pass(.seconds(10))
        #expect(await stream.ending() == .stationary)
        await answer(ride)
    }

    @Test func `a full batch without an answer holds no tick back`() async throws {
        let (ride, stream) = try await silent(fullBatch: true) {
            $0.maxRideDuration = .seconds(10)
        }
        for _ in 0..<2 { await ride.clock.pass(.seconds(5)) }
        await ride.clock.pass(.seconds(10))
        #expect(await stream.ending() == .maxDuration)
        await answer(ride)
    }

    @Test(arguments: [
        (LocationDiagnostic.authorizationDenied, RideEndReason.authorizationDenied),
        (.locationUnavailable, .locationUnavailable),
    ])
    func `a ride without positions ends`(
        diagnostic: LocationDiagnostic,
        reason: RideEndReason
    ) async throws {
        let (ride, stream) = try await silent()
        ride.locations.send([ride.diagnostic(diagnostic)])
        await ride.clock.pass(.seconds(10))
        #expect(await stream.ending() == reason)
        await answer(ride)
    }

    @Test func `a ride whose positions end does, too`() async throws {
        let (ride, stream) = try await silent()
        ride.locations.end()
        await ride.clock.pass(.seconds(10))
        #expect(await stream.ending() == .locationUnavailable)
        await answer(ride)
    }

    @Test(arguments: [false, true])
    func `the rider's end takes ten seconds and no more`(fullBatch: Bool) async throws {
        let (ride, stream) = try await silent(fullBatch: fullBatch)
        let ending = Task { await ride.reporter.end() }
        await ride.clock.sleeper(of: .seconds(10))
        ride.clock.advance(seconds: 9)
        #expect(await ride.reporter.currentState == .pending)
        ride.clock.advance(seconds: 1)
        await ending.value
        #expect(await stream.all().last == .ended(.userRequested, summary: nil))
        #expect(ride.locations.handles.map(\.isInvalidated) == [true])
        await answer(ride)
    }

    @Test func `uploads that fail for too long end the ride`() async throws {
        let (ride, stream) = try await silent { $0.uploadFailureTimeout = .seconds(13) }
        await ride.clock.pass(.seconds(12))
        await ride.clock.pass(.seconds(1))
        await ride.clock.pass(.seconds(12))
        await ride.clock.pass(.seconds(10))
        #expect(await stream.ending() == .networkFailure)
        await answer(ride)
    }

    @Test func `the next ride begins within the budget of the one before`() async throws {
        let (ride, stream) = try await silent()
        let next = Task { try await ride.start() }
        await ride.clock.pass(.seconds(10))
        _ = try await next.value
        #expect(await stream.ending() == .superseded)
        await answer(ride)
        await ride.reporter.end()
    }
}
