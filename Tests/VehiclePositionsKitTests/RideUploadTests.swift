import Foundation
import Testing

@testable import VehiclePositionsKit

@Suite(.timeLimit(.minutes(1))) struct RideUploadTests {
    @Test func `registers, starts, uploads on the interval and ends`() async throws {
        let ride = try RideFixture()
        let stream = try await ride.start()
        #expect(await ride.reporter.currentState == .pending)
        await ride.locations.feed(ride.fixes(2))
        await ride.clock.pass(.seconds(5))
        await ride.clock.sleeper(of: .seconds(5))
        #expect(try await ride.uploads() == [2])
        #expect(await ride.reporter.currentState == .verified)
        await ride.reporter.end()
        let summary = RideSummary(
            points: 142,
            matched: 139,
            corroborated: 88,
            durationSeconds: 1260
        )
        let progress = RideProgress(
            state: .verified,
            published: true,
            corroboration: .corroborated,
            pointsAccepted: 2,
            offRouteStreak: 0
        )
        #expect(
            await stream.all() == [
                .registered(riderID: "rider-1"), .started(rideID: "ride-1"), .progress(progress),
                .ended(.userRequested, summary: summary),
            ]
        )
        #expect(await ride.transport.requests(.end).count == 1)
        #expect(ride.locations.handles.map(\.isInvalidated) == [true])
        #expect(await ride.reporter.currentState == nil)
        await ride.reporter.end()
        #expect(await ride.transport.requests(.end).count == 1)
    }

    @Test func `uploads a full batch at once`() async throws {
        let ride = try RideFixture()
        await ride.transport.always(.start, .answer(201, FakeRideTransport.started(batch: 3)))
        let stream = try await ride.start()
        await ride.locations.feed(ride.fixes(3))
        await ride.transport.arrival(of: .positions)
        #expect(try await ride.uploads() == [3])
        await ride.reporter.end()
        #expect(await stream.ending() == .userRequested)
    }

    @Test func `retries until uploads have failed for too long`() async throws {
        let ride = try RideFixture { $0.uploadFailureTimeout = .seconds(60) }
        await ride.transport.always(.positions, .failure)
        let stream = try await ride.start()
        await ride.locations.feed(ride.fixes(1))
        for seconds in [5, 1, 2, 4, 8, 16, 30] { await ride.clock.pass(.seconds(seconds)) }
        let events = await stream.all()
        let warnings = events.compactMap { event -> RideWarning? in
            if case .warning(let warning) = event { warning } else { nil }
        }
        #expect(warnings == (1...6).map { .uploadRetrying(attempt: $0) })
        guard case .ended(.networkFailure, _) = events.last else {
            Issue.record("\(events)")
            return
        }
        #expect(try await ride.uploads().count >= 7)
    }

    @Test func `sends nothing extra while it backs off`() async throws {
        let ride = try RideFixture()
        await ride.transport.always(.start, .answer(201, FakeRideTransport.started(batch: 3)))
        await ride.transport.always(.positions, .failure)
        let stream = try await ride.start()
        await ride.locations.feed(ride.fixes(1))
        await ride.clock.pass(.seconds(5))
        await ride.clock.sleeper(of: .seconds(1))
        await ride.locations.feed(ride.fixes(9))
        #expect(try await ride.uploads() == [1])
        await ride.transport.always(.positions, .answer(200, FakeRideTransport.accepted()))
        await ride.clock.pass(.seconds(1))
        await ride.clock.sleeper(of: .seconds(5))
        #expect(try await ride.uploads() == [1, 3])
        await ride.reporter.end()
        #expect(await stream.ending() == .userRequested)
    }

    @Test(
        arguments: [(422, 422), (400, 400), (404, 404), (200, 0)]
    )
    func `drops a refused batch and rides on`(status: Int, warned: Int) async throws {
        let ride = try RideFixture()
        await ride.transport.next(.positions, .answer(status, "not json"))
        let stream = try await ride.start()
        await ride.locations.feed(ride.fixes(2))
        await ride.clock.pass(.seconds(5))
        await ride.clock.pass(.seconds(5))
        await ride.clock.sleeper(of: .seconds(5))
        #expect(try await ride.uploads() == [2])
        #expect(await ride.reporter.currentState == .pending)
        await ride.reporter.end()
        let events = await stream.all()
        #expect(events.contains(.warning(.batchRejected(status: warned))))
        #expect(!events.contains(.warning(.uploadRetrying(attempt: 1))))
        #expect(try await ride.uploads() == [2])
    }

    @Test func `keeps a throttled batch without a word and retries on the interval`() async throws {
        let ride = try RideFixture()
        await ride.transport.always(.start, .answer(201, FakeRideTransport.started(batch: 2)))
        await ride.transport.next(.positions, .answer(429, "{}"))
        let stream = try await ride.start()
        await ride.locations.feed(ride.fixes(1))
        await ride.clock.pass(.seconds(5))
        await ride.clock.sleeper(of: .seconds(5))
        await ride.locations.feed(ride.fixes(3))
        #expect(try await ride.uploads() == [1])
        await ride.clock.pass(.seconds(5))
        await ride.clock.sleeper(of: .seconds(5))
        #expect(try await ride.uploads() == [1, 2])
        await ride.reporter.end()
        let events = await stream.all()
        #expect(!events.contains { if case .warning = $0 { true } else { false } })
    }

    @Test(arguments: [
        (409, #"{"error":"ride ended"}"#, RideEndReason.serverRestart),
        (409, #"{"error":"ride ended","end_reason":"idle"}"#, .idle),
        (404, #"{"error":"ride not found"}"#, .serverRestart),
        (200, FakeRideTransport.accepted(state: "rejected", ended: "off_route"), .offRoute),
        (200, FakeRideTransport.accepted(state: "rejected", ended: "brand_new"), .idle),
    ])
    func `ends on the server's word without a last call`(
        status: Int,
        body: String,
        reason: RideEndReason
    ) async throws {
        let ride = try RideFixture()
        await ride.transport.always(.positions, .answer(status, body))
        let stream = try await ride.start()
        await ride.locations.feed(ride.fixes(2))
        await ride.clock.pass(.seconds(5))
        #expect(await stream.ending() == reason)
        #expect(await ride.transport.requests(.end).isEmpty)
        #expect(try await ride.uploads() == [2])
        #expect(ride.locations.handles.map(\.isInvalidated) == [true])
    }

    @Test func `forgets a token that an upload shows to be worthless`() async throws {
        let ride = try RideFixture()
        await ride.transport.always(.positions, .answer(401, "{}"))
        let stream = try await ride.start()
        let installation = ride.store.load()?.installationID
        await ride.locations.feed(ride.fixes(1))
        await ride.clock.pass(.seconds(5))
        #expect(await stream.ending() == .serverRestart)
        #expect(ride.store.load()?.token == nil)
        #expect(ride.store.load()?.installationID == installation)
    }

    @Test func `keeps the token of another call that registered anew meanwhile`() async throws {
        let ride = try RideFixture()
        await ride.transport.always(.positions, .answer(401, "{}"))
        let stream = try await ride.start()
        var fresh = try #require(ride.store.load())
        fresh.token = "token-2"
        ride.store.save(fresh)
        await ride.locations.feed(ride.fixes(1))
        await ride.clock.pass(.seconds(5))
        #expect(await stream.ending() == .serverRestart)
        #expect(ride.store.load()?.token == "token-2")
    }

    @Test(arguments: [
        ("15", 15), ("5", 5), ("0", 1), ("-7", 1), ("99999", 60), ("1e99", 5), ("\"x\"", 5),
        ("null", 5), ("[]", 5),
    ])
    func `follows the interval the server names during the ride`(
        text: String,
        seconds: Int
    ) async throws {
        let ride = try RideFixture()
        let slower = FakeRideTransport.accepted()
            .replacingOccurrences(
                of: "\"ended\"",
                with: "\"report_interval_seconds\":\(text),\"ended\""
            )
        await ride.transport.always(.positions, .answer(200, slower))
        let stream = try await ride.start()
        await ride.locations.feed(ride.fixes(1))
        await ride.clock.pass(.seconds(5))
        await ride.transport.arrival(of: .positions)
        await ride.clock.sleeper(of: .seconds(seconds))
        await ride.reporter.end()
        #expect(await stream.ending() == .userRequested)
    }

    @Test func `goes back to the first interval when the server says so`() async throws {
        let ride = try RideFixture()
        func answer(_ seconds: Int) -> FakeRideTransport.Reply {
            .answer(
                200,
                FakeRideTransport.accepted().replacingOccurrences(
                    of: "\"ended\"",
                    with: "\"report_interval_seconds\":\(seconds),\"ended\""
                )
            )
        }
        await ride.transport.next(.positions, answer(15), answer(5))
        _ = try await ride.start()
        for seconds in [5, 15, 5] {
            await ride.locations.feed(ride.fixes(1))
            await ride.clock.pass(.seconds(seconds))
        }
        await ride.transport.arrival(of: .positions, count: 3)
        await ride.reporter.end()
    }

    @Test(arguments: [
        (nil, false, 1), (40, false, 1), (40, true, 40), (0, true, 1), (900, true, 60),
    ])
    func `waits as long as a server in trouble asks only when told to`(
        retryAfter: Int?,
        honors: Bool,
        seconds: Int
    ) async throws {
        let ride = try RideFixture { $0.honorsRetryAfter = honors }
        let trouble = RiderResponse(
            status: 503,
            body: Data(),
            retryAfter: retryAfter.map { .seconds($0) }
        )
        await ride.transport.next(.positions, .full(trouble))
        let stream = try await ride.start()
        await ride.locations.feed(ride.fixes(2))
        await ride.clock.pass(.seconds(5))
        await ride.clock.pass(.seconds(seconds))
        await ride.transport.arrival(of: .positions, count: 2)
        #expect(try await ride.uploads() == [2, 2])
        await ride.reporter.end()
        #expect(await stream.all().contains(.warning(.uploadRetrying(attempt: 1))))
    }

    @Test func `a longer interval brings as many positions as the first one did`() async throws {
        let ride = try RideFixture()
        let slower = FakeRideTransport.accepted()
            .replacingOccurrences(of: "\"ended\"", with: "\"report_interval_seconds\":15,\"ended\"")
        let destination = #"{"stop_id":"S","latitude":47.61,"longitude":-122.33}"#
        await ride.transport.always(
            .start,
            .answer(201, FakeRideTransport.started(destination: destination))
        )
        await ride.transport.always(.positions, .answer(200, slower))
        let stream = try await ride.start()
        await ride.locations.feed(ride.fixes(5))
        await ride.clock.pass(.seconds(5))
        await ride.clock.sleeper(of: .seconds(15))
        await ride.locations.feed(ride.fixes(15))
        await ride.clock.pass(.seconds(15))
        await ride.clock.sleeper(of: .seconds(15))
        #expect(try await ride.uploads() == [5, 5])
        // One second after the last that counted; the fix that ends the ride is sent all the same.
        await ride.locations.feed(ride.fixes(1, from: 900))
        ride.clock.advance(seconds: 1)
        ride.locations.send(ride.fixes(1, from: 1112))
        #expect(await stream.ending() == .arrived)
        let times = try await ride.uploadedTimes()
        #expect(times.count == 3)
        #expect(times.last.map { $0.map { $0 - times[0][0] } } == [21])
    }

    @Test(arguments: [false, true])
    func `packs its reports for a server that reads them so`(accepts: Bool) async throws {
        let ride = try RideFixture()
        let started = RiderResponse(
            status: 201,
            body: Data(FakeRideTransport.started().utf8),
            acceptsGzip: accepts
        )
        await ride.transport.always(.start, .full(started))
        _ = try await ride.start()
        await ride.locations.feed(ride.fixes(5))
        await ride.clock.pass(.seconds(5))
        await ride.transport.arrival(of: .positions)
        let upload = try #require(await ride.transport.requests(.positions).first)
        #expect(upload.contentEncoding == (accepts ? "gzip" : nil))
        #expect(try await ride.uploads() == [5])
        await ride.reporter.end()
        // Nothing else is packed: only reports are large.
        let others = await ride.transport.requests.filter { RiderCall($0) != .positions }
        #expect(others.allSatisfy { $0.contentEncoding == nil })
    }
}
