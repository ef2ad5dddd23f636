import Foundation
import TestKit
import Testing

@testable import VehiclePositionsKit

/// Servers that answer nonsense cost a batch or a start, never the app.
@Suite(.timeLimit(.minutes(1))) struct HostileAnswerTests {
    static let deep = String(repeating: "[", count: 60_000)

    @Test(arguments: [
        "", "null", "[]", "{}", "\u{0}", "{\"rider_id\":1,\"token\":\"t\"}",
        "{\"rider_id\":\"r\",\"token\":\"\"}", "{\"rider_id\":\"r\",\"token\":\"a\\r\\nX: y\"}",
        "{\"rider_id\":\"r\",\"token\":\"a b\"}", "{\"rider_id\":\"r\",\"token\":\"ä\"}", deep,
    ])
    func `a registration that makes no sense keeps no token`(body: String) async throws {
        let ride = try RideFixture()
        await ride.transport.always(.register, .answer(201, body))
        await #expect {
            _ = try await ride.start()
        } throws: {
            if case RideError.decoding = $0 { true } else { false }
        }
        #expect(ride.store.load()?.token == nil)
        #expect(await ride.transport.requests(.start).isEmpty)
    }

    @Test(arguments: [
        "", "null", "{}", deep,
        FakeRideTransport.started(rideID: ""),
        #"{"ride_id":"r","state":"pending","report_interval_seconds":"5","max_batch_size":12}"#,
        #"{"ride_id":"r","state":"pending","report_interval_seconds":5,"max_batch_size":1e30}"#,
        #"{"ride_id":["r"],"state":"pending","report_interval_seconds":5,"max_batch_size":12}"#,
        FakeRideTransport.started(destination: #"{"stop_id":"S","latitude":"x","longitude":0}"#),
    ])
    func `a start that makes no sense installs nothing`(body: String) async throws {
        let ride = try RideFixture()
        await ride.transport.always(.start, .answer(201, body))
        await #expect {
            _ = try await ride.start()
        } throws: {
            if case RideError.decoding = $0 { true } else { false }
        }
        #expect(ride.locations.handles.isEmpty)
        #expect(await ride.reporter.currentState == nil)
    }

    @Test func `a ride's id cannot lead a request elsewhere`() async throws {
        let ride = try RideFixture()
        let odd = "../../admin?x=1#y/ä\\u0000%2e"
        await ride.transport.always(.start, .answer(201, FakeRideTransport.started(rideID: odd)))
        _ = try await ride.start()
        await ride.locations.feed(ride.fixes(1))
        await ride.clock.pass(.seconds(5))
        await ride.transport.arrival(of: .positions)
        let path = try #require(await ride.transport.requests(.positions).first?.path)
        #expect(path.hasPrefix("/api/v1/rider/rides/..%2F..%2Fadmin%3Fx=1%23y%2F%C3%A4%00%252e/"))
        await ride.reporter.end()
    }

    @Test func `limits beyond reason are cut`() async throws {
        let ride = try RideFixture()
        let body = """
            {"ride_id":"r","state":"pending","report_interval_seconds":-9223372036854775808,
             "max_batch_size":9223372036854775807,
             "destination":{"stop_id":"S","latitude":1e300,"longitude":-1e300}}
            """
        await ride.transport.always(.start, .answer(201, body))
        let stream = try await ride.start()
        await ride.clock.sleeper(of: .seconds(1))
        await ride.locations.feed(ride.fixes(20, step: 500))
        await ride.reporter.end()
        #expect(await stream.ending() == .userRequested)
        #expect(try await ride.uploads() == [20])
    }

    @Test(arguments: ["9223372036854775807", "-9223372036854775808", "2", "0"])
    func `counts that make no sense neither overflow nor go back`(accepted: String) async throws {
        let ride = try RideFixture()
        let body = FakeRideTransport.accepted().replacingOccurrences(
            of: "\"accepted\":2",
            with: "\"accepted\":\(accepted)"
        )
        await ride.transport.always(.positions, .answer(200, body))
        let stream = try await ride.start()
        for _ in 0..<3 {
            await ride.locations.feed(ride.fixes(1))
            await ride.clock.pass(.seconds(5))
        }
        await ride.clock.sleeper(of: .seconds(5))
        await ride.reporter.end()
        let counts = await stream.all().compactMap { event -> Int? in
            if case .progress(let progress) = event { progress.pointsAccepted } else { nil }
        }
        let each = accepted.hasPrefix("-") || accepted == "0" ? 0 : 1
        #expect(counts == [each, 2 * each, 3 * each])
    }

    @Test(arguments: [204, 301, 302, 304, 100, 0, -1, 999, 600])
    func `an unheard-of status ends no ride`(status: Int) async throws {
        let ride = try RideFixture()
        await ride.transport.next(.positions, .answer(status, Self.deep))
        let stream = try await ride.start()
        await ride.locations.feed(ride.fixes(2))
        await ride.clock.pass(.seconds(5))
        await ride.transport.arrival(of: .positions)
        await ride.reporter.end()
        #expect(await stream.ending() == .userRequested)
        #expect(await ride.transport.requests(.end).count == 1)
    }

    @Test func `a fix that cannot be written costs no other`() async throws {
        let ride = try RideFixture()
        _ = try await ride.start()
        let odd = LocationSample(
            coordinate: Coordinate(latitude: 47.6, longitude: -122.33),
            horizontalAccuracy: .infinity,
            speed: .nan,
            course: 1e308,
            timestamp: ride.clock.now
        )
        await ride.locations.feed([odd] + ride.fixes(1))
        await ride.clock.pass(.seconds(5))
        await ride.transport.arrival(of: .positions)
        #expect(try await ride.uploads() == [2])
        await ride.reporter.end()
    }

    /// Answers with some bytes changed, cut or doubled.
    @Test(arguments: 0..<100)
    func `any bytes are read or refused`(seed: Int) {
        var random = SeededGenerator(seed: seed)
        for text in [
            FakeRideTransport.accepted(), FakeRideTransport.registered, FakeRideTransport.ended,
            FakeRideTransport.started(), FakeRideTransport.refusal("ride not found"),
        ] {
            var bytes = Array(text.utf8)
            for _ in 0..<Int.random(in: 1...6, using: &random) where !bytes.isEmpty {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[place] = .random(in: 0...255, using: &random)
                case 1: bytes.removeSubrange(place...)
                case 2: bytes.insert(contentsOf: bytes[place...], at: place)
                default: bytes.replaceSubrange(place...place, with: Array("99999999999".utf8))
                }
            }
            for status in [200, 404, 409, 429, 503] {
                let answer = RiderResponse(status: status, body: Data(bytes))
                switch UploadOutcome(answer) {
                case .accepted: #expect(status == 200)
                case .gone: #expect(status == 404 || status == 409)
                case .throttled: #expect(status == 429)
                case .rejected: #expect(status == 404 || status == 200)
                case .failed: #expect(status == 503)
                case .unauthorized, .cancelled: Issue.record("\(status)")
                }
            }
            _ = try? JSONDecoder().decode(RideAnswer.self, from: Data(bytes))
            _ = try? JSONDecoder().decode(KeptRide.self, from: Data(bytes))
        }
    }
}
