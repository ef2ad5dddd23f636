import Messages
import TestKit
import Testing
import Transit

@testable import VerifierService

/// Starting a ride (spec 2.2).
@Suite(.timeLimit(.minutes(3))) struct StartTests {
    private static let saturday = Course.monday.adding(days: 5)

    @Test func `answers with state, date and route, and files the ride`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = Rider()
            let answer = await verifier.start(rider, vehicleID: "bus 7")
            #expect(
                answer
                    == .started(
                        RideStarted(state: "pending", startDate: Course.monday, routeID: "R1")
                    )
            )
            let row = try await world.row(
                ["status", "state", "start_date", "route_id", "vehicle_id", "points_total"],
                "FROM verifier.rides WHERE id = '\(rider.ride)' AND rider_id = '\(rider.id)'"
            )
            #expect(row == ["active", "pending", "20260216", "R1", "bus 7", "0"])
        }
    }

    @Test func `refuses by the first rule that is broken, and files nothing`() async throws {
        let rows: [(trip: TripID, date: ServiceDate?, route: RouteID?, RideRefusal.Code)] = [
            ("T9", Self.saturday, "R9", .unknownTrip), ("t1", nil, nil, .unknownTrip),
            ("SAT", nil, nil, .tripNotActive), ("SAT", Course.monday, "R9", .tripNotActive),
            ("T1", Course.monday.adding(days: 400), nil, .tripNotActive),
            ("SAT", Self.saturday, "R9", .routeMismatch), ("T1", nil, "r1", .routeMismatch),
        ]
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            for (trip, date, route, code) in rows {
                let answer = await verifier.start(
                    Rider(on: trip),
                    startDate: date,
                    routeID: route
                )
                #expect(answer == .refused(RideRefusal(code)), "\(trip) \(code)")
            }
            #expect(try await world.number("SELECT count(*) FROM verifier.rides") == 0)
            #expect(try await world.number("SELECT count(*) FROM verifier.rider_reputation") == 0)
        }
    }

    @Test func `without a schedule says so before all else`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            world.setSchedule(nil)
            #expect(await verifier.start(Rider(on: "T9")).refusal == .scheduleUnavailable)
        }
    }

    @Test func `a date or a route that is right is taken`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let answer = await verifier.start(
                Rider(on: "SAT"),
                startDate: Self.saturday,
                routeID: "R1"
            )
            let started = RideStarted(state: "pending", startDate: Self.saturday, routeID: "R1")
            #expect(answer == .started(started))
        }
    }

    @Test func `until three in the morning the default is the day before`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            for (hour, days) in [(2, 0), (3, 1)] as [(Int64, Int)] {
                world.clock.set(Course.start + (8 + hour) * 3600)
                guard case .started(let started) = await verifier.start(Rider()) else {
                    Issue.record("not started at \(hour)")
                    continue
                }
                #expect(started.startDate == Course.monday.adding(days: days))
            }
        }
    }

    @Test func `names the destination when the trip calls there, the first of two`()
        async throws
    {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let shape = try #require(try Course.index().trip("T1")).shape
            for (stop, part) in [("", nil), ("X", nil), ("b", nil), ("B", 0.6), ("C", 1)] {
                let place = part.map { shape.point(at: shape.length * $0) }
                let expected = place.map {
                    RideStarted.Destination(
                        stopID: StopID(stop),
                        latitude: $0.latitude,
                        longitude: $0.longitude
                    )
                }
                guard case .started(let started) = await verifier.start(Rider(), destination: stop)
                else { throw Late("not started") }
                #expect(started.destination == expected)
            }
        }
    }

    @Test func `the same ride again gets the same answer and no charge`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = Rider()
            let first = await verifier.start(rider, destination: "C")
            for _ in 0..<5 {
                #expect(await verifier.start(rider, destination: "C") == first)
            }
            #expect(try await world.number("SELECT count(*) FROM verifier.rides") == 1)
            // Two of three changes are left.
            #expect(await verifier.end(rider).refusal == nil)
            #expect(await verifier.start(Rider(rider.id)).refusal == nil)
        }
    }

    @Test func `a ride that has ended is not started again`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = Rider()
            _ = await verifier.start(rider)
            _ = await verifier.end(rider)
            #expect(await verifier.start(rider) == .ended(because: "arrived"))
        }
    }

    @Test func `another ride under way is a conflict, uncharged`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let first = Rider()
            _ = await verifier.start(first)
            for trip in ["T1", "T2", "T1", "T2"] as [TripID] {
                let other = await verifier.start(Rider(first.id, on: trip))
                #expect(other == .conflict(rideID: first.ride))
            }
            #expect(await verifier.supersede(first).refusal == nil)
            #expect(await verifier.start(Rider(first.id, on: "T2")).refusal == nil)
            #expect(await verifier.end(Rider(first.id)).refusal == .rideEnded)
        }
    }

    @Test func `starts and ends share an allowance of three, and one in ten seconds`()
        async throws
    {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let id = UniqueID.random()
            let limited = RideReply.Body.refused(
                RideRefusal(.tooManyRideChanges, retryAfterSeconds: 10)
            )
            let (first, second) = (Rider(id), Rider(id))
            #expect(await verifier.start(first).refusal == nil)
            #expect(await verifier.end(first).refusal == nil)
            #expect(await verifier.start(second).refusal == nil)
            #expect(await verifier.end(second) == limited)
            world.pass(9)
            #expect(await verifier.end(second) == limited)
            world.pass(1)
            #expect(await verifier.end(second).refusal == nil)
            #expect(await verifier.start(Rider(id)) == limited)
            #expect(await verifier.start(Rider()).refusal == nil)
            world.pass(30)
            for _ in 0..<2 {
                let rider = Rider(id)
                _ = await verifier.start(rider)
                _ = await verifier.supersede(rider)
            }
            #expect(await verifier.start(Rider(id)).refusal == nil)
        }
    }

    /// Else whoever rode while a clock was ahead could not ride until the time had come.
    @Test(arguments: [(20, 1), (21, 0), (30, 0), (31, 3), (8_000_000, 3)] as [(Int64, Int)])
    func `an allowance used up further ahead than it lasts is whole`(
        secondsAhead: Int64,
        changes: Int
    ) async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let id = UniqueID.random()
            try await world.run(
                """
                INSERT INTO verifier.rider_reputation (rider_id, score, tier, changes_full_at,
                    last_seen_at)
                VALUES ('\(id)', 0, 'new', to_timestamp(\(Course.start + secondsAhead)), 'epoch')
                """
            )
            var done = 0
            var rider = Rider(id)
            while done < 4 {
                guard await verifier.start(rider).refusal == nil else { break }
                done += 1
                guard await verifier.end(rider).refusal == nil else { break }
                done += 1
                rider = Rider(id)
            }
            #expect(done == changes)
        }
    }

    @Test func `what ingest never sends is refused before the database`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            #expect(await verifier.start(Rider(), vehicleID: "a\0b").refusal == .invalid)
            let elsewhere = StartRide(
                rideID: .ride(slot: Slot(of: "T2")),
                riderID: .random(),
                tripID: "T1",
                receivedAt: Course.start
            )
            #expect(await verifier.ask(.start(elsewhere)).refusal == .invalid)
            #expect(await verifier.start(Rider(on: "T\0")).refusal == .unknownTrip)
        }
    }

    @Test func `of two starts of one rider in two verifiers one wins`() async throws {
        try await World.with { world async throws in
            let one = try await world.verifier("v1")
            let two = try await world.idleVerifier("v2")
            // Each gets the slot of one of the trips.
            let index = try Course.index((0..<64).map { TripID("T\($0)") })
            world.setSchedule(index)
            try await eventually("both own slots") {
                await one.node.stepTowardsShare()
                await two.node.stepTowardsShare()
                return two.slots.count > 1
            }
            let ours = try #require(index.tripIDs.first { one.slots[Slot(of: $0)] != nil })
            let theirs = try #require(index.tripIDs.first { two.slots[Slot(of: $0)] != nil })
            for _ in 0..<10 {
                let left = Rider(on: ours)
                let right = Rider(left.id, on: theirs)
                async let first = one.start(left)
                async let second = two.start(right)
                let answers = await [first, second]
                let wins = answers.map { if case .started = $0 { true } else { false } }
                #expect(wins.filter { $0 }.count == 1)
                let winner = wins[0] ? left : right
                #expect(answers.contains(.conflict(rideID: winner.ride)))
            }
        }
    }
}
