import Bus
import Messages
import ServiceKit
import Telemetry
import TestKit
import Testing
import Transit
import Web

@testable import RiderIngestService

/// What operators see of riders (seed 4.10, spec 2.12).
@Suite(.timeLimit(.minutes(1))) struct AdminTests {
    private static let ride = RideListEntry(
        rideID: UniqueID(high: 1, low: 2),
        riderID: UniqueID(high: 3, low: 4),
        trip: TripInstance(tripID: "T1", startDate: ServiceDate(daysSince1970: 20_500)),
        routeID: "R1",
        state: "verified",
        corroborated: true,
        points: 9,
        matchedPoints: 8,
        corroboratedPoints: 7,
        startedAt: IngestProcess.now
    )
    private static let rideMembers = """
        "id":"00000000-0000-0001-0000-000000000002",\
        "rider_id":"00000000-0000-0003-0000-000000000004","trip_id":"T1","start_date":"20260216",\
        "route_id":"R1","state":"verified","corroborated":true,"status":"active","end_reason":"",\
        "points_total":9,"points_matched":8,"points_corroborated":7,\
        "started_at":"2026-02-16T16:00:00Z","ended_at":null
        """

    // MARK: - Status

    @Test func `status adds up what the verifiers say and names who is silent`() async throws {
        let agencies = AgencyBoard()
        agencies.heard(
            AgencyFeeds(
                instance: "feed-1",
                epoch: 1,
                sequence: 1,
                feeds: [
                    .init(url: "https://a", lastSuccess: 0, lastError: "", entities: 87),
                    .init(url: "https://b", lastSuccess: nil, lastError: "503", entities: 0),
                ]
            ).encoded()
        )
        try await withIngest(
            answering { ask, _ in
                ask.instance == "a" ? .reply(.status(Self.status)) : .fault(.timeout("b"))
            },
            agencies: agencies
        ) { ingest async throws in
            let answer = try await ingest.admin("status")
            #expect(answer.status == 200)
            #expect(
                answer.text == """
                    {"enabled":true,"gtfs":{"source":"gtfs.zip","loaded_at":"2026-02-16T16:00:00Z",\
                    "trips":1234,"shapes":210,"timezone":"America/Los_Angeles"},"trusted_feeds":[\
                    {"url":"https://a","last_success":"1970-01-01T00:00:00Z","last_error":"",\
                    "entities":87},{"url":"https://b","last_success":"","last_error":"503",\
                    "entities":0}],"riders":{"total":40,"trusted":6,"blocked":1},\
                    "rides":{"active":3,"publishable":2},"verifiers":[{"instance":"a",\
                    "answered":true,"slots":128,"active":3,"publishable":2},\
                    {"instance":"b","answered":false}]}
                    """
            )
            #expect(Set(ingest.verifiers.instances) == ["a", "b"])
            #expect(ingest.verifiers.asks.allSatisfy { $0.timeout == .seconds(2) })
        }
    }

    private static let status = VerifierStatusReply(
        instance: "a",
        schedule: .init(
            source: "gtfs.zip",
            contentHash: "ff",
            loadedAt: IngestProcess.now,
            trips: 1234,
            shapes: 210,
            timeZone: "America/Los_Angeles"
        ),
        ownedSlots: 128,
        activeRides: 3,
        publishableTrips: 2,
        riders: 40,
        trustedRiders: 6,
        blockedRiders: 1
    )

    @Test func `active and publishable rides of all verifiers are summed, riders are not`()
        async throws
    {
        try await withIngest(
            answering { ask, _ in
                var status = Self.status
                status.instance = ask.instance
                return .reply(.status(status))
            }
        ) { ingest async throws in
            let text = try await ingest.admin("status").text
            #expect(text.contains("\"rides\":{\"active\":6,\"publishable\":4}"))
            #expect(text.contains("\"riders\":{\"total\":40,\"trusted\":6,\"blocked\":1}"))
            #expect(!text.contains("trusted_feeds"), "no agency feed is configured")
        }
    }

    @Test func `an older word about the agencies' feeds changes nothing`() {
        let board = AgencyBoard()
        func hear(_ epoch: UInt64, _ sequence: UInt64, _ url: String) {
            let feed = AgencyFeeds.Feed(url: url, lastSuccess: 1, lastError: "", entities: 1)
            board.heard(
                AgencyFeeds(instance: "f", epoch: epoch, sequence: sequence, feeds: [feed])
                    .encoded()
            )
        }
        hear(2, 5, "new")
        hear(2, 4, "older")
        hear(1, 9, "old builder")
        board.heard([0xFF])
        #expect(board.feeds.map(\.url) == ["new"])
    }

    // MARK: - List

    @Test(arguments: [
        ("", RideListQuery(status: .active, limit: 50, offset: 0)),
        ("?status=", RideListQuery(status: .active, limit: 50, offset: 0)),
        ("?status=active&limit=1", RideListQuery(status: .active, limit: 1, offset: 0)),
        ("?status=ended&limit=200", RideListQuery(status: .ended, limit: 200, offset: 0)),
        (
            "?offset=2147483647",
            RideListQuery(status: .active, limit: 50, offset: 2_147_483_647)
        ),
    ])
    func `the list asks any verifier for a page`(
        query: String,
        expected: RideListQuery
    )
        async throws
    {
        let page = RideListReply(rides: [Self.ride], hasMore: true)
        try await withIngest(answering: .reply(.rides(page))) { ingest async throws in
            let answer = try await ingest.admin("rides" + query)
            #expect(answer.status == 200)
            #expect(
                answer.text
                    == "{\"count\":1,\"has_more\":true,\"rides\":[{\(Self.rideMembers)}]}"
            )
            #expect(ingest.verifiers.bodies == [.rides(expected)])
        }
    }

    @Test(arguments: [
        ("status=live", "status must be \\\"active\\\" or \\\"ended\\\"", "status.invalid"),
        ("status=ACTIVE", "status must be \\\"active\\\" or \\\"ended\\\"", "status.invalid"),
        ("limit=0", "limit must be between 1 and 200", "limit.invalid"),
        ("limit=201", "limit must be between 1 and 200", "limit.invalid"),
        ("limit=-1", "limit must be between 1 and 200", "limit.invalid"),
        ("limit=", "limit must be between 1 and 200", "limit.invalid"),
        ("limit=%2B5", "limit must be between 1 and 200", "limit.invalid"),
        ("limit=5.0", "limit must be between 1 and 200", "limit.invalid"),
        ("limit=99999999999999999999", "limit must be between 1 and 200", "limit.invalid"),
        ("offset=-1", "offset must be between 0 and 2147483647", "offset.invalid"),
        ("offset=2147483648", "offset must be between 0 and 2147483647", "offset.invalid"),
        ("offset=x", "offset must be between 0 and 2147483647", "offset.invalid"),
    ])
    func `the list refuses a bad query`(query: String, error: String, code: String) async throws {
        try await withIngest(answering: .fault(.closed)) { ingest async throws in
            let answer = try await ingest.admin("rides?" + query)
            #expect(answer.status == 400)
            #expect(answer.text == refusal(error, code))
            #expect(ingest.verifiers.asks.isEmpty)
        }
    }

    @Test func `an ended ride says when`() async throws {
        var ride = Self.ride
        ride.endReason = "idle"
        ride.endedAt = ride.startedAt + 60
        let page = RideListReply(rides: [ride], hasMore: false)
        try await withIngest(answering: .reply(.rides(page))) { ingest async throws in
            let text = try await ingest.admin("rides?status=ended").text
            #expect(text.contains("\"status\":\"ended\",\"end_reason\":\"idle\""))
            #expect(text.contains("\"ended_at\":\"2026-02-16T16:01:00Z\""))
        }
    }

    @Test func `a verifier that does not answer is passed over`() async throws {
        let page = RideListReply(rides: [], hasMore: false)
        for _ in 0..<8 {
            try await withIngest(
                answering { _, index in
                    index == 0 ? .fault(.unreachable("x")) : .reply(.rides(page))
                }
            ) { ingest async throws in
                let answer = try await ingest.admin("rides")
                #expect(answer.status == 200)
                #expect(Set(ingest.verifiers.instances) == ["a", "b"])
            }
        }
    }

    @Test(arguments: ["status", "rides", "rides/00000000-0000-0001-0000-000000000002"])
    func `without an answer all is 503`(path: String) async throws {
        let outcomes: [FakeVerifiers.Outcome] = [
            .fault(.timeout("a")), .bytes([0xFF]), .reply(.refused(.away)),
        ]
        for outcome in outcomes {
            try await withIngest(answering: outcome) { ingest async throws in
                let answer = try await ingest.admin(path)
                #expect(answer.status == 503)
                #expect(answer.headers.first("Retry-After") == "2")
                #expect(
                    answer.text
                        == refusal(
                            "verification unavailable, try again",
                            "verification.unavailable"
                        )
                )
            }
        }
    }

    // MARK: - One ride

    @Test func `a ride shows its changes, and each point with rule, measure and sentence`()
        async throws
    {
        let detail = RideDetailReply(
            ride: Self.ride,
            vehicleID: "V",
            boardingStopID: "A",
            destinationStopID: "C",
            changes: [RideStateChange(state: "pending", at: IngestProcess.now)],
            points: [
                ExplainedPoint(
                    point: ReportedPoint(latitude: 1.5, longitude: -2, timestamp: 5),
                    outcome: "off_route",
                    corroboration: "unavailable",
                    rule: "shape.distance",
                    measured: 75,
                    threshold: 60,
                    unit: "m",
                    explanation: "Off route: 75 m from the shape, more than 60 m.",
                    alongShape: 10,
                    distanceToShape: 75,
                    receivedAt: 7
                )
            ]
        )
        try await withIngest(answering: .reply(.ride(detail))) { ingest async throws in
            let answer = try await ingest.admin("rides/\(Self.ride.rideID)")
            #expect(answer.status == 200)
            #expect(
                answer.text == """
                    {\(Self.rideMembers),"vehicle_id":"V","boarding_stop_id":"A",\
                    "destination_stop_id":"C","changes":[{"state":"pending",\
                    "at":"2026-02-16T16:00:00Z"}],"points":[{"timestamp":5,"latitude":1.5,\
                    "longitude":-2.0,"accuracy":null,"speed":null,"bearing":null,\
                    "outcome":"off_route","corroboration":"unavailable","rule":"shape.distance",\
                    "measured":75.0,"threshold":60.0,"unit":"m",\
                    "explanation":"Off route: 75 m from the shape, more than 60 m.",\
                    "along_shape":10.0,"distance_to_shape":75.0,\
                    "schedule_deviation_seconds":null,"received_at":"1970-01-01T00:00:07Z"}]}
                    """
            )
            #expect(
                ingest.verifiers.bodies == [.ride(RideDetailQuery(rideID: Self.ride.rideID))]
            )
        }
    }

    @Test func `a ride that is not there is 404, also what is no UUID`() async throws {
        try await withIngest(answering: .reply(.refused(RideRefusal(.rideNotFound)))) {
            ingest async throws in
            for id in ["\(UniqueID.random())", "42"] {
                let answer = try await ingest.admin("rides/\(id)")
                #expect(answer.status == 404)
                #expect(answer.text == refusal("ride not found", "ride.not_found"))
            }
        }
    }

    // MARK: - Who, and whether at all

    @Test(arguments: ["status", "rides", "rides/00000000-0000-0001-0000-000000000002"])
    func `admins alone are let in`(path: String) async throws {
        for isEnabled in [true, false] {
            try await withIngest(answering { _, _ in .fault(.closed) }, isEnabled: isEnabled) {
                ingest async throws in
                let driver = try await ingest.admin(path, token: ingest.driverToken)
                #expect(driver.status == 403)
                #expect(driver.text == refusal("admin access required", "auth.admin_required"))
                let rider = try await ingest.admin(path, token: ingest.token)
                #expect(rider.status == 403)
                #expect(rider.text == refusal("forbidden", "auth.forbidden"))
                #expect(try await ingest.admin(path, token: "x").status == 401)
                #expect(ingest.verifiers.asks.isEmpty)
            }
        }
    }

    @Test func `with rider mode off the riders' paths are gone and admins see that it is off`()
        async throws
    {
        try await withIngest(answering { _, _ in .fault(.closed) }, isEnabled: false) {
            ingest async throws in
            #expect(try await ingest.admin("status").text == "{\"enabled\":false}")
            let list = try await ingest.admin("rides")
            #expect(list.text == "{\"count\":0,\"has_more\":false,\"rides\":[]}")
            #expect(try await ingest.admin("rides?limit=0").status == 400)
            #expect(try await ingest.admin("rides/\(UniqueID.random())").status == 404)
            let ride = UniqueID.random()
            #expect(try await ingest.post("rides", "{\"trip_id\":\"T\"}").status == 404)
            #expect(try await ingest.post("rides/\(ride)/positions", "{}").status == 404)
            #expect(try await ingest.post("rides/\(ride)/end", "{}").status == 404)
            #expect(try await ingest.get("/api/v1/rider/trips/T/status").status == 404)
            #expect(ingest.verifiers.asks.isEmpty)
        }
    }
}
