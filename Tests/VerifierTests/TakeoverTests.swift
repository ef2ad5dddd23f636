import Database
import Messages
import Telemetry
import TestKit
import Testing
import Transit

@testable import VerifierService

/// Rides that go on under another owner of their slot (architecture, section 5).
@Suite(.timeLimit(.minutes(3))) struct TakeoverTests {
    private func ride(_ verifier: TestVerifier, _ rider: Rider) async throws {
        let started = await verifier.start(rider)
        try #require(started.refusal == nil)
        let answer = await verifier.report(rider, Course.points([-25, -20, -15]))
        try #require(answer.batch?.accepted == 3)
    }

    @Test func `a ride goes on with its counters, streaks and last batch`() async throws {
        try await World.with { world async throws in
            let first = try await world.verifier("v1")
            let rider = Rider()
            try await ride(first, rider)
            world.pass(2)
            let off = Course.points([-10, -5], east: 0.01)
            let answer = await first.report(rider, off)
            #expect(answer.batch?.offRouteStreak == 2)
            await first.node.close()
            let second = try await world.verifier("v2")
            world.pass(2)
            #expect(await second.report(rider, off) == answer)
            world.pass(2)
            let more = await second.report(rider, Course.points([0, 1, 2], east: 0.01)).batch
            #expect(more?.endReason == "off_route")
            #expect(
                try await world.row(
                    [
                        "points_total", "points_matched",
                        "(SELECT count(*) FROM verifier.ride_points)",
                    ],
                    "FROM verifier.rides"
                ) == ["8", "3", "8"]
            )
        }
    }

    @Test func `the place on the shape survives, so that going back is seen`() async throws {
        try await World.with { world async throws in
            let first = try await world.verifier("v1")
            let rider = Rider()
            try await ride(first, rider)
            await first.node.close()
            let second = try await world.verifier("v2")
            var back = Course.points([-5], ahead: -0.002)
            back[0].timestamp = Course.start - 14
            _ = await second.report(rider, back)
            #expect(
                try await world.row(
                    ["outcome"],
                    "FROM verifier.ride_points ORDER BY timestamp DESC LIMIT 1"
                ) == ["implausible"]
            )
        }
    }

    @Test func `on another shape the place means nothing, the counters stay`() async throws {
        try await World.with { world async throws in
            let first = try await world.verifier("v1")
            let rider = Rider()
            try await ride(first, rider)
            await first.node.close()
            world.setSchedule(try Course.index(bend: 0.0001))
            let second = try await world.verifier("v2")
            var back = Course.points([-5], ahead: -0.002)
            back[0].timestamp = Course.start - 14
            let answer = await second.report(rider, back).batch
            #expect(answer?.state == "verified")
            #expect(
                try await world.row(
                    ["outcome", "(SELECT points_total FROM verifier.rides)"],
                    "FROM verifier.ride_points ORDER BY timestamp DESC LIMIT 1"
                ) == ["matched", "4"]
            )
        }
    }

    @Test func `a ride whose trip is gone ends as server_restart without a score`() async throws {
        try await World.with { world async throws in
            let first = try await world.verifier("v1")
            let rider = Rider()
            try await ride(first, rider)
            await first.node.close()
            world.setSchedule(try Course.index(["T2"]))
            let second = try await world.verifier("v2")
            #expect(
                await second.report(rider, Course.points([-5]))
                    == .ended(because: "server_restart")
            )
            #expect(
                try await world.row(
                    [
                        "status", "along_shape", "speed", "batch_digest", "batch_answer",
                        "points_total",
                    ],
                    "FROM verifier.rides"
                ) == ["ended", nil, nil, nil, nil, "3"]
            )
            #expect(
                try await world.row(
                    ["score", "rides_total"],
                    "FROM verifier.rider_reputation"
                ) == ["0", "0"]
            )
            #expect(second.metrics.rendered().contains("rides_not_resumed_total 1\n"))
            // The rider is free to ride again.
            #expect(await second.start(Rider(rider.id, on: "T2")).refusal == nil)
        }
    }

    @Test(arguments: [(900, true), (901, false)] as [(Int64, Bool)])
    func `a ride goes on if its silence was no longer than idleness allows`(
        silence: Int64,
        goesOn: Bool
    ) async throws {
        try await World.with { world async throws in
            let first = try await world.verifier("v1")
            _ = await first.start(Rider())
            await first.node.close()
            world.pass(silence)
            _ = try await world.verifier("v2")
            #expect(
                try await world.row(["end_reason"], "FROM verifier.rides")
                    == [goesOn ? "" : "server_restart"]
            )
        }
    }

    @Test func `a schedule that drops the trip does not end a ride under way`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = Rider()
            try await ride(verifier, rider)
            world.setSchedule(try Course.index(["T2"]))
            world.pass(2)
            #expect(await verifier.report(rider, Course.points([-5])).batch?.accepted == 1)
            #expect(await verifier.start(Rider()).refusal == .unknownTrip)
            #expect(await verifier.end(rider).refusal == nil)
        }
    }

    @Test func `without a schedule slots are left alone`() async throws {
        try await World.with { world async throws in
            let first = try await world.verifier("v1")
            try await ride(first, Rider())
            await first.node.close()
            let second = try await world.idleVerifier("v2")
            world.setSchedule(nil)
            for _ in 0..<3 { await second.node.stepTowardsShare() }
            #expect(second.slots.isEmpty)
            world.setSchedule(try Course.index())
            try await eventually("the slots are taken") {
                await second.node.stepTowardsShare()
                return second.slots.count == 256
            }
            #expect(
                try await world.row(["status"], "FROM verifier.rides") == ["active"]
            )
        }
    }
}
