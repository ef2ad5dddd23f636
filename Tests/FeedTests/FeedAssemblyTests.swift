import Messages
import RealtimeFeed
import Testing
import Transit

@testable import FeedService

/// What each second brings, and that a second in which nothing happened brings nothing.
@Suite struct FeedAssemblyTests {
    private let now = TripEstimate.now
    private let stamp = BuilderStamp(instance: "f", epoch: 3)

    private func known(
        _ estimates: [TripEstimate] = [.sample()],
        agencies: [AgencyFeed] = []
    ) -> FeedAssembly.Knowledge {
        var known = FeedAssembly.Knowledge()
        _ = known.estimates.hear(.sample(estimates))
        known.agencies = agencies
        known.agenciesVersion = 1
        return known
    }

    private func trusted(
        _ vehicles: [Messages.TrustedVehicle],
        epoch: UInt64 = 1,
        complete: Bool = true,
        at createdAt: UnixSeconds = TripEstimate.now
    ) -> TrustedVehicles {
        TrustedVehicles(
            instance: "other",
            epoch: epoch,
            sequence: 1,
            createdAt: createdAt,
            configured: true,
            complete: complete,
            vehicles: vehicles
        )
    }

    private func vehicle(
        _ source: Messages.TrustedVehicle.Source,
        _ id: VehicleID = "1",
        trip: TripID = "T1",
        feed: Int? = nil
    ) -> Messages.TrustedVehicle {
        Messages.TrustedVehicle(
            tripID: trip,
            startDate: .monday,
            vehicleID: id,
            latitude: 47.6,
            longitude: -122.33,
            timestamp: now - 10,
            source: source,
            feed: feed
        )
    }

    private func ids(_ outcome: FeedAssembly.Outcome) -> [String]? {
        outcome.positions?.entities.map(\.entity.id)
    }

