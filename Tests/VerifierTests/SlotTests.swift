import Database
import Messages
import ServiceKit
import Telemetry
import TestKit
import Testing
import Transit

@testable import VerifierService

/// Who owns which slot (architecture, section 5).
@Suite(.timeLimit(.minutes(3))) struct SlotTests {
    /// How many slots some verifiers own; each slot has one owner at most.
    private func shares(_ verifiers: [TestVerifier]) -> [Int] {
        let all = verifiers.flatMap(\.slots.keys)
        #expect(Set(all).count == all.count, "a slot has two owners")
        return verifiers.map(\.slots.count)
    }

    /// Lets everyone look until each has its share.
    private func settle(_ verifiers: [TestVerifier], to counts: [Int]) async throws {
        try await eventually("the shares are \(counts)") {
            for verifier in verifiers { await verifier.node.stepTowardsShare() }
            return shares(verifiers).sorted() == counts.sorted()
        }
    }

    private func locks(_ world: World) async throws -> Int {
        try await world.number(
            """
            SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted
                AND classid = \(AdvisoryLock.Class.slot.rawValue)
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """
        )
    }

    @Test func `one alone takes everything, in one step`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            #expect(verifier.slots.count == 256)
            #expect(Set(verifier.slots.values).count == 256)
            #expect(try await locks(world) == 256)
        }
    }

    @Test func `shares differ by one at most as verifiers come and go`() async throws {
        try await World.with { world async throws in
            let one = try await world.verifier("v1")
            let two = try await world.idleVerifier("v2")
            await two.node.stepTowardsShare()
            await one.node.stepTowardsShare()
            #expect(shares([one, two]) == [128, 0])
            try await settle([one, two], to: [128, 128])
            let three = try await world.idleVerifier("v3")
            try await settle([one, two, three], to: [86, 85, 85])
            #expect(try await locks(world) == 256)
            // A crash shows at once, whatever the heartbeat says.
            await two.node.close()
            try await settle([one, three], to: [128, 128])
            await three.node.close()
            try await settle([one], to: [256])
            #expect(try await locks(world) == 256)
        }
    }

    @Test func `slots without rides are given away first`() async throws {
        try await World.with { world async throws in
            let one = try await world.verifier("v1")
            let rider = Rider()
            _ = await one.start(rider)
            let two = try await world.idleVerifier("v2")
            try await settle([one, two], to: [128, 128])
            #expect(one.slots[rider.ride.slot] != nil)
        }
    }

    @Test func `a stop in order gives everything back before the connection ends`() async throws {
        try await World.with { world async throws in
            let one = try await world.verifier("v1")
            let rider = Rider()
            _ = await one.start(rider)
            let keeping = Task { try await one.node.keepSlots() }
            keeping.cancel()
            try await keeping.value
            #expect(one.slots.isEmpty)
            #expect(try await locks(world) == 0)
            #expect(await one.report(rider, Course.points([-5])).refusal == .notOwner)
            #expect(await one.start(Rider()).refusal == .notOwner)
        }
    }

    @Test func `epochs rise with each acquisition`() async throws {
        try await World.with { world async throws in
            let one = try await world.verifier("v1")
            let before = one.slots
            await one.node.close()
            let two = try await world.verifier("v2")
            try await settle([two], to: [256])
            let highest = try #require(before.values.max())
            #expect(two.slots.values.allSatisfy { $0 > highest })
        }
    }

    @Test func `a frozen owner is cut off, and what it had open never happens`() async throws {
        try await World.with { world async throws in
            let one = try await world.verifier("v1")
            let rider = Rider()
            _ = await one.start(rider)
            _ = await one.report(rider, Course.points([-20]))
            try await world.beat("v1", isAlive: false)
            let two = try await world.idleVerifier("v2")
            try await eventually("v2 is connected") {
                await two.node.stepTowardsShare()
                return try await world.number("SELECT count(*) FROM verifier.slot_owners") == 2
            }
            // It has just come, so every heartbeat gets its four seconds.
            world.pass(3)
            for _ in 0..<3 { await two.node.stepTowardsShare() }
            #expect(two.slots.isEmpty)
            world.pass(1)
            try await settle([two], to: [256])
            #expect(two.metrics.rendered().contains("slot_owners_fenced_total 1\n"))
            world.pass(2)
            // It wakes up: nothing that it is asked is acknowledged or stored.
            let late = await one.report(rider, Course.points([-10]))
            #expect(late.refusal == .unavailable || late.refusal == .notOwner)
            #expect(try await world.number("SELECT points_total FROM verifier.rides") == 1)
            #expect(await two.report(rider, Course.points([-10])).batch?.accepted == 1)
            #expect(try await world.number("SELECT points_total FROM verifier.rides") == 2)
        }
    }

    @Test func `one who beats is not cut off, whatever it holds`() async throws {
        try await World.with { world async throws in
            let one = try await world.verifier("v1")
            let two = try await world.idleVerifier("v2")
            for _ in 0..<5 { await two.node.stepTowardsShare() }
            #expect(one.slots.count == 256)
            #expect(two.slots.isEmpty)
            #expect(one.node.readiness == .ready)
            #expect(two.node.readiness == .notReady("slots: none is owned yet"))
        }
    }

    @Test func `who does not beat itself cuts nobody off`() async throws {
        try await World.with { world async throws in
            let one = try await world.verifier("v1")
            try await world.beat("v1", isAlive: false)
            let two = try await world.idleVerifier("v2", beats: false)
            for _ in 0..<5 { await two.node.stepTowardsShare() }
            #expect(two.slots.isEmpty)
            try await settle([one, two], to: [128, 128])
        }
    }

    @Test func `a session that this process left behind is cut off`() async throws {
        try await World.with { world async throws in
            let one = try await world.verifier("v1")
            #expect(one.slots.count == 256)
            let again = try await world.idleVerifier("v1")
            try await settle([again], to: [256])
        }
    }

    @Test func `a takeover that fails leaves no lock behind`() async throws {
        try await World.with { world async throws in
            try await world.run("ALTER TABLE verifier.rides RENAME TO elsewhere")
            let one = try await world.idleVerifier("v1")
            for _ in 0..<3 { await one.node.stepTowardsShare() }
            #expect(one.slots.isEmpty)
            #expect(try await locks(world) == 0)
            try await world.run("ALTER TABLE verifier.elsewhere RENAME TO rides")
            try await settle([one], to: [256])
            let two = try await world.idleVerifier("v2")
            try await settle([one, two], to: [128, 128])
        }
    }
}
