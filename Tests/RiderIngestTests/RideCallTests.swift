import Bus
import Messages
import Telemetry
import TestKit
import Testing
import Transit
import Web

@testable import RiderIngestService

/// Positions, ends and trip status as phones send them (spec 2.3-2.6).
@Suite(.timeLimit(.minutes(1))) struct RideCallTests {
    private static let ride = UniqueID.ride(slot: Slot(200))
    private static let point = "{\"latitude\":1,\"longitude\":2,\"timestamp\":5}"
    private static let accepted = BatchAccepted(
        state: "verified",
        published: true,
        corroboration: "agrees",
        accepted: 2,
        ignored: 1,
        offRouteStreak: 3,
        ended: true,
        endReason: "off_route"
    )

    @Test func `the call that riders make every few seconds leaves no line in the log`() {
        let client = VerifierClient(
            FakeVerifiers { _, _ in .bytes([]) }.transport,
            metrics: Metrics()
        )
        let quiet = RiderEndpoints(verifiers: client, now: { 0 }).all
            .filter { $0.logLevel < .info }
        #expect(quiet.map(\.pattern) == ["/api/v1/rider/rides/{id}/positions"])
    }

    // MARK: - Positions

    @Test func `answers 200 with what became of the batch`() async throws {
        try await withIngest(answering: .reply(.accepted(Self.accepted))) { ingest async throws in
            let full = """
                {"latitude":-90,"longitude":180,"timestamp":9,"accuracy":4.5,"speed":0,"bearing":null}
                """
            let answer = try await ingest.post(
                "rides/\(Self.ride)/positions",
                "{\"positions\":[\(Self.point),\(full)]}"
            )
            #expect(answer.status == 200)
            #expect(
                answer.text == """
                    {"state":"verified","published":true,"corroboration":"agrees","accepted":2,\
                    "ignored":1,"off_route_streak":3,"ended":true,"end_reason":"off_route"}
                    """
            )
            let points = [
                ReportedPoint(latitude: 1, longitude: 2, timestamp: 5),
                ReportedPoint(
                    latitude: -90,
                    longitude: 180,
                    accuracy: 4.5,
                    speed: 0,
                    timestamp: 9
                ),
            ]
            let report = ReportPositions(
                rideID: Self.ride,
                riderID: ingest.rider,
                points: points,
                receivedAt: IngestProcess.now
            )
            #expect(ingest.verifiers.bodies == [.positions(report)])
        }
    }

    @Test(
        arguments: [(false, nil, 5), (true, nil, 15), (true, 8, 8), (false, 8, 5)]
            as [(Bool, Int?, Int)]
    )
    func `names the interval to go on with, longer once the ride is published`(
        isPublished: Bool,
        setting: Int?,
        seconds: Int
    ) async throws {
        var batch = Self.accepted
        batch.published = isPublished
        batch.ended = false
        batch.endReason = ""
        try await withIngest(answering: .reply(.accepted(batch)), publishedInterval: setting) {
            ingest async throws in
            let point = "{\"latitude\":1,\"longitude\":2,\"speed\":9,\"timestamp\":5}"
            let answer = try await ingest.post(
                "rides/\(Self.ride)/positions",
                "{\"positions\":[\(point)]}"
            )
            #expect(answer.text.hasSuffix(",\"report_interval_seconds\":\(seconds)}"))
        }
    }

    static let timestamp = "each position needs a timestamp"
    static let coordinates = "latitude and longitude must be valid coordinates"
    @Test(arguments: [
        ("", "positions must contain at least one position", "positions.empty"),
        (
            Array(repeating: point, count: 13).joined(separator: ","),
            "too many positions in one report", "positions.too_many"
        ),
        ("{\"latitude\":1,\"longitude\":2}", timestamp, "timestamp.required"),
        ("{\"latitude\":91,\"longitude\":2,\"timestamp\":0}", timestamp, "timestamp.required"),
        (
            "{\"latitude\":90.001,\"longitude\":2,\"timestamp\":5}", coordinates,
            "coordinates.invalid"
        ),
        (
            "{\"latitude\":1,\"longitude\":-180.1,\"timestamp\":5}", coordinates,
            "coordinates.invalid"
        ),
        ("{\"longitude\":2,\"timestamp\":5}", coordinates, "coordinates.invalid"),
    ])
    func `refuses wrong points before it looks at the ride`(
        points: String,
        error: String,
        code: String
    ) async throws {
        try await withIngest(answering: .reply(.accepted(Self.accepted))) { ingest async throws in
            for ride in [Self.ride.description, "no-uuid"] {
                let body = "{\"positions\":[\(points)]}"
                let answer = try await ingest.post("rides/\(ride)/positions", body)
                #expect(answer.status == 400)
                #expect(answer.text == refusal(error, code))
            }
            #expect(ingest.verifiers.asks.isEmpty)
        }
    }

    @Test func `takes twelve points`() async throws {
        try await withIngest(answering: .reply(.accepted(Self.accepted))) { ingest async throws in
            let points = Array(repeating: Self.point, count: 12).joined(separator: ",")
            let body = "{\"positions\":[\(points)]}"
            #expect(try await ingest.post("rides/\(Self.ride)/positions", body).status == 200)
        }
    }

    @Test(arguments: ["positions", "end"])
    func `what is no UUID was never a ride`(path: String) async throws {
        try await withIngest(answering: .reply(.accepted(Self.accepted))) { ingest async throws in
            let body =
                path == "end" ? "{\"reason\":\"arrived\"}" : "{\"positions\":[\(Self.point)]}"
            let answer = try await ingest.post("rides/no-uuid/\(path)", body)
            #expect(answer.status == 404)
            #expect(answer.text == refusal("ride not found", "ride.not_found"))
            #expect(ingest.verifiers.asks.isEmpty)
        }
    }

    // MARK: - Ending

    @Test(arguments: [
        "user_requested", "arrived", "stationary", "max_duration", "location_unavailable",
        "authorization_denied", "network_failure", "app_terminated",
    ])
    func `ends a ride for a reason of the phone's`(reason: String) async throws {
        let summary = RideEnded(points: 9, matched: 8, corroborated: 7, durationSeconds: 60)
        try await withIngest(answering: .reply(.ended(summary))) { ingest async throws in
            let answer = try await ingest.post(
                "rides/\(Self.ride)/end",
                "{\"reason\":\"\(reason)\"}"
            )
            #expect(answer.status == 200)
            #expect(
                answer.text == """
                    {"status":"ride ended","summary":{"points":9,"matched":8,"corroborated":7,\
                    "duration_seconds":60}}
                    """
            )
            let end = EndRide(
                rideID: Self.ride,
                riderID: ingest.rider,
                reason: reason,
                receivedAt: IngestProcess.now
            )
            #expect(ingest.verifiers.bodies == [.end(end)])
        }
    }

    @Test(arguments: ["{}", "{\"reason\":\"superseded\"}", "{\"reason\":\"Arrived\"}"])
    func `refuses other reasons before it looks at the ride`(body: String) async throws {
        try await withIngest(answering: .fault(.closed)) { ingest async throws in
            for ride in [Self.ride.description, "no-uuid"] {
                let answer = try await ingest.post("rides/\(ride)/end", body)
                #expect(answer.status == 400)
                #expect(answer.text == refusal("unknown end reason", "reason.unknown"))
            }
            #expect(ingest.verifiers.asks.isEmpty)
        }
    }

    // MARK: - Trip status

    @Test func `a percent-encoded trip id reaches the query decoded`() async throws {
        let date = try #require(ServiceDate("20260216"))
        let status = TripStatusReply(
            tripID: "a/b c",
            startDate: date,
            trusted: false,
            riderReported: true,
            riders: 2
        )
        try await withIngest(answering: .reply(.tripStatus(status))) { ingest async throws in
            let answer = try await ingest.get(
                "/api/v1/rider/trips/a%2Fb%20c/status?start_date=20260216"
            )
            #expect(answer.status == 200)
            #expect(
                answer.text == """
                    {"trip_id":"a/b c","start_date":"20260216","trusted":false,\
                    "rider_reported":true,"riders":2}
                    """
            )
            let query = TripStatusQuery(
                tripID: "a/b c",
                startDate: date,
                receivedAt: IngestProcess.now
            )
            #expect(ingest.verifiers.bodies == [.tripStatus(query)])
        }
    }

    @Test func `a wrong date of a trip status is 400`() async throws {
        try await withIngest(answering: .fault(.closed)) { ingest async throws in
            let answer = try await ingest.get("/api/v1/rider/trips/T/status?start_date=20261399")
            #expect(answer.status == 400)
            #expect(answer.text == refusal("start_date must be YYYYMMDD", "start_date.invalid"))
        }
    }
}