    @Test func `an unchanged second brings nothing, a changed one a feed`() {
        var assembly = FeedAssembly(FeedAssembly.Rules())
        var known = known()
        let outcome1 = assembly.tick(known, stamp: stamp, at: now)
        #expect(ids(outcome1) == ["rider:T1:20260216"])
        for second in 1...4 as ClosedRange<Int64> {
            let outcome = assembly.tick(known, stamp: stamp, at: now + second)
            #expect(
                outcome.positions == nil && outcome.trusted == nil && outcome.tripUpdates == nil
            )
        }
        known.drivers = [.sample(trip: "T2")]
        let outcome2 = assembly.tick(known, stamp: stamp, at: now + 5)
        #expect(ids(outcome2)?.count == 2)
        known.drivers = []
        let outcome3 = assembly.tick(known, stamp: stamp, at: now + 6)
        #expect(ids(outcome3)?.count == 1)
    }

    @Test func `what grows too old leaves by itself`() {
        var assembly = FeedAssembly(FeedAssembly.Rules())
        let known = known([.sample(at: now - 80)])
        let outcome4 = assembly.tick(known, stamp: stamp, at: now)
        #expect(ids(outcome4)?.count == 1)
        _ = assembly.tick(known, stamp: stamp, at: now + 10)
        let outcome5 = assembly.tick(known, stamp: stamp, at: now + 11)
        #expect(ids(outcome5) == [])
    }

    @Test func `a rider appears in the second in which the agency's word is too old`() {
        var assembly = FeedAssembly(FeedAssembly.Rules())
        let agency = AgencyFeed.read([.agency(at: UInt64(now - 295))])
        let known = known(agencies: [agency])
        let outcome6 = assembly.tick(known, stamp: stamp, at: now)
        #expect(ids(outcome6) == [])
        _ = assembly.tick(known, stamp: stamp, at: now + 5)
        let outcome7 = assembly.tick(known, stamp: stamp, at: now + 6)
        #expect(ids(outcome7) == ["rider:T1:20260216"])
    }

    @Test(
        arguments: [(-1, -1), (0, 0), (1, 0), (60, 0), (61, nil)] as [(Int64, Int64?)]
    )
    func `an agency's clock that is ahead puts neither its vehicle nor the feed ahead of ours`(
        offset: Int64,
        expected: Int64?
    ) throws {
        var rules = FeedAssembly.Rules()
        rules.includesAgency = true
        rules.predictsAgency = true
        var assembly = FeedAssembly(rules)
        let ahead = AgencyFeed.read([.agency(at: UInt64(now + offset))])
        var known = known([], agencies: [ahead])
        known.schedule = Fixture.schedule
        let outcome = assembly.tick(known, stamp: stamp, at: now)
        for build in [try #require(outcome.positions), try #require(outcome.tripUpdates)] {
            #expect(build.headerTimestamp == now)
            #expect(build.message.complianceFindings(now: UInt64(now)).isEmpty)
        }
        let vehicle = outcome.positions?.entities.first { $0.source == .agency }
        #expect(vehicle?.time == expected.map { now + $0 })
        #expect(
            outcome.trusted?.vehicles.map(\.timestamp) == (expected.map { [now + $0] } ?? [])
        )
        // It says nothing new while nothing is, and leaves nothing behind.
        let next = assembly.tick(known, stamp: stamp, at: now + (offset == 61 ? 0 : 1))
        #expect(next.positions == nil)
        known.agencies = [.read([])]
        known.agenciesVersion = 2
        let gone = assembly.tick(known, stamp: stamp, at: now + 2)
        #expect(ids(gone) == (expected == nil ? nil : []))
        #expect(gone.positions.map(\.headerTimestamp) == (expected == nil ? nil : now + 2))
    }

    @Test func `what another builder published ahead of our clock is dated by ours`() {
        var rules = FeedAssembly.Rules()
        rules.includesAgency = true
        var assembly = FeedAssembly(rules)
        let entity = FeedEntity.agency(at: UInt64(now + 20))
        assembly.follow(
            positionsHeader: now - 1,
            updatesHeader: now - 1,
            agencyEntities: [SourcedEntity(ofAgency: entity, feed: 0)]
        )
        let known = known([], agencies: [AgencyFeed(url: "http://a")])
        let build = assembly.tick(known, stamp: stamp, at: now).positions
        #expect(build?.headerTimestamp == now)
        #expect(build?.entities.map(\.time) == [now])
    }

    @Test func `what a rule keeps out covers its trip all the same`() {
        var rules = FeedAssembly.Rules()
        rules.includesAgency = true
        var assembly = FeedAssembly(rules)
        let agency = AgencyFeed.read([.agency(latitude: 91)])
        let outcome = assembly.tick(known(agencies: [agency]), stamp: stamp, at: now)
        #expect(ids(outcome) == [])
        #expect(outcome.withheld == ["E026": 1])
        // The driver's route contradicts the schedule; what was sent is not changed.
        var driven = known()
        driven.drivers = [.sample(route: "R2")]
        driven.schedule = Fixture.schedule
        var second = FeedAssembly(rules)
        let kept = second.tick(driven, stamp: stamp, at: now)
        #expect(ids(kept) == [])
        #expect(kept.withheld == ["E035": 1])
    }

    // MARK: - Starts

    @Test func `without a snapshot riders wait until every agency was asked`() {
        var assembly = FeedAssembly(FeedAssembly.Rules())
        let untried = AgencyFeed(url: "http://a")
        var known = known(agencies: [untried])
        let outcome8 = assembly.tick(known, stamp: stamp, at: now)
        #expect(ids(outcome8) == [])
        var failed = untried
        _ = failed.take(.failed("no answer in time"), at: now, turn: 1)
        known.agencies = [failed]
        known.agenciesVersion = 2
        let outcome9 = assembly.tick(known, stamp: stamp, at: now + 1)
        #expect(ids(outcome9) == ["rider:T1:20260216"])
    }

    @Test func `with another builder's snapshot riders need not wait`() {
        for source in [Messages.TrustedVehicle.Source.agency, .driver] {
            var assembly = FeedAssembly(FeedAssembly.Rules())
            var known = known([.sample("T1"), .sample("T2")], agencies: [AgencyFeed(url: "a")])
            known.inherited.hear(trusted([vehicle(source)]))
            // Drivers are known here; only agencies are taken over.
            let expected =
                source == .agency
                ? ["rider:T2:20260216"] : ["rider:T1:20260216", "rider:T2:20260216"]
            let outcome10 = assembly.tick(known, stamp: stamp, at: now)
            #expect(ids(outcome10) == expected)
        }
    }

    @Test(
        arguments: [(true, -300, true), (true, -301, false), (false, 0, false)]
            as [(Bool, Int64, Bool)]
    )
    func `a snapshot that is old or not complete does not count`(
        complete: Bool,
        offset: Int64,
        counts: Bool
    ) {
        var assembly = FeedAssembly(FeedAssembly.Rules())
        var known = known(agencies: [AgencyFeed(url: "a")])
        known.inherited.hear(trusted([], complete: complete, at: now + offset))
        let outcome = assembly.tick(known, stamp: stamp, at: now)
        #expect(ids(outcome)?.isEmpty == !counts)
    }

    @Test func `a builder goes on behind the one before it`() {
        var assembly = FeedAssembly(FeedAssembly.Rules())
        assembly.follow(positionsHeader: now + 40, updatesHeader: now + 7, agencyEntities: [])
        let outcome = assembly.tick(known(), stamp: stamp, at: now)
        #expect(outcome.positions?.headerTimestamp == now + 41)
        #expect(outcome.tripUpdates?.headerTimestamp == now + 8)
    }

    @Test func `verifiers and the next builder are told on what stands of an agency that is away`()
        throws
    {
        var away = AgencyFeed(url: "http://b")
        _ = away.take(.failed("no answer in time"), at: now, turn: 1)
        var known = known(
            [.sample("T1"), .sample("T2"), .sample("T3")],
            agencies: [.read([.agency("9", trip: "T3")]), away]
        )
        known.inherited.hear(
            trusted([
                vehicle(.agency, "1", trip: "T1", feed: 0),
                vehicle(.agency, "2", trip: "T2", feed: 1),
                vehicle(.agency, "3", trip: "T3", feed: 1),
            ])
        )
        var assembly = FeedAssembly(FeedAssembly.Rules())
        let outcome = assembly.tick(known, stamp: stamp, at: now)
        // The first agency has answered and reports nobody on T1.
        #expect(ids(outcome) == ["rider:T1:20260216"])
        let snapshot = try #require(outcome.trusted)
        // The fresher one on T3 is the one that was read.
        #expect(snapshot.vehicles.map(\.vehicleID) == ["9", "2"])
        #expect(snapshot.vehicles.map(\.feed) == [0, 1])
        #expect(snapshot.complete)
        // Both are too old at last, and what was read goes with them.
        _ = assembly.tick(known, stamp: stamp, at: now + 290)
        known.estimates = EstimateBoard()
        _ = known.estimates.hear(
            .sample([.sample("T1", at: now + 291), .sample("T2", at: now + 291)])
        )
        let later = assembly.tick(known, stamp: stamp, at: now + 291)
        #expect(ids(later) == ["rider:T1:20260216", "rider:T2:20260216"])
        #expect(later.trusted?.vehicles.map(\.vehicleID) == ["9"])
    }

    // MARK: - Trusted vehicles

    @Test func `tells verifiers of agencies and of one driver for each run`() throws {
        var assembly = FeedAssembly(FeedAssembly.Rules())
        var known = known(agencies: [
            .read([
                .agency("1", trip: "T2"), .agency("2", trip: nil), .agency("3", latitude: .nan),
                .agency("4", trip: "T2", on: nil),
            ])
        ])
        known.drivers = [.sample("a", trip: "T3"), .sample("b", trip: "T3", at: now - 5)]
        let outcome = assembly.tick(known, stamp: stamp, at: now)
        let snapshot = try #require(outcome.trusted)
        // What keeps riders off a trip here does so there: also an impossible place, also no date.
        #expect(snapshot.vehicles.map(\.vehicleID) == ["1", "3", "4", "a"])
        #expect(snapshot.vehicles.map { $0.latitude == nil } == [false, true, false, false])
        #expect(snapshot.vehicles.map(\.source) == [.agency, .agency, .agency, .driver])
        #expect(snapshot.epoch == 3 && snapshot.sequence == 1)
        #expect(snapshot.configured && snapshot.complete)
        #expect(snapshot.createdAt == now)
    }

    @Test func `says it again before verifiers take it for old`() {
        var assembly = FeedAssembly(FeedAssembly.Rules())
        let known = known()
        let first = assembly.tick(known, stamp: stamp, at: now).trusted
        #expect(first != nil)
        let soon = assembly.tick(known, stamp: stamp, at: now + 4).trusted
        #expect(soon == nil)
        let again = assembly.tick(known, stamp: stamp, at: now + 5).trusted
        #expect(again?.sequence == 2)
        #expect(again?.createdAt == now + 5)
    }
}
