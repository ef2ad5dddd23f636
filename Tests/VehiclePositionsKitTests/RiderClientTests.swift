import Foundation
import Testing

@testable import VehiclePositionsKit

@Suite struct RiderClientTests {
    let transport = FakeRideTransport()
    let client: RiderClient

    init() throws {
        let baseURL = try #require(URL(string: "https://bus.example"))
        client = RiderClient(
            transport: transport,
            baseURL: baseURL,
            callTimeout: .seconds(12),
            clock: ManualRideClock()
        )
    }

    func body() async throws -> String {
        let data = try #require(await transport.requests.last?.body)
        return String(decoding: data, as: UTF8.self)
    }

    @Test func `registers with the installation id in lower case and nothing else`() async throws {
        let id = UUID(uuidString: "7D1D0000-0000-4000-8000-0000000000AB")!
        let answer = try await client.register(installationID: id, appID: "a", appVersion: "1.2")
        #expect(answer == RegistrationAnswer(riderID: "rider-1", token: "token-1"))
        #expect(
            try await body() == """
                {"app_id":"a","app_version":"1.2",\
                "installation_id":"7d1d0000-0000-4000-8000-0000000000ab","platform":"other"}
                """
        )
        #expect(await transport.requests.last?.bearerToken == nil)
    }

    @Test func `starts a ride and leaves out what is not known`() async throws {
        await transport.always(
            .start,
            .answer(
                201,
                FakeRideTransport.started(
                    destination: #"{"stop_id":"S","latitude":47.61,"longitude":-122.33}"#
                )
            )
        )
        let answer = try await client.startRide(TripDescriptor(tripID: "1_6"), token: "t").answer
        #expect(answer.rideID == "ride-1")
        #expect(answer.state == .pending)
        #expect(answer.reportIntervalSeconds == 5)
        #expect(answer.maxBatchSize == 12)
        #expect(answer.destination?.latitude == 47.61)
        #expect(try await body() == #"{"trip_id":"1_6"}"#)
        #expect(await transport.requests.last?.bearerToken == "t")
    }

    @Test func `sends every part of a full descriptor`() async throws {
        let trip = TripDescriptor(
            tripID: "1_604321",
            startDate: "20260902",
            routeID: "1_100223",
            vehicleID: "1_7042",
            boardingStopID: "1_75403",
            destinationStopID: "1_75414"
        )
        _ = try await client.startRide(trip, token: "t")
        #expect(
            try await body() == """
                {"boarding_stop_id":"1_75403","destination_stop_id":"1_75414",\
                "route_id":"1_100223","start_date":"20260902","trip_id":"1_604321",\
                "vehicle_id":"1_7042"}
                """
        )
        let data = try RiderClient.encoder.encode(trip)
        #expect(try JSONDecoder().decode(TripDescriptor.self, from: data) == trip)
    }

    @Test func `reports positions with whole seconds and without unknown readings`() async throws {
        let full = LocationSample(
            coordinate: Coordinate(latitude: 47.600_000_04, longitude: -122.33),
            horizontalAccuracy: 8,
            speed: 9.2,
            course: 184,
            timestamp: Date(timeIntervalSince1970: 1_756_800_000.9)
        )
        let bare = LocationSample(
            coordinate: Coordinate(latitude: 47.6, longitude: -122.33),
            timestamp: Date(timeIntervalSince1970: 1_756_800_005)
        )
        let positions = [full, bare].compactMap(RiderPosition.init)
        let outcome = await client.report(
            positions,
            of: RideAddress(rideID: "r", token: "t", acceptsGzip: false)
        )
        guard case .accepted(let answer) = outcome else {
            Issue.record("\(outcome)")
            return
        }
        #expect(answer.state == .verified)
        #expect(answer.corroboration == .corroborated)
        #expect(
            try await body() == """
                {"positions":[{"accuracy":8,"bearing":184,"latitude":47.6,"longitude":-122.33,\
                "speed":9.2,"timestamp":1756800000},\
                {"latitude":47.6,"longitude":-122.33,"timestamp":1756800005}]}
                """
        )
    }

    @Test(arguments: [
        LocationSample(coordinate: nil, timestamp: Date(timeIntervalSince1970: 1e9)),
        LocationSample(
            coordinate: Coordinate(latitude: 90.1, longitude: 0),
            timestamp: Date(timeIntervalSince1970: 1e9)
        ),
        LocationSample(
            coordinate: Coordinate(latitude: .nan, longitude: 0),
            timestamp: Date(timeIntervalSince1970: 1e9)
        ),
        LocationSample(
            coordinate: Coordinate(latitude: 1, longitude: 1),
            timestamp: Date(timeIntervalSince1970: 0)
        ),
    ])
    func `makes no position of an unusable sample`(sample: LocationSample) {
        #expect(RiderPosition(sample) == nil)
    }

    @Test func `ends a ride and reads the summary`() async throws {
        let summary = try await client.endRide("r", reason: .userRequested, token: "t")
        #expect(
            summary
                == RideSummary(points: 142, matched: 139, corroborated: 88, durationSeconds: 1260)
        )
        #expect(try await body() == #"{"reason":"user_requested"}"#)
        await transport.always(.end, .answer(409, FakeRideTransport.refusal("ride ended")))
        await #expect(throws: RideError.alreadyEnded) {
            try await client.endRide("r", reason: .arrived, token: "t")
        }
    }

    @Test func `asks for a trip's status, with a date or without`() async throws {
        let status = try await client.tripStatus(tripID: "T1", startDate: "20260902", token: "t")
        #expect(status.trusted)
        #expect(await transport.requests.last?.query == ["start_date": "20260902"])
        #expect(await transport.requests.last?.body == nil)
        _ = try await client.tripStatus(tripID: "T1", startDate: nil, token: "t")
        #expect(await transport.requests.last?.query == [:])
    }

    @Test(
        arguments: zip(
            ["1_604321", "a/b c", "é?#%", "..", "a+b;c"],
            ["1_604321", "a%2Fb%20c", "%C3%A9%3F%23%25", "%2E%2E", "a+b;c"]
        )
    )
    func `escapes a trip id once`(tripID: String, segment: String) async throws {
        _ = try await client.tripStatus(tripID: tripID, startDate: nil, token: "t")
        let path = try #require(await transport.requests.last?.path)
        // What is legal in a path differs in a semicolon between Foundations; it decodes alike.
        let readable = path.replacingOccurrences(of: "%3B", with: ";")
        #expect(readable == "/api/v1/rider/trips/\(segment)/status")
        #expect(path.split(separator: "/").count == 6)
    }

    @Test func `turns refusals into errors`() async throws {
        await transport.next(
            .start,
            .answer(401, "{}"),
            .answer(404, FakeRideTransport.refusal("unknown trip")),
            .answer(502, "<html>"),
            .failure,
            .answer(201, "not json")
        )
        let trip = TripDescriptor(tripID: "T")
        await #expect(throws: RideError.notAuthorized) {
            try await client.startRide(trip, token: "t")
        }
        await #expect(throws: RideError.server(status: 404, message: "unknown trip")) {
            try await client.startRide(trip, token: "t")
        }
        await #expect(throws: RideError.server(status: 502, message: "")) {
            try await client.startRide(trip, token: "t")
        }
        for _ in 0..<2 {
            await #expect {
                try await client.startRide(trip, token: "t")
            } throws: { error in
                switch error as? RideError {
                case .transport, .decoding: true
                default: false
                }
            }
        }
    }

    @Test(arguments: [
        (200, "not json", UploadOutcome.rejected(status: 0)),
        (401, "", .unauthorized),
        (404, #"{"error":"ride not found"}"#, .gone(.serverRestart)),
        (404, "no such page", .rejected(status: 404)),
        (409, #"{"error":"ride ended"}"#, .gone(.serverRestart)),
        (409, #"{"error":"ride ended","end_reason":"off_route"}"#, .gone(.offRoute)),
        (409, #"{"error":"ride ended","end_reason":"new_one"}"#, .gone(.idle)),
        (422, "", .rejected(status: 422)),
        (429, "", .throttled(retryAfter: nil)),
        (307, "", .failed(retryAfter: nil)),
        (500, "", .failed(retryAfter: nil)),
        (503, "", .failed(retryAfter: nil)),
    ])
    func `sorts the answers to an upload`(status: Int, body: String, outcome: UploadOutcome) {
        #expect(
            UploadOutcome(RiderResponse(status: status, body: Data(body.utf8))) == outcome
        )
    }

    @Test func `reads states and verdicts this build does not know`() throws {
        let text = FakeRideTransport.accepted(state: "quarantined")
            .replacingOccurrences(of: "\"corroborated\"", with: "\"guessed\"")
        let answer = try JSONDecoder().decode(PositionsAnswer.self, from: Data(text.utf8))
        #expect(answer.state == .unknown)
        #expect(answer.corroboration == .unknown)
    }
}
