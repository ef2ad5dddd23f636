import Messages
import ServiceKit
import Telemetry
import TestKit
import Testing
import Transit
import Verification

@testable import VerifierService

/// What a verifier answers to operators.
@Suite(.timeLimit(.minutes(3))) struct AdminTests {
    private func page(
        _ verifier: TestVerifier,
        _ status: RideListQuery.Status,
        limit: Int = 50,
        offset: Int = 0
    ) async throws -> RideListReply {
        let query = RideListQuery(status: status, limit: limit, offset: offset)
        guard case .rides(let page) = await verifier.ask(.rides(query)) else {
            throw Late("no page")
        }
        return page
    }

    private func detail(_ verifier: TestVerifier, _ rider: Rider) async throws -> RideDetailReply {
        let query = RideDetailQuery(rideID: rider.ride)
        guard case .ride(let detail) = await verifier.ask(.ride(query)) else {
            throw Late("no ride")
        }
        return detail
    }

    @Test func `rides are listed newest first, in pages, active and ended apart`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            var riders: [Rider] = []
            for _ in 0..<5 {
                riders.append(Rider())
                _ = await verifier.start(riders[riders.count - 1])
                world.pass(10)
            }
            _ = await verifier.end(riders[2])
            let live = [riders[4], riders[3], riders[1], riders[0]].map(\.ride)
            let all = try await page(verifier, .active)
            #expect(all.rides.map(\.rideID) == live)
            #expect(!all.hasMore)
            let first = try await page(verifier, .active, limit: 2)
            #expect(first.rides.map(\.rideID) == Array(live[..<2]))
            #expect(first.hasMore)
            let second = try await page(verifier, .active, limit: 2, offset: 2)
            #expect(second.rides.map(\.rideID) == Array(live[2...]))
            #expect(!second.hasMore)
            #expect(try await page(verifier, .active, offset: 2_147_483_647).rides.isEmpty)
            let ended = try await page(verifier, .ended)
            #expect(ended.rides.map(\.rideID) == [riders[2].ride])
            let entry = try #require(ended.rides.first)
            #expect(entry.riderID == riders[2].id)
            #expect(entry.trip == TripInstance(tripID: "T1", startDate: Course.monday))
            #expect(entry.routeID == "R1")
            #expect(entry.endReason == "arrived")
            #expect(entry.startedAt == Course.start + 20)
            #expect(entry.endedAt == Course.start + 50)
        }
    }

    @Test func `any verifier lists the rides of all slots`() async throws {
        try await World.with { world async throws in
            let owner = try await world.verifier("v1")
            let other = try await world.idleVerifier("v2")
            let rider = Rider()
            _ = await owner.start(rider)
            #expect(try await page(other, .active).rides.map(\.rideID) == [rider.ride])
            #expect(try await detail(other, rider).ride.rideID == rider.ride)
        }
    }

    @Test func `a ride tells each point's rule, measure, limit, unit and sentence`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = Rider()
            _ = await verifier.start(rider, destination: "C", vehicleID: "bus 7")
            _ = await verifier.report(
                rider,
                Course.points([-25, -20, -15]) + Course.points([-10], east: 0.01)
                    + Course.points([-5], ahead: 0.01)
            )
            let ride = try await detail(verifier, rider)
            #expect(ride.vehicleID == "bus 7")
            #expect(ride.destinationStopID == "C")
            #expect(
                ride.changes == [
                    RideStateChange(state: "pending", at: Course.start),
                    // By the clock of the receipt, as the start is: the points are older.
                    RideStateChange(state: "verified", at: Course.start),
                ]
            )
            #expect(
                ride.points.map(\.point.timestamp) == (0..<5).map { Course.start - 25 + 5 * $0 }
            )
            #expect(ride.points.map(\.receivedAt) == Array(repeating: Course.start, count: 5))
            #expect(
                ride.points.map(\.rule) == [nil, nil, nil, "shape.distance", "shape.speed"]
            )
            #expect(ride.points.map(\.unit) == [nil, nil, nil, "m", "m/s"])
            #expect(ride.points[0].explanation == "Matched; no trusted vehicle to compare with.")
            #expect(ride.points[0].measured == nil)
            let off = ride.points[3]
            #expect(off.outcome == "off_route")
            #expect(off.threshold == 60)
            #expect(off.measured == off.distanceToShape)
            #expect(off.explanation.hasPrefix("Off route: 75"))
            let fast = ride.points[4]
            #expect(fast.threshold == 35)
            #expect(try #require(fast.measured) > 100)
            #expect(fast.explanation.hasPrefix("Implausible: "))
        }
    }

    @Test func `a comparison with a trusted vehicle is explained too`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = Rider()
            _ = await verifier.start(rider)
            let place = Course.points([-25])[0]
            world.setTrusted(
                TrustedSnapshot(
                    [
                        Verification.TrustedVehicle(
                            tripID: "T1",
                            startDate: nil,
                            vehicleID: "B",
                            coordinate: Coordinate(
                                latitude: place.latitude + 0.001,
                                longitude: place.longitude
                            ),
                            timestamp: place.timestamp,
                            source: .agency
                        )
                    ],
                    createdAt: Course.start,
                    thresholds: Thresholds()
                )
            )
            _ = await verifier.report(rider, [place])
            let point = try #require(try await detail(verifier, rider).points.first)
            #expect(point.outcome == "matched")
            #expect(point.corroboration == "corroborated")
            #expect(point.rule == "trusted.contradiction")
            #expect(point.threshold == 150)
            #expect(abs(try #require(point.measured) - 111) < 2)
            #expect(point.unit == "m")
            #expect(point.explanation.hasPrefix("Matched and corroborated: the trusted vehicle is"))
        }
    }

    @Test func `a rejected ride shows when it was believed and when no more`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier("v1")
            let rider = Rider()
            _ = await verifier.start(rider)
            _ = await verifier.report(rider, Course.points([-25, -20, -15]))
            // Another owner does not know the time, the row does.
            await verifier.node.close()
            let second = try await world.verifier("v2")
            world.pass(2)
            _ = await second.report(rider, Course.points([-10, -8, -6, -4, -2], east: 0.01))
            #expect(
                try await detail(second, rider).changes == [
                    RideStateChange(state: "pending", at: Course.start),
                    RideStateChange(state: "verified", at: Course.start),
                    RideStateChange(state: "rejected", at: Course.start + 2),
                    RideStateChange(state: "ended", at: Course.start + 2),
                ]
            )
            // A row in which an earlier version wrote the points' times.
            try await world.run(
                """
                UPDATE verifier.rides SET verified_at = started_at - interval '15 seconds',
                    ended_at = started_at
                """
            )
            #expect(
                try await detail(second, rider).changes.map(\.at)
                    == Array(repeating: Course.start, count: 4)
            )
        }
    }

    @Test func `an unknown ride is not found`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let query = RideDetailQuery(rideID: .random())
            #expect(await verifier.ask(.ride(query)).refusal == .rideNotFound)
        }
    }

    @Test func `status counts slots, rides, what is published and not covered, and riders`()
        async throws
    {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            for _ in 0..<2 {
                let rider = Rider()
                _ = await verifier.start(rider)
                _ = await verifier.report(rider, Course.points([-25, -20, -15]))
            }
            _ = await verifier.start(Rider(on: "T2"))
            try await world.run(
                """
                INSERT INTO verifier.rider_reputation (rider_id, score, tier, changes_full_at,
                    last_seen_at) VALUES
                    (gen_random_uuid(), 3, 'trusted', to_timestamp(0), to_timestamp(0)),
                    (gen_random_uuid(), -3, 'blocked', to_timestamp(0), to_timestamp(0)),
                    (gen_random_uuid(), -4, 'blocked', to_timestamp(0), to_timestamp(0))
                """
            )
            var expected = VerifierStatusReply(
                instance: "v1",
                schedule: TestVerifier.schedule,
                ownedSlots: 256,
                activeRides: 3,
                publishableTrips: 1,
                riders: 6,
                trustedRiders: 1,
                blockedRiders: 2
            )
            let query = RideRequest.Body.status(VerifierStatusQuery(receivedAt: 1))
            #expect(await verifier.ask(query) == .status(expected))
            let place = Course.points([-15])[0]
            world.setTrusted(
                TrustedSnapshot(
                    [
                        Verification.TrustedVehicle(
                            tripID: "T1",
                            startDate: nil,
                            vehicleID: "B",
                            coordinate: Coordinate(
                                latitude: place.latitude,
                                longitude: place.longitude
                            ),
                            timestamp: place.timestamp,
                            source: .agency
                        )
                    ],
                    createdAt: Course.start,
                    thresholds: Thresholds()
                )
            )
            expected.publishableTrips = 0
            #expect(await verifier.ask(query) == .status(expected))
        }
    }

    @Test func `metrics show which slot is owned under which epoch`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let epoch = try #require(verifier.slots[Slot(17)])
            let owned = verifier.metrics.rendered()
            #expect(owned.contains("slot_epoch_number{slot=\"17\"} \(Double(epoch))\n"))
            #expect(owned.contains("slots_owned_items 256.0\n"))
            verifier.node.book.releaseAll()
            let none = verifier.metrics.rendered()
            #expect(none.contains("slot_epoch_number{slot=\"17\"} 0.0\n"))
            #expect(none.contains("slots_owned_items 0.0\n"))
        }
    }
}
