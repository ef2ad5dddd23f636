import Messages
import Telemetry
import TestKit
import Testing
import Transit

@testable import VerifierService

/// What holds when a rider's rides lie in the slots of different verifiers (architecture, section 5).
@Suite(.timeLimit(.minutes(3))) struct AcrossVerifiersTests {
    /// Two verifiers with half of the slots each, and a trip in a slot of either.
    private func withTwo(
        _ body: (World, TestVerifier, TripID, TestVerifier, TripID) async throws -> Void
    ) async throws {
        try await World.with { world async throws in
            let one = try await world.verifier("v1")
            let two = try await world.idleVerifier("v2")
            let index = try Course.index((0..<64).map { TripID("T\($0)") })
            world.setSchedule(index)
            try await eventually("both have their share") {
                await one.node.stepTowardsShare()
                await two.node.stepTowardsShare()
                return one.slots.count == 128 && two.slots.count == 128
            }
            let ours = try #require(index.tripIDs.first { one.slots[Slot(of: $0)] != nil })
            let theirs = try #require(index.tripIDs.first { two.slots[Slot(of: $0)] != nil })
            try await body(world, one, ours, two, theirs)
        }
    }

    private func row(_ world: World, _ rider: Rider) async throws -> [String?] {
        try await world.row(
            ["status", "end_reason", "state", "points_total"],
            "FROM verifier.rides WHERE id = '\(rider.ride)'"
        )
    }

    @Test func `a start elsewhere supersedes the ride in its own slot and keeps what it earned`()
        async throws
    {
        try await withTwo { world, one, ours, two, theirs async throws in
            let first = Rider(on: ours)
            let second = Rider(first.id, on: theirs)
            _ = await one.start(first)
            _ = await one.report(first, Course.points([-25, -20, -15]))
            #expect(await two.start(second) == .conflict(rideID: first.ride))
            // As ingest does: ends the other ride where it lives, then starts again.
            #expect(await two.supersede(first).refusal == .notOwner)
            guard case .ended(let summary) = await one.supersede(first) else {
                Issue.record("not superseded")
                return
            }
            #expect(summary.points == 3)
            guard case .started = await two.start(second) else {
                Issue.record("not started")
                return
            }
            #expect(try await row(world, first) == ["ended", "superseded", "verified", "3"])
            #expect(try await row(world, second) == ["active", "", "pending", "0"])
            #expect(
                await one.report(first, Course.points([-10])) == .ended(because: "superseded")
            )
            #expect(
                try await world.number("SELECT rides_total FROM verifier.rider_reputation") == 1
            )
        }
    }

    @Test func `whoever ends a ride writes the score, and the next owner starts with its tier`()
        async throws
    {
        try await withTwo { world, one, ours, two, theirs async throws in
            let id = UniqueID.random()
            let off = Course.points([-25, -20, -15, -10, -5], east: 0.01)
            for (verifier, trip, score) in [
                (one, ours, -1), (two, theirs, -2), (one, ours, -3),
            ] {
                let rider = Rider(id, on: trip)
                _ = await verifier.start(rider)
                #expect(await verifier.report(rider, off).batch?.endReason == "off_route")
                #expect(
                    try await world.row(
                        ["score", "rides_rejected"],
                        "FROM verifier.rider_reputation"
                    )
                        == ["\(score)", "\(-score)"]
                )
                world.pass(10)
            }
            // Blocked by what three rides in two verifiers cost: nothing more of theirs is stored.
            let blocked = Rider(id, on: theirs)
            _ = await two.start(blocked)
            #expect(
                await two.report(blocked, Course.points([0, 5, 10])).batch?.state == "verified"
            )
            #expect(
                try await world.number(
                    "SELECT count(*) FROM verifier.ride_points WHERE ride_id = '\(blocked.ride)'"
                ) == 0
            )
        }
    }

    @Test func `who does not own the slot refuses each request with the owner it knows`()
        async throws
    {
        try await withTwo { world, one, ours, two, _ async throws in
            let rider = Rider(on: ours)
            _ = await one.start(rider)
            let unknown = RideReply.Body.refused(RideRefusal(.notOwner, retryAfterSeconds: 2))
            let known = RideReply.Body.refused(
                RideRefusal(.notOwner, owner: "v1", retryAfterSeconds: 2)
            )
            for hint in [unknown, known] {
                if hint == known {
                    let entries = one.slots.map { SlotTable.Entry(slot: $0.key, epoch: $0.value) }
                    two.node.heard(
                        SlotTable(instance: "v1", sequence: 1, slots: entries).encoded()
                    )
                }
                #expect(await two.start(Rider(on: ours)) == hint)
                #expect(await two.report(rider, Course.points([-20])) == hint)
                #expect(await two.end(rider) == hint)
                #expect(await two.supersede(rider) == hint)
            }
            #expect(try await row(world, rider) == ["active", "", "pending", "0"])
        }
    }

    @Test func `operators read who took which slot under which number, and with which schedule`()
        async throws
    {
        try await withTwo { world, one, _, two, _ async throws in
            for (verifier, name) in [(one, "v1"), (two, "v2")] {
                let epochs = verifier.slots.values.sorted()
                #expect(
                    try await world.row(
                        ["count(*)", "min(epoch)", "max(epoch)"],
                        "FROM verifier.slots WHERE instance = '\(name)'"
                    ) == ["128", "\(epochs[0])", "\(epochs[127])"]
                )
            }
            #expect(
                try await world.row(
                    ["count(*)", "min(schedule_hash)", "max(schedule_source)"],
                    "FROM verifier.slot_owners"
                ) == ["2", "00ff", "course.zip"]
            )
        }
    }
}
