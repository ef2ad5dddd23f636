import TestKit
import Testing

@testable import VerifierService

/// Rides that end without their rider: idle, too long, or decided and not stored yet.
@Suite(.timeLimit(.minutes(3))) struct ReapTests {
    private func reasons(_ world: World) async throws -> [String?] {
        try await world.row(["status", "end_reason"], "FROM verifier.rides")
    }

    @Test func `a ride is idle after fifteen minutes without a point`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = Rider()
            _ = await verifier.start(rider)
            _ = await verifier.report(rider, Course.points([-10]))
            world.clock.set(Course.start - 10 + 900)
            await verifier.node.reapOnce()
            #expect(try await reasons(world) == ["active", ""])
            world.pass(1)
            await verifier.node.reapOnce()
            #expect(try await reasons(world) == ["ended", "idle"])
            await verifier.node.reapOnce()
            #expect(await verifier.report(rider, Course.points([900])) == .ended(because: "idle"))
            #expect(
                try await world.number("SELECT rides_total FROM verifier.rider_reputation") == 1
            )
        }
    }

    @Test func `a ride that never reported is idle from its start`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            _ = await verifier.start(Rider())
            world.pass(900)
            await verifier.node.reapOnce()
            #expect(try await reasons(world) == ["active", ""])
            world.pass(1)
            await verifier.node.reapOnce()
            #expect(try await reasons(world) == ["ended", "idle"])
        }
    }

    @Test func `three hours are the longest ride, also one that reports`() async throws {
        try await World.with { world async throws in
            let first = try await world.verifier("v1")
            _ = await first.start(Rider())
            await first.node.close()
            // The next owner reads that points came until now.
            world.clock.set(Course.start + 10_800)
            try await world.run(
                "UPDATE verifier.rides SET last_accepted_at = to_timestamp(\(world.clock.now))"
            )
            let second = try await world.verifier("v2")
            await second.node.reapOnce()
            #expect(try await reasons(world) == ["active", ""])
            world.pass(1)
            await second.node.reapOnce()
            #expect(try await reasons(world) == ["ended", "max_duration"])
        }
    }
}
