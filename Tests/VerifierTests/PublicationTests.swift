import Messages
import TestKit
import Testing
import Transit
import Verification

@testable import VerifierService

/// What a verifier tells the other services, and what it hears from them.
@Suite(.timeLimit(.minutes(3))) struct PublicationTests {
    private let slot = Slot(of: "T1")

    /// Two riders who agree, so that their trip is published.
    private func agree(_ verifier: TestVerifier) async throws -> [Rider] {
        let riders = [Rider(), Rider()]
        for rider in riders {
            _ = await verifier.start(rider)
            let answer = await verifier.report(rider, Course.points([-15, -10, -5]))
            try #require(answer.batch?.state == "verified")
        }
        return riders
    }

    private func end(_ riders: [Rider], _ verifier: TestVerifier) async {
        for rider in riders { _ = await verifier.end(rider) }
    }

    @Test func `every slot is spoken for once it is owned, also the empty ones`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            verifier.node.publishOnce()
            for slot in Slot.all {
                let states = verifier.estimates(in: slot)
                #expect(states.count == 1)
                #expect(states.first?.estimates == [])
                #expect(states.first?.epoch == verifier.slots[slot])
            }
            verifier.node.publishOnce()
            #expect(verifier.estimates(in: slot).count == 1)
        }
    }

    @Test func `riders who agree are published where they are`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            _ = try await agree(verifier)
            verifier.node.publishOnce()
            let state = try #require(verifier.estimates(in: slot).last)
            let estimate = try #require(state.estimates.first)
            #expect(state.estimates.count == 1)
            #expect(state.instance == "v1")
            #expect(state.createdAt == Course.start)
            #expect(estimate.trip == TripInstance(tripID: "T1", startDate: Course.monday))
            #expect(estimate.routeID == "R1")
            #expect(estimate.timestamp == Course.start - 5)
            #expect(estimate.riders == 2)
            #expect(estimate.stopID == "B")
            #expect(estimate.stopSequence == 2)
            #expect(abs(estimate.latitude - Course.points([-5])[0].latitude) < 0.00001)
        }
    }

    @Test func `the last ride's end empties the slot, once`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let riders = try await agree(verifier)
            verifier.node.publishOnce()
            #expect(verifier.estimates(in: slot).last?.estimates.count == 1)
            await end(riders, verifier)
            verifier.node.publishOnce()
            verifier.node.publishOnce()
            let states = verifier.estimates(in: slot)
            #expect(states.map(\.estimates.count) == [1, 0])
            #expect(states[1].sequence > states[0].sequence)
            #expect(states[1].epoch == states[0].epoch)
        }
    }

    @Test func `nothing is sent while nothing changes, and age is a change`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            _ = try await agree(verifier)
            for _ in 0..<3 {
                verifier.node.publishOnce()
                world.pass(10)
            }
            #expect(verifier.estimates(in: slot).count == 1)
            world.clock.set(Course.start - 5 + 90)
            verifier.node.publishOnce()
            #expect(verifier.estimates(in: slot).count == 1)
            world.pass(1)
            verifier.node.publishOnce()
            #expect(verifier.estimates(in: slot).map(\.estimates.count) == [1, 0])
        }
    }

    @Test func `who takes a slot over publishes it under a higher epoch`() async throws {
        try await World.with { world async throws in
            let first = try await world.verifier("v1")
            _ = try await agree(first)
            first.node.publishOnce()
            await first.node.close()
            // Without its slots it has nothing more to say.
            try await eventually("a second owner") { try await world.number("SELECT 1") == 1 }
            let second = try await world.verifier("v2")
            second.node.publishOnce()
            let old = try #require(first.estimates(in: slot).last)
            let new = try #require(second.estimates(in: slot).last)
            #expect(new.epoch > old.epoch)
            #expect(new.estimates == old.estimates)
        }
    }

    @Test func `slots that are lost with the connection are not spoken for`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let riders = try await agree(verifier)
            verifier.node.publishOnce()
            try await world.run(
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                WHERE pid IN (SELECT backend_pid FROM verifier.slot_owners)
                """
            )
            try await eventually("the slots are forgotten") { verifier.slots.isEmpty }
            verifier.node.publishOnce()
            #expect(verifier.estimates(in: slot).count == 1)
            try await eventually("the slots are back") {
                await verifier.node.stepTowardsShare()
                return verifier.slots.count == 256
            }
            verifier.node.publishOnce()
            let states = verifier.estimates(in: slot)
            #expect(states.map(\.estimates.count) == [1, 1])
            #expect(states[1].epoch > states[0].epoch)
            await end(riders, verifier)
        }
    }

    // MARK: - Trip status

    private func status(
        _ verifier: TestVerifier,
        _ trip: TripID = "T1",
        on date: ServiceDate? = nil
    ) async -> RideReply.Body {
        await verifier.ask(
            .tripStatus(
                TripStatusQuery(tripID: trip, startDate: date, receivedAt: Course.start)
            )
        )
    }

    @Test func `trip status counts riders, covered or not`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            func expect(_ trusted: Bool, _ reported: Bool, _ riders: Int) async {
                #expect(
                    await status(verifier)
                        == .tripStatus(
                            TripStatusReply(
                                tripID: "T1",
                                startDate: Course.monday,
                                trusted: trusted,
                                riderReported: reported,
                                riders: riders
                            )
                        )
                )
            }
            await expect(false, false, 0)
            let riders = try await agree(verifier)
            await expect(false, true, 2)
            let place = Course.points([0])[0]
            let vehicle = TrustedVehicle(
                tripID: "T1",
                startDate: nil,
                vehicleID: "bus",
                coordinate: Coordinate(latitude: place.latitude, longitude: place.longitude),
                timestamp: Course.start
            )
            world.setTrusted(TrustedSnapshot([vehicle], createdAt: Course.start))
            await expect(true, false, 2)
            world.setTrusted(.missing)
            await end([riders[0]], verifier)
            await expect(false, false, 1)
        }
    }

    @Test func `trip status refuses what it cannot know`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            #expect(await status(verifier, "T9").refusal == .unknownTrip)
            #expect(await status(verifier, "T\0").refusal == .unknownTrip)
            let tuesday = Course.monday.adding(days: 1)
            guard case .tripStatus(let reply) = await status(verifier, "SAT", on: tuesday) else {
                Issue.record("whether the trip runs that day is not asked")
                return
            }
            #expect(reply.startDate == tuesday)
            world.setSchedule(nil)
            #expect(await status(verifier).refusal == .scheduleUnavailable)
        }
    }

    @Test func `who does not own a slot names who does`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.idleVerifier()
            #expect(
                await status(verifier)
                    == .refused(
                        RideRefusal(.notOwner, owner: "", retryAfterSeconds: 2)
                    )
            )
            let table = SlotTable(
                instance: "v2",
                sequence: 1,
                slots: [SlotTable.Entry(slot: slot, epoch: 7)]
            )
            verifier.node.heard(table.encoded())
            verifier.node.heard([0xFF])
            let hint = RideReply.Body.refused(
                RideRefusal(.notOwner, owner: "v2", retryAfterSeconds: 2)
            )
            #expect(await status(verifier) == hint)
            #expect(await verifier.start(Rider()) == hint)
        }
    }
}

@Suite struct TrustedBoardTests {
    private let vehicle = Messages.TrustedVehicle(
        tripID: "T1",
        startDate: nil,
        vehicleID: "bus",
        latitude: 47.6,
        longitude: -122.3,
        timestamp: 1000,
        source: .driver
    )

    private func message(
        _ epoch: UInt64,
        _ sequence: UInt64,
        vehicles: Int = 1,
        configured: Bool = true
    ) -> [UInt8] {
        TrustedVehicles(
            instance: "feed",
            epoch: epoch,
            sequence: sequence,
            createdAt: 1000,
            configured: configured,
            vehicles: Array(repeating: vehicle, count: vehicles)
        ).encoded()
    }

    private func covers(_ board: TrustedBoard) -> Bool {
        let trip = TripInstance(tripID: "T1", startDate: Course.monday)
        return board.snapshot.covers(trip, at: 1000)
    }

    @Test func `drivers count also where no agency is configured`() {
        let board = TrustedBoard(thresholds: Thresholds())
        #expect(!covers(board))
        board.heard(message(1, 1, configured: false))
        #expect(covers(board))
    }

    @Test func `an older word and one that does not decode change nothing`() {
        let board = TrustedBoard(thresholds: Thresholds())
        board.heard(message(2, 5))
        board.heard(message(2, 4, vehicles: 0))
        board.heard(message(1, 9, vehicles: 0))
        board.heard([0xFF, 0xFF])
        #expect(covers(board))
        board.heard(message(2, 6, vehicles: 0))
        #expect(!covers(board))
    }
}
