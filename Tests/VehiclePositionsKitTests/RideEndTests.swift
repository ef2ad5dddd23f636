import Foundation
import Testing

@testable import VehiclePositionsKit

@Suite(.timeLimit(.minutes(1))) struct RideEndTests {
    @Test func `arrives at the destination and uploads the fix that did`() async throws {
        let ride = try RideFixture()
        let place = #"{"stop_id":"S","latitude":47.6027,"longitude":-122.33}"#
        let started = FakeRideTransport.started(destination: place)
        await ride.transport.always(.start, .answer(201, started))
        let stream = try await ride.start()
        ride.locations.send(ride.fixes(3, step: 150))
        let events = await stream.all()
        guard case .ended(.arrived, let summary) = events.last else {
            Issue.record("\(events)")
            return
        }
        #expect(summary?.points == 142)
        #expect(try await ride.uploads() == [3])
    }

    @Test func `ends when the phone lies still, without a second update`() async throws {
        let ride = try RideFixture { $0.stationaryTimeout = .seconds(20) }
        let stream = try await ride.start()
        await ride.locations.feed([ride.still()])
        for _ in 0..<4 { await ride.clock.pass(.seconds(5)) }
        #expect(await stream.ending() == .stationary)
    }

    @Test func `ends when a second update says that the phone lies still`() async throws {
        let ride = try RideFixture { $0.stationaryTimeout = .seconds(3) }
        let stream = try await ride.start()
        await ride.locations.feed([ride.still()])
        ride.clock.advance(seconds: 3)
        ride.locations.send([ride.still()])
        #expect(await stream.ending() == .stationary)
    }

    @Test func `ends a ride that is too long on a tick`() async throws {
        let ride = try RideFixture { $0.maxRideDuration = .seconds(12) }
        let stream = try await ride.start()
        for _ in 0..<3 { await ride.clock.pass(.seconds(5)) }
        #expect(await stream.ending() == .maxDuration)
        let body = try #require(await ride.transport.requests(.end).first?.body)
        #expect(String(decoding: body, as: UTF8.self) == #"{"reason":"max_duration"}"#)
    }

    @Test(arguments: [
        (LocationDiagnostic.authorizationDenied, RideEndReason.authorizationDenied),
        (.locationUnavailable, .locationUnavailable),
    ])
    func `warns once of a flaw and ends without positions`(
        diagnostic: LocationDiagnostic,
        reason: RideEndReason
    ) async throws {
        let ride = try RideFixture()
        let stream = try await ride.start()
        let flaws: [LocationDiagnostic] = [
            .accuracyLimited, .insufficientlyInUse, .accuracyLimited,
        ]
        await ride.locations.feed(flaws.map(ride.diagnostic))
        ride.locations.send([ride.diagnostic(diagnostic)])
        let events = await stream.all()
        let warnings = events.filter { if case .warning = $0 { true } else { false } }
        #expect(warnings == [.warning(.accuracyLimited), .warning(.insufficientlyInUse)])
        guard case .ended(reason, _) = events.last else {
            Issue.record("\(events)")
            return
        }
    }

    @Test func `ends when the positions stop coming`() async throws {
        let ride = try RideFixture()
        let stream = try await ride.start()
        ride.locations.end()
        #expect(await stream.ending() == .locationUnavailable)
    }

    @Test func `returns after ten seconds from an end call that hangs`() async throws {
        let ride = try RideFixture()
        await ride.transport.always(.end, .deaf)
        let stream = try await ride.start()
        let ending = Task { await ride.reporter.end() }
        await ride.transport.arrival(of: .end)
        await ride.clock.pass(.seconds(10))
        await ending.value
        #expect(await stream.all().last == .ended(.userRequested, summary: nil))
        #expect(ride.locations.handles.map(\.isInvalidated) == [true])
        await ride.transport.release()
    }

    @Test func `flushes at most two batches`() async throws {
        let ride = try RideFixture()
        await ride.transport.always(.start, .answer(201, FakeRideTransport.started(batch: 3)))
        await ride.transport.next(.positions, .held)
        let stream = try await ride.start()
        await ride.locations.feed(ride.fixes(15))
        await ride.transport.arrival(of: .positions)
        await ride.reporter.end()
        #expect(await stream.ending() == .userRequested)
        // The held batch is taken back and goes first.
        let bodies = await ride.transport.requests(.positions).map(\.body)
        #expect(bodies.count == 3)
        #expect(bodies.first == bodies.dropFirst().first)
        #expect(try await ride.uploads() == [3, 3, 3])
    }

    @Test func `tries a throttled final batch once more after two seconds`() async throws {
        let ride = try RideFixture()
        await ride.transport.next(.positions, .answer(429, "{}"))
        let stream = try await ride.start()
        await ride.locations.feed(ride.fixes(2))
        let ending = Task { await ride.reporter.end() }
        await ride.clock.pass(.seconds(2))
        await ending.value
        #expect(try await ride.uploads() == [2, 2])
        #expect(await stream.ending() == .userRequested)
    }

    @Test func `ends once, however many ask`() async throws {
        let ride = try RideFixture()
        let stream = try await ride.start()
        async let first: Void = ride.reporter.end(reason: .arrived)
        async let second: Void = ride.reporter.end(reason: .arrived)
        _ = await (first, second)
        #expect(await stream.ending() == .arrived)
        #expect(await ride.transport.requests(.end).count == 1)
    }
}
