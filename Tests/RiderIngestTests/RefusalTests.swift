import Bus
import Messages
import ServiceKit
import TestKit
import Testing
import Transit
import Web

@testable import RiderIngestService

/// A verifier's refusals as the phone hears them.
@Suite(.timeLimit(.minutes(1))) struct RefusalTests {
    /// A refusal with the answer that it becomes.
    struct Row: Sendable, CustomTestStringConvertible {
        let refusal: RideRefusal
        let status: Int
        let text: String
        var retryAfter: String?
        var testDescription: String { "\(refusal.code) \(refusal.retryAfterSeconds)" }

        init(
            _ refused: RideRefusal,
            _ status: Int,
            _ error: String,
            _ code: String,
            more: String = "",
            retryAfter: String? = nil
        ) {
            refusal = refused
            self.status = status
            text = RiderIngestTests.refusal(error, code, more: more)
            self.retryAfter = retryAfter
        }
    }

    static let reports = "too many position reports, slow down"
    static let changes = "too many ride changes, slow down"
    static let schedule = "schedule data unavailable"
    static let verification = "verification unavailable, try again"
    static let rows = [
        Row(.init(.unknownTrip), 404, "unknown trip", "trip.unknown"),
        Row(.init(.tripNotActive), 422, "trip not active on start_date", "trip.not_active"),
        Row(
            .init(.routeMismatch),
            422,
            "route_id does not match the trip",
            "trip.route_mismatch"
        ),
        Row(.init(.scheduleUnavailable), 503, schedule, "schedule.unavailable", retryAfter: "2"),
        Row(
            .init(.scheduleUnavailable, retryAfterSeconds: 30),
            503,
            schedule,
            "schedule.unavailable",
            retryAfter: "30"
        ),
        Row(.init(.rideNotFound), 404, "ride not found", "ride.not_found"),
        Row(.init(.rideEnded), 409, "ride ended", "ride.ended"),
        Row(
            .init(.rideEnded, endReason: "off_route"),
            409,
            "ride ended",
            "ride.ended",
            more: ",\"end_reason\":\"off_route\""
        ),
        Row(.init(.unknownRider), 401, "unknown rider", "rider.unknown"),
        Row(.init(.tooManyReports), 429, reports, "rate.positions", retryAfter: "1"),
        Row(
            .init(.tooManyReports, retryAfterSeconds: 2),
            429,
            reports,
            "rate.positions",
            retryAfter: "2"
        ),
        Row(.init(.tooManyRideChanges), 429, changes, "rate.rides", retryAfter: "1"),
        Row(.init(.unavailable), 503, verification, "verification.unavailable", retryAfter: "2"),
        Row(
            .init(.unavailable, retryAfterSeconds: 5),
            503,
            verification,
            "verification.unavailable",
            retryAfter: "5"
        ),
        Row(.init(.invalid), 400, "invalid request", "request.invalid"),
        Row(.init(.failed), 500, "internal server error", "internal"),
    ]

    @Test(arguments: rows) func `is answered alike on every path`(row: Row) async throws {
        try await withIngest(answering: .reply(.refused(row.refusal))) { ingest async throws in
            let ride = UniqueID.random()
            let point = "{\"latitude\":1,\"longitude\":2,\"timestamp\":5}"
            let answers = [
                try await ingest.post("rides", "{\"trip_id\":\"T\"}"),
                try await ingest.post("rides/\(ride)/positions", "{\"positions\":[\(point)]}"),
                try await ingest.post("rides/\(ride)/end", "{\"reason\":\"arrived\"}"),
                try await ingest.get("/api/v1/rider/trips/T/status"),
            ]
            for answer in answers {
                #expect(answer.status == row.status)
                #expect(answer.text == row.text)
                #expect(answer.headers.first("Retry-After") == row.retryAfter)
            }
        }
    }

    @Test(arguments: ["rides", "rides/no-uuid/positions", "rides/no-uuid/end"])
    func `bodies are judged before all else`(path: String) async throws {
        try await withIngest(answering: .fault(.closed)) { ingest async throws in
            let media = try await ingest.post(path, "{}", contentType: "text/plain")
            #expect(media.status == 415)
            #expect(
                media.text == refusal("Content-Type must be application/json", "body.media_type")
            )
            let spaces = String(repeating: " ", count: RiderLimits.bodyBytes)
            let large = try await ingest.post(path, "{}" + spaces)
            #expect(large.status == 413)
            #expect(large.text == refusal("request body too large", "body.too_large"))
            for body in ["", "[]", "{} {}", "{\"unknown_field\":1}"] {
                #expect(try await ingest.post(path, body).status == 400, "\(body)")
            }
            #expect(ingest.verifiers.asks.isEmpty)
        }
    }

    @Test func `an answer of another kind is 500`() async throws {
        try await withIngest(answering: .reply(.erased)) { ingest async throws in
            let answer = try await ingest.post("rides", "{\"trip_id\":\"T\"}")
            #expect(answer.status == 500)
            #expect(answer.text == refusal("internal server error", "internal"))
        }
    }

    @Test func `only riders are let in`() async throws {
        let tokens = TestTokens(clock: ManualClock(IngestProcess.now).application)
        try await withIngest(answering: .fault(.closed)) { ingest async throws in
            let body = "{\"trip_id\":\"T\"}"
            for role in [Role.driver, .admin] {
                let answer = try await ingest.post("rides", body, token: tokens.token(role))
                #expect(answer.status == 403)
                #expect(answer.text == refusal("forbidden", "auth.forbidden"))
            }
            let expired = tokens.token(.rider, lifetime: .seconds(-3600))
            #expect(try await ingest.post("rides", body, token: expired).status == 401)
        }
    }

    /// Lets everyone in as a rider whose subject is no rider's id.
    struct Stranger: Authorizer {
        func authorize(_ request: HTTPRequest, access: Access) throws(HTTPError) -> Principal? {
            Principal(subject: "42", role: .rider)
        }
    }

    @Test func `a token whose subject is no rider's id is 401`() async throws {
        try await withIngest(answering: .fault(.closed), authorizer: Stranger()) {
            ingest async throws in
            let answer = try await ingest.post("rides", "{\"trip_id\":\"T\"}")
            #expect(answer.status == 401)
            #expect(answer.text == refusal("invalid token", "auth.invalid_token"))
        }
    }
}
