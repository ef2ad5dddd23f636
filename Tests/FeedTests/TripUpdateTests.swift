import Messages
import RealtimeFeed
import Testing
import Transit

@testable import FeedService

/// What `/gtfs-rt/trip-updates` says of published vehicles.
@Suite struct TripUpdateTests {
    private let now = TripEstimate.now
    private let stamp = BuilderStamp(instance: "f", epoch: 1)

    /// The fixture's straight trip begins at this instant, 08:00 on a Monday in Los Angeles.
    private func outcome(
        drivers: [LiveVehicle] = [],
        estimates: [TripEstimate] = [],
        agencies: [FeedEntity] = [],
        rules: FeedAssembly.Rules = FeedAssembly.Rules()
    ) -> FeedAssembly.Outcome {
        var assembly = FeedAssembly(rules)
        var known = FeedAssembly.Knowledge()
        known.drivers = drivers
        _ = known.estimates.hear(.sample(estimates))
        if !agencies.isEmpty { known.agencies = [.read(agencies)] }
        known.schedule = Fixture.schedule
        return assembly.tick(known, stamp: stamp, at: now)
    }

    private func updates(_ outcome: FeedAssembly.Outcome) -> [TripUpdate] {
        (outcome.tripUpdates?.entities ?? []).compactMap(\.entity.tripUpdate)
    }

    private func rider(_ along: Double) -> TripEstimate {
        var estimate = TripEstimate.sample("T1", latitude: 47.602)
        estimate.longitude = -122.33
        estimate.alongShape = along
        estimate.stopID = "ST2"
        estimate.stopSequence = 2
        return estimate
    }

    @Test func `a rider's estimate has the times of the stops ahead`() throws {
        let outcome = outcome(estimates: [rider(250)])
        let update = try #require(updates(outcome).first)
        #expect(outcome.tripUpdates?.entities.map(\.entity.id) == ["rider:T1:20260216"])
        #expect(update.vehicle?.id == "rider:T1:20260216")
        #expect(update.trip.startTime == "08:00:00")
        #expect(update.trip.scheduleRelationship == .scheduled)
        #expect(update.timestamp == UInt64(now))
        // 250 m into the trip the schedule has 08:02:30.
        #expect(update.delay.map { abs($0 + 150) <= 1 } == true)
        #expect(update.stopTimeUpdates.map(\.stopSequence) == [2, 3])
        #expect(update.stopTimeUpdates.map(\.stopID) == ["ST2", "ST3"])
        for stop in update.stopTimeUpdates {
            let arrival = try #require(stop.arrival)
            #expect((arrival.uncertainty ?? 0) > 0)
            #expect(stop.departure != nil)
            #expect(stop.scheduleRelationship == .scheduled)
        }
    }

    @Test func `ids pair with the positions and every rule holds`() throws {
        let outcome = outcome(
            drivers: [.sample("bus-1", trip: "T3", date: .monday, latitude: 47.602)],
            estimates: [rider(250)]
        )
        let positions = try #require(outcome.positions)
        let build = try #require(outcome.tripUpdates)
        #expect(positions.entities.map(\.entity.id) == build.entities.map(\.entity.id))
        #expect(build.withheld.isEmpty)
        let findings = build.message.complianceFindings(
            now: UInt64(now),
            schedule: Fixture.schedule,
            positions: positions.message
        )
        #expect(findings.isEmpty, "\(findings)")
    }

    @Test func `past the last stop there is no update`() {
        #expect(updates(outcome(estimates: [rider(2000)])).isEmpty)
    }

    @Test func `outside the schedule, on a route alone or without a shape there is none`() {
        let drivers: [LiveVehicle] = [
            .sample("a", trip: "X"), .sample("b", trip: "", date: nil, route: "R1"),
            .sample("c", trip: "T4"), .sample("d", trip: "", date: nil),
        ]
        let outcome = outcome(drivers: drivers)
        #expect(outcome.positions?.entities.count == 4)
        #expect(updates(outcome).isEmpty)
    }

    @Test func `a driver without a date is on the run of today`() throws {
        let update = try #require(
            updates(outcome(drivers: [.sample(date: nil, latitude: 47.602)])).first
        )
        #expect(update.trip.startDate == nil)
        let arrival = try #require(update.stopTimeUpdates.first?.arrival?.time)
        #expect(abs(arrival - now) < 600)
    }

    @Test(arguments: [(false, false, 0), (true, false, 0), (false, true, 1), (true, true, 1)])
    func `agencies' vehicles are predicted when that is switched on`(
        includes: Bool,
        predicts: Bool,
        count: Int
    ) {
        var rules = FeedAssembly.Rules()
        rules.includesAgency = includes
        rules.predictsAgency = predicts
        let outcome = outcome(agencies: [.agency(latitude: 47.602)], rules: rules)
        #expect(updates(outcome).count == count)
        #expect(outcome.positions?.entities.count == (includes ? 1 : 0))
        // Where the agency says itself when it arrives, we do not.
        let own = FeedEntity(
            id: "u",
            tripUpdate: TripUpdate(trip: TripDescriptor(tripID: "T1"))
        )
        let silent = self.outcome(agencies: [.agency(latitude: 47.602), own], rules: rules)
        #expect(updates(silent).isEmpty)
    }

    @Test func `an update stands until the vehicle is seen again or 15 s pass`() {
        var assembly = FeedAssembly(FeedAssembly.Rules())
        var known = FeedAssembly.Knowledge()
        known.schedule = Fixture.schedule
        known.drivers = [.sample(latitude: 47.602)]
        let first = assembly.tick(known, stamp: stamp, at: now).tripUpdates
        #expect(first != nil)
        for second in 1..<15 as Range<Int64> {
            let same = assembly.tick(known, stamp: stamp, at: now + second)
            #expect(same.tripUpdates == nil, "\(second)")
        }
        let older = assembly.tick(known, stamp: stamp, at: now + 15).tripUpdates
        #expect(older?.entities.first?.entity.tripUpdate?.timestamp == UInt64(now))
        known.drivers = [.sample(latitude: 47.603, at: now + 16)]
        let moved = assembly.tick(known, stamp: stamp, at: now + 16).tripUpdates
        #expect(moved?.entities.first?.entity.tripUpdate?.timestamp == UInt64(now + 16))
    }
}
