import Messages
import TestKit
import Testing
import Transit
import Web

@testable import RiderIngestService

/// `POST /api/v1/rider/rides`, in the order of spec 2.2.
@Suite(.timeLimit(.minutes(1))) struct StartRideTests {
    private static let started = RideStarted(
        state: "pending",
        startDate: ServiceDate(daysSince1970: 20_500),
        routeID: "R",
        destination: .init(stopID: "S9", latitude: 1.5, longitude: -2.25)
    )

    @Test func `answers 201 with the ride and its limits`() async throws {
        try await withIngest(answering: .reply(.started(Self.started))) { ingest async throws in
            let body = """
                {"trip_id":"T 1","start_date":"20260216","route_id":"R","vehicle_id":"v:1",\
                "boarding_stop_id":"S1","destination_stop_id":"S9"}
                """
            let answer = try await ingest.post("rides", body)
            #expect(answer.status == 201)
            // What phones may pack their reports with.
            #expect(answer.headers.first("Accept-Encoding") == "gzip")
            let ask = try #require(ingest.verifiers.asks.first)
            guard case .start(let start) = ask.request.body else {
                Issue.record("no start: \(ask)")
                return
            }
            #expect(
                answer.text == """
                    {"ride_id":"\(start.rideID)","state":"pending","report_interval_seconds":5,\
                    "max_batch_size":12,"destination":{"stop_id":"S9","latitude":1.5,\
                    "longitude":-2.25}}
                    """
            )
            #expect(start.rideID.slot == Slot(of: "T 1"))
            let expected = StartRide(
                rideID: start.rideID,
                riderID: ingest.rider,
                tripID: "T 1",
                startDate: ServiceDate("20260216"),
                routeID: "R",
                vehicleID: "v:1",
                boardingStopID: "S1",
                destinationStopID: "S9",
                receivedAt: IngestProcess.now
            )
            #expect(start == expected)
        }
    }

    @Test func `passes on what the token says of the installation`() async throws {
        try await withIngest(answering: .reply(.started(Self.started))) {
            ingest async throws in
            let tokens = TestTokens(clock: ManualClock(IngestProcess.now).application)
            let facts = InstallationFacts(addressBlock: .max, installedAt: 1_771_000_000, build: 9)
            let token = tokens.token(.rider, subject: ingest.rider, installation: facts)
            _ = try await ingest.post("rides", "{\"trip_id\":\"T\"}", token: token)
            _ = try await ingest.post("rides", "{\"trip_id\":\"T\"}")
            let starts = ingest.verifiers.bodies.map { body -> RiderInstallation? in
                guard case .start(let start) = body else { return nil }
                return start.installation
            }
            let expected = RiderInstallation(
                addressBlock: .max,
                installedAt: 1_771_000_000,
                build: 9
            )
            #expect(starts == [expected, nil])
        }
    }

    @Test func `leaves the destination out when the trip does not call there`() async throws {
        var started = Self.started
        started.destination = nil
        try await withIngest(answering: .reply(.started(started))) {
            ingest async throws in
            let answer = try await ingest.post("rides", "{\"trip_id\":\"T\"}")
            #expect(answer.status == 201)
            #expect(!answer.text.contains("destination"))
            guard case .start(let start) = ingest.verifiers.bodies.first else { return }
            #expect(start.startDate == nil)
            #expect(start.routeID == nil)
        }
    }

    static let long = String(repeating: "é", count: 101)
    static let identifiers = "identifiers must be at most 100 characters"
    @Test(arguments: [
        ("{}", "trip_id is required", "trip_id.required"),
        ("{\"trip_id\":\"\"}", "trip_id is required", "trip_id.required"),
        ("{\"trip_id\":\"\(long)\"}", "trip_id is required", "trip_id.required"),
        ("{\"trip_id\":\"T\",\"route_id\":\"\(long)\"}", identifiers, "identifier.too_long"),
        ("{\"trip_id\":\"T\",\"vehicle_id\":\"\(long)\"}", identifiers, "identifier.too_long"),
        (
            "{\"trip_id\":\"T\",\"boarding_stop_id\":\"\(long)\",\"start_date\":\"x\"}",
            identifiers, "identifier.too_long"
        ),
        (
            "{\"trip_id\":\"T\",\"destination_stop_id\":\"\(long)\"}", identifiers,
            "identifier.too_long"
        ),
        (
            "{\"trip_id\":\"a\\u0000\"}", "invalid JSON: malformed escape at byte 13",
            "json.invalid"
        ),
        (
            "{\"trip_id\":\"T\",\"start_date\":\"2026021\"}", "start_date must be YYYYMMDD",
            "start_date.invalid"
        ),
        (
            "{\"trip_id\":\"T\",\"start_date\":\"20260230\"}", "start_date must be YYYYMMDD",
            "start_date.invalid"
        ),
    ])
    func `refuses a wrong body without asking`(
        body: String,
        error: String,
        code: String
    ) async throws {
        try await withIngest(answering: .reply(.started(Self.started))) { ingest async throws in
            let answer = try await ingest.post("rides", body)
            #expect(answer.status == 400)
            #expect(answer.text == refusal(error, code))
            #expect(ingest.verifiers.asks.isEmpty)
        }
    }

    @Test func `takes identifiers of exactly a hundred characters`() async throws {
        let id = String(repeating: "é", count: 100)
        try await withIngest(answering: .reply(.started(Self.started))) { ingest async throws in
            let body = "{\"trip_id\":\"\(id)\",\"route_id\":\"\(id)\",\"vehicle_id\":\"\(id)\"}"
            #expect(try await ingest.post("rides", body).status == 201)
        }
    }

    // MARK: - One active ride per rider

    @Test func `ends the earlier ride in its own slot and starts again`() async throws {
        let other = UniqueID.ride(slot: Slot(7))
        let script: @Sendable (FakeVerifiers.Ask, Int) -> FakeVerifiers.Outcome = { ask, index in
            switch (ask.request.body, index) {
            case (.start, 0): .reply(.conflict(rideID: other))
            case (.supersede, 1):
                .reply(
                    .ended(RideEnded(points: 1, matched: 1, corroborated: 0, durationSeconds: 9))
                )
            case (.start, 2): .reply(.started(Self.started))
            default: .reply(.refused(RideRefusal(.failed)))
            }
        }
        try await withIngest(script) { ingest async throws in
            #expect(try await ingest.post("rides", "{\"trip_id\":\"T\"}").status == 201)
            let bodies = ingest.verifiers.bodies
            let supersede = SupersedeRide(
                rideID: other,
                riderID: ingest.rider,
                receivedAt: IngestProcess.now
            )
            #expect(bodies.count == 3)
            #expect(bodies[1] == .supersede(supersede))
            #expect(bodies[0] == bodies[2])
        }
    }

    @Test func `a second conflict is 409`() async throws {
        let script: @Sendable (FakeVerifiers.Ask, Int) -> FakeVerifiers.Outcome = { ask, _ in
            if case .supersede = ask.request.body {
                return .reply(.refused(RideRefusal(.rideEnded)))
            }
            return .reply(.conflict(rideID: .ride(slot: Slot(7))))
        }
        try await withIngest(script) { ingest async throws in
            let answer = try await ingest.post("rides", "{\"trip_id\":\"T\"}")
            #expect(answer.status == 409)
            #expect(answer.text == refusal("rider already has an active ride", "ride.active"))
            #expect(ingest.verifiers.asks.count == 3)
        }
    }

    @Test func `does not start while the earlier ride cannot be ended`() async throws {
        let script: @Sendable (FakeVerifiers.Ask, Int) -> FakeVerifiers.Outcome = { ask, _ in
            if case .supersede = ask.request.body {
                return .reply(.refused(RideRefusal(.unavailable)))
            }
            return .reply(.conflict(rideID: .ride(slot: Slot(7))))
        }
        try await withIngest(script) { ingest async throws in
            let answer = try await ingest.post("rides", "{\"trip_id\":\"T\"}")
            #expect(answer.status == 503)
            #expect(answer.headers.first("Retry-After") == "2")
            #expect(ingest.verifiers.asks.count == 2)
        }
    }
}
