import Messages
import TestKit
import Testing
import Transit
import Verification

@testable import VerifierService

/// Ending a ride, by its rider, by another ride or by the clock (spec 2.5 and 4.8).
@Suite(.timeLimit(.minutes(3))) struct EndTests {
    @Test func `the first end wins, its repeat gets the summary, another does not`()
        async throws
    {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = Rider()
            _ = await verifier.start(rider)
            _ = await verifier.report(rider, Course.points([-20, -15, -10]))
            world.pass(65)
            let request = UniqueID.random()
            let summary = RideReply.Body.ended(
                RideEnded(points: 3, matched: 3, corroborated: 0, durationSeconds: 65)
            )
            #expect(await verifier.end(rider, "arrived", requestID: request) == summary)
            #expect(await verifier.end(rider, "arrived", requestID: request) == summary)
            #expect(await verifier.end(rider, "user_requested") == .ended(because: "arrived"))
            #expect(await verifier.supersede(rider) == .ended(because: "arrived"))
            #expect(
                try await world.row(
                    [
                        "status", "state", "end_reason", "ended_by", "along_shape", "speed",
                        "batch_digest", "batch_answer",
                        "ended_at = to_timestamp(\(world.clock.now))",
                    ],
                    "FROM verifier.rides"
                ) == [
                    "ended", "verified", "arrived", request.description, nil, nil, nil, nil,
                    "true",
                ]
            )
            #expect(try await world.number("SELECT score FROM verifier.rider_reputation") == 0)
        }
    }

    @Test func `one request that arrives twice at once ends once`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            for _ in 0..<5 {
                let rider = Rider()
                _ = await verifier.start(rider)
                let request = UniqueID.random()
                async let first = verifier.end(rider, requestID: request)
                async let second = verifier.end(rider, requestID: request)
                let answers = await [first, second]
                #expect(answers[0] == answers[1])
                #expect(answers[0].refusal == nil)
            }
        }
    }

    @Test func `foreign, unknown and unreasonable ends change nothing`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = Rider()
            _ = await verifier.start(rider)
            let foreign = EndRide(
                rideID: rider.ride,
                riderID: .random(),
                reason: "arrived",
                receivedAt: Course.start
            )
            #expect(await verifier.ask(.end(foreign)) == .refused(RideRefusal(.rideNotFound)))
            #expect(await verifier.end(Rider(rider.id)) == .refused(RideRefusal(.rideEnded)))
            for reason in ["off_route", "superseded", "idle", "server_restart", ""] {
                #expect(await verifier.end(rider, reason) == .refused(RideRefusal(.invalid)))
            }
            #expect(
                try await world.number(
                    "SELECT count(*) FROM verifier.rides WHERE status = 'active'"
                ) == 1
            )
        }
    }

    @Test func `a superseded ride says so and keeps what it earned`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = Rider()
            try await earn(rider, verifier, world)
            #expect(await verifier.supersede(rider).refusal == nil)
            #expect(
                try await world.row(
                    ["end_reason", "corroborated", "points_corroborated"],
                    "FROM verifier.rides"
                ) == ["superseded", "true", "12"]
            )
            #expect(
                try await world.row(
                    ["score", "rides_total", "rides_corroborated", "rides_rejected"],
                    "FROM verifier.rider_reputation"
                ) == ["1", "1", "1", "0"]
            )
            #expect(
                await verifier.report(rider, Course.points([1])) == .ended(because: "superseded")
            )
        }
    }

    /// A ride that a trusted vehicle confirms twelve times over five minutes.
    private func earn(_ rider: Rider, _ verifier: TestVerifier, _ world: World) async throws {
        world.clock.set(Course.start - 300)
        _ = await verifier.start(rider)
        for offset in stride(from: Int64(-300), through: 30, by: 30) {
            world.clock.set(Course.start + offset)
            world.pass(0)
            let point = Course.points([offset])[0]
            world.setTrusted(
                TrustedSnapshot(
                    [
                        TrustedVehicle(
                            tripID: rider.trip,
                            startDate: Course.monday,
                            vehicleID: "bus",
                            coordinate: Coordinate(
                                latitude: point.latitude,
                                longitude: point.longitude
                            ),
                            timestamp: offset + Course.start
                        )
                    ],
                    createdAt: Course.start + offset
                )
            )
            world.pass(2)
            let answer = await verifier.report(rider, [point]).batch
            #expect(answer?.corroboration == "corroborated")
        }
    }

    @Test func `the score is clamped and decides the tier`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let place = Course.points([0], ahead: -0.03)[0]
            let elsewhere = TrustedVehicle(
                tripID: "T1",
                startDate: nil,
                vehicleID: "bus",
                coordinate: Coordinate(latitude: place.latitude, longitude: place.longitude),
                timestamp: Course.start
            )
            world.setTrusted(TrustedSnapshot([elsewhere], createdAt: Course.start))
            for (score, reason, after, tier) in [
                (0, "contradicted", -3, "blocked"), (10, "contradicted", 7, "trusted"),
                (-9, "contradicted", -10, "blocked"), (-10, "off_route", -10, "blocked"),
                (3, "off_route", 2, "new"), (4, "off_route", 3, "trusted"),
                (-2, "off_route", -3, "blocked"), (5, "arrived", 5, "trusted"),
            ] {
                let rider = Rider()
                try await world.run(
                    """
                    INSERT INTO verifier.rider_reputation (rider_id, score, tier,
                        changes_full_at, last_seen_at)
                    VALUES ('\(rider.id)', \(score), 'new', 'epoch', 'epoch')
                    """
                )
                _ = await verifier.start(rider)
                let east = reason == "off_route" ? 0.01 : 0
                if reason == "arrived" {
                    _ = await verifier.end(rider, reason)
                } else {
                    let points = Course.points([-20, -15, -10, -5, 0], east: east)
                    #expect(await verifier.report(rider, points).batch?.endReason == reason)
                }
                #expect(
                    try await world.row(
                        ["score", "tier"],
                        "FROM verifier.rider_reputation WHERE rider_id = '\(rider.id)'"
                    ) == [String(after), tier],
                    "\(score) \(reason)"
                )
            }
        }
    }
}
