import Database
import FoundationEssentials
import Messages
import TestKit
import Testing
import Transit
import Verification

@testable import VerifierService

/// Forgetting riders and telling them what is stored (architecture, section 8; spec section 0).
@Suite(.timeLimit(.minutes(3))) struct RiderErasureTests {
    private func erasure(
        of rider: UniqueID,
        successor: UniqueID? = nil,
        forgottenFor seconds: Int64 = 3600,
        isForwarded: Bool = false
    ) -> RideRequest.Body {
        .eraseRider(
            EraseRider(
                riderID: rider,
                receivedAt: Course.start,
                successorID: successor,
                forgottenUntil: Course.start + seconds,
                isForwarded: isForwarded
            )
        )
    }

    /// Rows about a rider, in tables that name riders or rides.
    private func rows(_ world: World, of rider: Rider) async throws -> [Int] {
        [
            try await world.number(
                "SELECT count(*) FROM verifier.rides WHERE rider_id = '\(rider.id)'"
            ),
            try await world.number(
                "SELECT count(*) FROM verifier.ride_points WHERE ride_id = '\(rider.ride)'"
            ),
            try await world.number(
                "SELECT count(*) FROM verifier.rider_reputation WHERE rider_id = '\(rider.id)'"
            ),
        ]
    }

    private func ended(_ verifier: TestVerifier) async -> Rider {
        let rider = Rider()
        _ = await verifier.start(rider)
        _ = await verifier.report(rider, Course.points([-15, -10, -5]))
        _ = await verifier.end(rider)
        return rider
    }

    @Test func `rides, points and standing go, and nobody else's`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let (gone, stays) = (await ended(verifier), await ended(verifier))
            #expect(try await rows(world, of: gone) == [1, 3, 1])
            #expect(await verifier.ask(erasure(of: gone.id)) == .erased)
            #expect(try await rows(world, of: gone) == [0, 0, 0])
            #expect(try await rows(world, of: stays) == [1, 3, 1])
        }
    }

    @Test func `an erasure may be asked for again and again, also of nobody`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = await ended(verifier)
            for _ in 0..<3 { #expect(await verifier.ask(erasure(of: rider.id)) == .erased) }
            #expect(await verifier.ask(erasure(of: .random())) == .erased)
            #expect(try await world.number("SELECT count(*) FROM verifier.rider_reputation") == 0)
        }
    }

    @Test func `a ride under way ends at once and is not published any more`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let riders = [Rider(), Rider()]
            for rider in riders {
                _ = await verifier.start(rider)
                _ = await verifier.report(rider, Course.points([-15, -10, -5]))
            }
            verifier.node.publishOnce()
            let slot = Slot(of: "T1")
            #expect(verifier.estimates(in: slot).last?.estimates.count == 1)
            for rider in riders {
                #expect(await verifier.ask(erasure(of: rider.id)) == .erased)
                #expect(try await rows(world, of: rider) == [0, 0, 0])
                let late = await verifier.report(rider, Course.points([-1]))
                #expect(late.refusal == .rideEnded)
                #expect(try await rows(world, of: rider) == [0, 0, 0])
            }
            verifier.node.publishOnce()
            #expect(verifier.estimates(in: slot).last?.estimates == [])
        }
    }

    @Test func `a late start brings nothing back until no token can be valid`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = await ended(verifier)
            #expect(await verifier.ask(erasure(of: rider.id, forgottenFor: 600)) == .erased)
            let again = Rider(rider.id)
            #expect(await verifier.start(again).refusal == .unknownRider)
            #expect(try await rows(world, of: again) == [0, 0, 0])
            world.pass(599)
            #expect(await verifier.start(again).refusal == .unknownRider)
            world.pass(1)
            #expect(await verifier.start(again).refusal == nil)
        }
    }

    @Test func `a start that races with the erasure leaves nothing or is refused`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            for _ in 0..<20 {
                let rider = Rider()
                async let started = verifier.start(rider)
                async let answer = verifier.ask(erasure(of: rider.id))
                let (start, erased) = await (started, answer)
                #expect(erased == .erased)
                #expect(start.refusal == nil || start.refusal == .unknownRider)
                #expect(try await rows(world, of: rider) == [0, 0, 0])
            }
        }
    }

    @Test func `any verifier erases, and the owner of the slot ends the ride`() async throws {
        try await World.with { world async throws in
            let one = try await world.verifier("v1")
            let two = try await world.idleVerifier("v2")
            try await eventually("both own slots") {
                for verifier in [one, two] { await verifier.node.stepTowardsShare() }
                return one.slots.count == 128 && two.slots.count == 128
            }
            let slot = Slot(of: "T1")
            let (owner, other) = one.slots[slot] != nil ? (one, two) : (two, one)
            let rider = Rider()
            _ = await owner.start(rider)
            _ = await owner.report(rider, Course.points([-15, -10, -5]))
            // Who owns the slot is not known there yet, so it is asked again later.
            #expect(await other.ask(erasure(of: rider.id)) == .away)
            #expect(try await rows(world, of: rider)[0] == 1)
            owner.tell(other)
            // A request that was passed on once is not passed on again.
            let forwarded = erasure(of: rider.id, isForwarded: true)
            #expect(await other.ask(forwarded) == .away)
            #expect(await other.ask(erasure(of: rider.id)) == .erased)
            #expect(try await rows(world, of: rider) == [0, 0, 0])
            #expect(await owner.report(rider, Course.points([-1])).refusal == .rideEnded)
        }
    }

    @Test func `a blocked installation stays blocked under its hash`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = await ended(verifier)
            try await world.run(
                """
                UPDATE verifier.rider_reputation SET score = -5, tier = 'blocked'
                WHERE rider_id = '\(rider.id)'
                """
            )
            let successor = UniqueID.random()
            let request = erasure(of: rider.id, successor: successor)
            // Its repeat says the same, as the first answer may have been lost.
            for _ in 0..<2 { #expect(await verifier.ask(request) == .erasedButBlocked) }
            #expect(try await rows(world, of: rider) == [0, 0, 0])
            #expect(
                try await world.row(
                    ["score", "tier", "rides_total"],
                    "FROM verifier.rider_reputation WHERE rider_id = '\(successor)'"
                ) == ["-5", "blocked", "0"]
            )
            // It comes back under that id and is forgotten once more: still blocked, still the same.
            let back = Rider(successor)
            #expect(await verifier.start(back).refusal == nil)
            let again = erasure(of: successor, successor: successor, forgottenFor: 60)
            #expect(await verifier.ask(again) == .erasedButBlocked)
            #expect(try await rows(world, of: back) == [0, 0, 1])
            #expect(await verifier.start(Rider(successor)).refusal == .unknownRider)
            #expect(try await rows(world, of: back) == [0, 0, 1])
            world.pass(60)
            #expect(await verifier.start(Rider(successor)).refusal == nil)
        }
    }

    @Test func `who is not blocked leaves no mark`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = await ended(verifier)
            #expect(await verifier.ask(erasure(of: rider.id, successor: .random())) == .erased)
            #expect(try await world.number("SELECT count(*) FROM verifier.rider_reputation") == 0)
        }
    }

    @Test func `marks of riders whose tokens have all expired are removed`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            _ = await verifier.ask(erasure(of: .random(), forgottenFor: -1))
            _ = await verifier.ask(erasure(of: .random()))
            #expect(try await world.number("SELECT count(*) FROM verifier.erased_riders") == 1)
        }
    }

    @Test func `without the database nothing is confirmed`() async throws {
        let postgres = try await ThrowawayPostgres.fresh(settings: ["fsync=off"])
        try await World.with(postgres) { world async throws in
            let verifier = try await world.verifier()
            try await postgres.stop()
            #expect(await verifier.ask(erasure(of: .random())) == .away)
            try await postgres.start()
        }
    }

    @Test func `the export holds every ride with its points, page by page`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = await ended(verifier)
            func page(_ number: Int) async throws -> String {
                let request = ExportRider(riderID: rider.id, receivedAt: 1, page: number)
                guard case .exported(let bytes) = await verifier.ask(.exportRider(request)) else {
                    throw Late("no page \(number)")
                }
                return String(decoding: bytes, as: UTF8.self)
            }
            struct Standing: Decodable {
                let riderId: String
                let tier: String
            }
            struct Ride: Decodable {
                struct Point: Decodable {
                    let latitude: Double
                    let outcome: String
                    let timestamp: String
                }
                let id: String
                let tripId: String
                let endReason: String
                let points: [Point]
            }
            let decoder = JSONDecoder()
            decoder.keyDecodingStrategy = .convertFromSnakeCase
            let standing = try decoder.decode(Standing.self, from: Data(try await page(0).utf8))
            #expect(standing.riderId == rider.id.description)
            #expect(standing.tier == "new")
            let rides = try decoder.decode([Ride].self, from: Data("[\(try await page(1))]".utf8))
            #expect(rides.map(\.id) == [rider.ride.description])
            #expect(rides[0].tripId == "T1")
            #expect(rides[0].endReason == "arrived")
            #expect(rides[0].points.map(\.outcome) == ["matched", "matched", "matched"])
            #expect(try await page(2) == "")
            // A second page, once there are more rides than one holds.
            try await world.run(
                """
                INSERT INTO verifier.rides (id, slot, rider_id, trip_id, start_date, status,
                    started_at, ended_at, updated_at)
                SELECT gen_random_uuid(), 0, '\(rider.id)', 'T1', '20260216', 'ended', now(), now(),
                    now() FROM generate_series(1, 20)
                """
            )
            let first = try decoder.decode([Ride].self, from: Data("[\(try await page(1))]".utf8))
            let second = try decoder.decode([Ride].self, from: Data("[\(try await page(2))]".utf8))
            #expect([first.count, second.count] == [20, 1])
            #expect(first[0].points.count == 3)
            #expect(Set((first + second).map(\.id)).count == 21)
            #expect(try await page(3) == "")
        }
    }
}
