import Messages
import RealtimeFeed
import TestKit
import Testing
import Transit
import Web

@testable import FeedService

/// Drivers in `GET /gtfs-rt/vehicle-positions` (spec 1.9, seed 4.8).
@Suite(.timeLimit(.minutes(2))) struct DriverFeedTests {
    private let now = TripEstimate.now

    // MARK: - The entity

    @Test func `a driver's entity has what was sent and no more`() {
        var vehicle = LiveVehicle.sample()
        vehicle.routeID = "R1"
        vehicle.bearing = 0
        vehicle.speed = 0
        #expect(
            FeedEntity(vehicle, now: now)
                == FeedEntity(
                    id: "bus-1",
                    vehicle: VehiclePosition(
                        trip: TripDescriptor(tripID: "T1", routeID: "R1", startDate: "20260216"),
                        vehicle: VehicleDescriptor(id: "bus-1"),
                        position: Position(
                            latitude: 47.6045,
                            longitude: -122.33,
                            bearing: 0,
                            speed: 0
                        ),
                        timestamp: UInt64(now)
                    )
                )
        )
    }

    @Test(
        arguments: [
            ("T1", "", nil, TripDescriptor(tripID: "T1")),
            ("", "R1", nil, TripDescriptor(routeID: "R1")),
            ("", "R1", .monday, TripDescriptor(routeID: "R1", startDate: "20260216")),
            ("T1", "R1", nil, TripDescriptor(tripID: "T1", routeID: "R1")), ("", "", nil, nil),
        ] as [(TripID, RouteID, ServiceDate?, TripDescriptor?)]
    )
    func `absent fields are absent, not empty`(
        trip: TripID,
        route: RouteID,
        date: ServiceDate?,
        expected: TripDescriptor?
    ) {
        var vehicle = LiveVehicle.sample(trip: trip, date: date)
        vehicle.routeID = route
        let entity = FeedEntity(vehicle, now: now)
        #expect(entity.vehicle?.trip == expected)
        #expect(entity.vehicle?.position?.bearing == nil)
        #expect(entity.vehicle?.position?.speed == nil)
    }

    @Test func `a speed that the feed cannot hold is left out`() {
        var vehicle = LiveVehicle.sample()
        vehicle.speed = 1e308
        #expect(FeedEntity(vehicle, now: now).vehicle?.position?.speed == nil)
    }

    // MARK: - The merge

    private func outcome(
        _ estimates: [TripEstimate],
        _ drivers: [LiveVehicle]
    ) -> FeedAssembly.Outcome {
        var assembly = FeedAssembly(FeedAssembly.Rules())
        var known = FeedAssembly.Knowledge()
        _ = known.estimates.hear(.sample(estimates))
        known.drivers = drivers
        return assembly.tick(known, stamp: BuilderStamp(instance: "f", epoch: 1), at: now)
    }

    private func build(_ estimates: [TripEstimate], _ drivers: [LiveVehicle]) -> [String] {
        let build = outcome(estimates, drivers).positions
        let findings = build?.message.complianceFindings(now: UInt64(now)) ?? []
        #expect(findings.allSatisfy { $0.severity == .warning })
        return build?.entities.map { $0.entity.id } ?? []
    }

    @Test func `a rider's entity gives way to the driver of its trip and date alone`() {
        let estimates = [
            TripEstimate.sample("T1"), .sample("T1", on: .tuesday), .sample("T2"),
        ]
        #expect(
            build(estimates, [.sample()]) == ["bus-1", "rider:T1:20260217", "rider:T2:20260216"]
        )
        #expect(build(estimates, [.sample(date: nil)]) == ["bus-1", "rider:T2:20260216"])
        #expect(build(estimates, [.sample(trip: "", date: nil)]).count == 4)
    }

    @Test func `a driver whose entity is withheld still covers the trip`() {
        var broken = LiveVehicle.sample()
        broken.latitude = 91
        let outcome = outcome([.sample("T1")], [broken])
        #expect(outcome.positions?.entities.isEmpty == true)
        #expect(outcome.withheld == ["E026": 1])
    }

    // MARK: - Over HTTP

    private func message(
        _ world: DriverWorld,
        _ query: String = "",
        at replica: Int = 0
    )
        async throws -> FeedMessage
    {
        world.replicas[replica].publisher.tick(at: world.now)
        let answer = try await world.get(
            "/gtfs-rt/vehicle-positions\(query)",
            as: .nobody,
            at: replica
        )
        return try FeedMessage(decoding: answer.body)
    }

    @Test func `a driver's report is in the feed until it is stale`() async throws {
        try await withDrivers { world async throws in
            world.first.publisher.heard(Estimates.sample([.sample("T2")]).encoded())
            try await world.report(.random(), ReportBody(at: world.now).on("T1", "20260216"))
            for (query, ids) in [
                ("", ["bus-1", "rider:T2:20260216"]),
                ("?source=all", ["bus-1", "rider:T2:20260216"]),
                ("?source=driver", ["bus-1"]), ("?source=rider", ["rider:T2:20260216"]),
            ] {
                #expect(try await message(world, query).entities.map(\.id) == ids)
            }
            world.clock.advance(by: 90)
            #expect(try await message(world, "?source=driver").entities.count == 1)
            world.clock.advance(by: 1)
            #expect(try await message(world, "?source=driver").entities.isEmpty)
        }
    }

    @Test func `the rider's entity is back a tick after the driver stopped`() async throws {
        try await withDrivers { world async throws in
            try await world.report(.random(), ReportBody(at: world.now).on("T1", "20260216"))
            let start = world.now
            for (second, id) in [(0, "bus-1"), (90, "bus-1"), (91, "rider:T1:20260216")] {
                world.clock.set(start + Int64(second))
                let estimate = TripEstimate.sample("T1", at: world.now)
                let sequence = UInt64(second + 1)
                world.first.publisher.heard(
                    Estimates.sample(sequence: sequence, [estimate]).encoded()
                )
                #expect(try await message(world).entities.map(\.id) == [id])
            }
        }
    }

    @Test(arguments: [61, 300])
    func `a clock that is ahead is published as now and makes a valid feed`(
        ahead: Int64
    )
        async throws
    {
        try await withDrivers { world async throws in
            try await world.report(.random(), ReportBody(at: world.now + ahead))
            let feed = try await message(world)
            #expect(feed.entities.map(\.vehicle?.timestamp) == [UInt64(world.now)])
            #expect(feed.complianceFindings(now: UInt64(world.now)).isEmpty)
        }
    }

    @Test func `of two drivers on one trip one is published and the other marked`() async throws {
        try await withDrivers { world async throws in
            let assigned = UniqueID.random()
            _ = try await world.post("/api/v1/admin/vehicles", "{\"id\":\"own\"}")
            let assignment = "{\"user_id\":\"\(assigned)\",\"vehicle_id\":\"own\"}"
            #expect(
                try await world.post("/api/v1/admin/assignments", assignment).status == 201
            )
            let start = world.now
            try await world.report(assigned, ReportBody("own", at: start).on("T1", "20260216"))
            world.clock.advance(by: 30)
            try await world.report(
                .random(),
                ReportBody("other", at: world.now).on("T1", "20260216")
            )
            #expect(try await message(world).entities.map(\.id) == ["own"])
            let live = try await world.get("/api/v1/admin/vehicles/live").json
            #expect(live["vehicles"]?.elements.map { $0["vehicle_id"]?.text } == ["other", "own"])
            #expect(live["vehicles"]?.elements.map { $0["suppressed"]?.flag } == [true, nil])
            world.clock.advance(by: 1)
            try await world.report(
                .random(),
                ReportBody("other", at: world.now).on("T1", "20260216")
            )
            #expect(try await message(world).entities.map(\.id) == ["other"])
        }
    }

    @Test func `every replica publishes what any accepted`() async throws {
        try await withDrivers(replicas: 2) { world async throws in
            try await world.report(.random(), ReportBody(at: world.now), at: 0)
            try await eventually("the other replica knows it") {
                try await message(world, at: 1).entities.map(\.id) == ["bus-1"]
            }
        }
    }
}
