import Database
import Messages
import TestKit
import Testing
import Transit
import Verification

@testable import VerifierService

/// Reporting positions (spec 2.3 and 2.4).
@Suite(.timeLimit(.minutes(3))) struct PositionTests {
    private static let limited = RideReply.Body.refused(
        RideRefusal(.tooManyReports, retryAfterSeconds: 2)
    )

    /// Runs `body` with a ride under way.
    private func withRide(_ body: (World, TestVerifier, Rider) async throws -> Void) async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = Rider()
            let started = await verifier.start(rider)
            try #require(started.refusal == nil)
            try await body(world, verifier, rider)
        }
    }

    private func points(_ world: World) async throws -> Int {
        try await world.number("SELECT count(*) FROM verifier.ride_points")
    }

    @Test func `points and counters are committed when the answer comes`() async throws {
        try await withRide { world, verifier, rider async throws in
            let answer = await verifier.report(rider, Course.points([-25, -20, -15, -10, -5]))
            #expect(
                answer
                    == .accepted(
                        BatchAccepted(
                            state: "verified",
                            published: false,
                            corroboration: "unavailable",
                            accepted: 5,
                            ignored: 0,
                            offRouteStreak: 0,
                            ended: false
                        )
                    )
            )
            #expect(try await points(world) == 5)
            world.pass(5)
            let more = Course.points([0, 5]) + Course.points([-10])
            #expect(await verifier.report(rider, more).batch?.ignored == 1)
            let row = try await world.row(
                [
                    "points_total", "points_matched", "match_streak", "state",
                    "updated_at = to_timestamp(\(world.clock.now))",
                ],
                "FROM verifier.rides"
            )
            #expect(row == ["7", "7", "7", "verified", "true"])
            #expect(try await points(world) == 7)
        }
    }

    @Test func `a point is stored as it was reported and judged`() async throws {
        try await withRide { world, verifier, rider async throws in
            var bare = Course.points([-10])[0]
            var full = Course.points([-5])[0]
            (full.accuracy, full.speed, full.bearing) = (4.5, 0, 359)
            _ = await verifier.report(rider, [bare, full])
            let columns = [
                "accuracy", "speed", "bearing", "outcome", "corroboration",
                "schedule_deviation_seconds BETWEEN -2 AND 2", "distance_to_shape < 1",
                "round(along_shape / 10)",
            ]
            #expect(
                try await world.row(columns, "FROM verifier.ride_points ORDER BY timestamp LIMIT 1")
                    == [nil, nil, nil, "matched", "unavailable", "true", "true", "492"]
            )
            #expect(
                try await world.row(
                    columns,
                    "FROM verifier.ride_points ORDER BY timestamp DESC LIMIT 1"
                ) == ["4.5", "0", "359", "matched", "unavailable", "true", "true", "496"]
            )
            world.pass(5)
            bare.timestamp = Course.start
            bare.longitude += 0.01
            _ = await verifier.report(rider, [bare])
            #expect(
                try await world.row(
                    ["outcome", "schedule_deviation_seconds"],
                    "FROM verifier.ride_points ORDER BY timestamp DESC LIMIT 1"
                ) == ["off_route", nil]
            )
        }
    }

    @Test func `a batch of nothing but ignored points stores nothing`() async throws {
        try await withRide { world, verifier, rider async throws in
            var vague = Course.points([-5])[0]
            vague.accuracy = 500
            let nowhere = ReportedPoint(latitude: 0, longitude: 0, timestamp: Course.start)
            let batch = await verifier.report(rider, [vague, nowhere] + Course.points([-601, 31]))
            #expect(batch.batch?.accepted == 0)
            #expect(batch.batch?.ignored == 4)
            #expect(batch.batch?.state == "pending")
            #expect(try await points(world) == 0)
            let row = try await world.row(
                ["points_total", "batch_digest", "last_accepted_at"],
                "FROM verifier.rides"
            )
            #expect(row == ["0", nil, nil])
        }
    }

    @Test func `the third upload within two seconds is too much`() async throws {
        try await withRide { world, verifier, rider async throws in
            #expect(await verifier.report(rider, Course.points([-20])).batch?.accepted == 1)
            #expect(await verifier.report(rider, Course.points([-15])).batch?.accepted == 1)
            #expect(await verifier.report(rider, Course.points([-10])) == Self.limited)
            world.pass(1)
            #expect(await verifier.report(rider, Course.points([-10])) == Self.limited)
            world.pass(1)
            #expect(await verifier.report(rider, Course.points([-10])).batch?.accepted == 1)
            #expect(await verifier.report(rider, Course.points([-5])) == Self.limited)
            #expect(try await points(world) == 3)
        }
    }

    @Test func `the same batch again gets the same answer and doubles nothing`() async throws {
        try await withRide { world, verifier, rider async throws in
            let batch = Course.points([-20, -15, -10])
            let first = await verifier.report(rider, batch)
            world.pass(2)
            #expect(await verifier.report(rider, batch) == first)
            #expect(try await points(world) == 3)
            #expect(try await world.number("SELECT points_total FROM verifier.rides") == 3)
            // The same points in another batch are old.
            world.pass(2)
            let old = await verifier.report(rider, Array(batch.reversed())).batch
            #expect(old?.accepted == 0)
            #expect(old?.ignored == 3)
            world.pass(2)
            let partly = await verifier.report(rider, batch + Course.points([-5])).batch
            #expect(partly?.accepted == 1)
            #expect(partly?.ignored == 3)
            #expect(try await points(world) == 4)
        }
    }

    @Test func `batches that arrive together are taken in turn`() async throws {
        try await withRide { world, verifier, rider async throws in
            let batch = Course.points([-20, -15])
            async let first = verifier.report(rider, batch)
            async let second = verifier.report(rider, batch)
            let answers = await [first, second]
            #expect(answers[0] == answers[1])
            #expect(answers[0].batch?.accepted == 2)
            #expect(try await world.number("SELECT points_total FROM verifier.rides") == 2)
        }
    }

    @Test func `a batch that rejects ends the ride and costs a point`() async throws {
        try await withRide { world, verifier, rider async throws in
            _ = await verifier.report(rider, Course.points([-60]))
            world.pass(2)
            let batch = Course.points([-50, -45, -40, -35, -30, -25], east: 0.01)
            let answer = await verifier.report(rider, batch).batch
            #expect(answer?.state == "rejected")
            #expect(answer?.accepted == 5)
            #expect(answer?.ignored == 1)
            #expect(answer?.ended == true)
            #expect(answer?.endReason == "off_route")
            world.pass(2)
            #expect(await verifier.report(rider, batch) == .ended(because: "off_route"))
            #expect(await verifier.end(rider) == .ended(because: "off_route"))
            #expect(try await points(world) == 6)
            #expect(
                try await world.row(
                    ["score", "tier", "rides_total", "rides_rejected", "rides_corroborated"],
                    "FROM verifier.rider_reputation"
                ) == ["-1", "new", "1", "1", "0"]
            )
            #expect(
                try await world.row(
                    [
                        "status", "state", "end_reason", "points_total", "along_shape", "speed",
                        "batch_digest", "batch_answer", "ended_by",
                    ],
                    "FROM verifier.rides"
                ) == ["ended", "rejected", "off_route", "6", nil, nil, nil, nil, nil]
            )
        }
    }

    @Test func `a blocked rider hears what everyone hears, and nothing is kept`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = Rider()
            try await world.run(
                """
                INSERT INTO verifier.rider_reputation (rider_id, score, tier, changes_full_at,
                    last_seen_at) VALUES ('\(rider.id)', -3, 'blocked', 'epoch', 'epoch')
                """
            )
            _ = await verifier.start(rider)
            let answer = await verifier.report(rider, Course.points([-15, -10, -5])).batch
            #expect(answer?.state == "verified")
            #expect(answer?.accepted == 3)
            #expect(try await points(world) == 0)
            #expect(
                try await world.row(
                    ["points_total", "along_shape", "speed"],
                    "FROM verifier.rides"
                ) == ["3", nil, nil]
            )
            verifier.node.publishOnce()
            #expect(verifier.estimates(in: rider.ride.slot).last?.estimates == [])
        }
    }

    // MARK: - Whose ride it is

    @Test func `a foreign ride is not found, live or ended`() async throws {
        try await withRide { world, verifier, rider async throws in
            let stranger = UniqueID.random()
            let batch = Course.points([-5])
            func report() async -> RideReply.Body {
                await verifier.ask(
                    .positions(
                        ReportPositions(
                            rideID: rider.ride,
                            riderID: stranger,
                            points: batch,
                            receivedAt: Course.start
                        )
                    )
                )
            }
            #expect(await report() == .refused(RideRefusal(.rideNotFound)))
            // It is not charged to the rider either.
            #expect(await verifier.report(rider, Course.points([-20])).batch != nil)
            #expect(await verifier.report(rider, Course.points([-15])).batch != nil)
            _ = await verifier.end(rider)
            #expect(await report() == .refused(RideRefusal(.rideNotFound)))
        }
    }

    @Test func `an unknown ride has ended, an own ended one says why`() async throws {
        try await withRide { _, verifier, rider async throws in
            let batch = Course.points([-5])
            #expect(
                await verifier.report(Rider(rider.id), batch)
                    == .refused(RideRefusal(.rideEnded))
            )
            _ = await verifier.end(rider, "stationary")
            #expect(await verifier.report(rider, batch) == .ended(because: "stationary"))
        }
    }

    @Test func `a ride whose row was ended by another hand is dropped`() async throws {
        try await withRide { world, verifier, rider async throws in
            _ = await verifier.report(rider, Course.points([-20]))
            try await world.run(
                """
                UPDATE verifier.rides SET status = 'ended', end_reason = 'max_duration',
                    ended_at = updated_at, along_shape = NULL, speed = NULL, batch_answer = NULL
                """
            )
            world.pass(2)
            #expect(
                await verifier.report(rider, Course.points([-10]))
                    == .ended(because: "max_duration")
            )
            #expect(try await points(world) == 1)
            #expect(try await world.number("SELECT points_total FROM verifier.rides") == 1)
            #expect(await verifier.end(rider) == .ended(because: "max_duration"))
            try await world.run("DELETE FROM verifier.rides")
            #expect(await verifier.end(rider) == .refused(RideRefusal(.rideEnded)))
        }
    }
}
