import Messages
import RealtimeFeed
import Testing
import Transit

@testable import FeedService

/// One feed of what drivers, agencies and riders say (seed 4.8).
@Suite struct FeedMergeTests {
    private let now = TripEstimate.now

    private func inputs(
        drivers: [LiveVehicle] = [],
        estimates: [TripEstimate] = [],
        agencies: [[FeedEntity]] = [],
        includesAgency: Bool = false,
        schedule: ScheduleIndex? = nil
    ) -> FeedMerge.Inputs {
        var inputs = FeedMerge.Inputs()
        inputs.drivers = drivers
        inputs.estimates = estimates
        inputs.agencies = AgencyFusion(
            agencies.map { AgencyFeed.read($0) },
            at: now,
            age: TrustedAge(maximum: 300)
        )
        inputs.includesAgency = includesAgency
        inputs.schedule = schedule
        return inputs
    }

    private func merge(_ inputs: FeedMerge.Inputs) -> FeedMerge.Output {
        var merge = FeedMerge()
        return merge.merge(inputs, at: now)
    }

    private func ids(_ output: FeedMerge.Output) -> [String] { output.entities.map(\.entity.id) }

    // MARK: - Who is published

    @Test func `drivers come first, then riders`() {
        let output = merge(
            inputs(drivers: [.sample(trip: "T2")], estimates: [.sample("T1"), .sample("T3")])
        )
        #expect(ids(output) == ["bus-1", "rider:T1:20260216", "rider:T3:20260216"])
        #expect(output.entities.map(\.source) == [.driver, .rider, .rider])
    }

    @Test func `a driver covers riders on its run`() {
        let estimates: [TripEstimate] = [.sample("T1", on: .monday), .sample("T1", on: .tuesday)]
        let dated = merge(inputs(drivers: [.sample()], estimates: estimates))
        #expect(ids(dated) == ["bus-1", "rider:T1:20260217"])
        let dateless = merge(inputs(drivers: [.sample(date: nil)], estimates: estimates))
        #expect(ids(dateless) == ["bus-1"])
    }

    @Test func `an agency covers riders and is not published itself`() {
        let output = merge(
            inputs(estimates: [.sample("T1"), .sample("T2")], agencies: [[.agency()]])
        )
        #expect(ids(output) == ["rider:T2:20260216"])
    }

    @Test func `with FEED_INCLUDE_AGENCY agencies are published`() {
        let output = merge(
            inputs(estimates: [.sample("T1")], agencies: [[.agency()]], includesAgency: true)
        )
        #expect(ids(output) == ["100"])
        #expect(output.entities.first?.source == .agency)
    }

    @Test(arguments: ["2026113", "2026-02-16", "20260231", ""])
    func `an agency's date that cannot be read is left out, and its trip covered on every date`(
        date: String
    ) {
        let output = merge(
            inputs(
                estimates: [
                    .sample("T1", on: .monday), .sample("T1", on: .tuesday), .sample("T2"),
                ],
                agencies: [[.agency(on: date)]],
                includesAgency: true
            )
        )
        #expect(ids(output) == ["100", "rider:T2:20260216"])
        #expect(output.entities.first?.entity.vehicle?.trip?.tripID == "T1")
        #expect(output.entities.first?.entity.vehicle?.trip?.startDate == nil)
        #expect(output.mended == ["E021": 1])
        #expect(output.withheld.isEmpty)
    }

    @Test func `the same trip on two dates is two vehicles`() {
        let output = merge(inputs(estimates: [.sample(on: .monday), .sample(on: .tuesday)]))
        #expect(Set(output.entities.compactMap(\.entity.vehicle?.vehicle?.id)).count == 2)
    }

    @Test func `a driver on a trip keeps the agency's entity out`() {
        for driver in [LiveVehicle.sample(), .sample(date: nil)] {
            let output = merge(
                inputs(drivers: [driver], agencies: [[.agency()]], includesAgency: true)
            )
            #expect(ids(output) == ["bus-1"])
        }
        let other = merge(
            inputs(
                drivers: [.sample(date: .tuesday)],
                agencies: [[.agency()]],
                includesAgency: true
            )
        )
        #expect(ids(other) == ["bus-1", "100"])
    }

    @Test func `riders wait while nobody knows what agencies report`() {
        var waiting = inputs(drivers: [.sample(trip: "T2")], estimates: [.sample()])
        waiting.holdsRiders = true
        #expect(ids(merge(waiting)) == ["bus-1"])
    }

    @Test func `what another builder knew of agencies covers until ours were asked`() {
        var inherited = inputs(estimates: [.sample("T1"), .sample("T2")])
        inherited.inherited.add("T1", on: .monday)
        #expect(ids(merge(inherited)) == ["rider:T2:20260216"])
    }

    @Test func `what another builder published of agencies stands until ours were asked`() {
        var inherited = inputs(drivers: [.sample()], includesAgency: true)
        inherited.inheritedEntities = [
            .agency("100"), .agency("200", trip: "T2"), .agency("bus-1"),
        ].map { SourcedEntity(ofAgency: $0, feed: 0) }
        #expect(ids(merge(inherited)) == ["bus-1", "e-200"])
    }

    @Test(arguments: [(-1, ["1"]), (0, ["1"]), (1, ["2"])] as [(Int64, [String])])
    func `of an agency's vehicle and an inherited one on one run the fresher is published`(
        offset: Int64,
        expected: [String]
    ) {
        var inputs = inputs(agencies: [[.agency("1")]], includesAgency: true)
        var other = FeedEntity.agency("2", at: UInt64(now + offset))
        other.id = "2"
        var elsewhere = FeedEntity.agency("3", on: "20260217")
        elsewhere.id = "3"
        inputs.inheritedEntities = [other, elsewhere]
            .map { SourcedEntity(ofAgency: $0, feed: 1) }
        #expect(ids(merge(inputs)) == expected + ["3"])
    }

    @Test(
        arguments: [
            ("20260216", nil), (nil, "20260216"), (nil, nil), ("20260216", "20260216"),
            ("20260216", "20260217"),
        ] as [(String?, String?)]
    )
    func `an inherited vehicle without a date is on any run of its trip`(
        own: String?,
        inherited: String?
    ) {
        var inputs = inputs(agencies: [[.agency("1", on: own)]], includesAgency: true)
        var other = FeedEntity.agency("2", on: inherited, at: UInt64(now - 1))
        other.id = "2"
        inputs.inheritedEntities = [SourcedEntity(ofAgency: other, feed: 1)]
        let areTwoRuns = own != nil && inherited != nil && own != inherited
        #expect(ids(merge(inputs)) == (areTwoRuns ? ["1", "2"] : ["1"]))
    }

    // MARK: - Ids

    @Test func `ids of two agencies that collide are told apart`() {
        let output = merge(
            inputs(
                agencies: [
                    [.agency("7", trip: "T1"), .agency("8", trip: "T2")],
                    [.agency("7", trip: "T3"), .agency("9", trip: "T4")],
                ],
                includesAgency: true
            )
        )
        #expect(ids(output) == ["7", "8", "9", "agency2:7"])
        #expect(Set(output.entities.map(\.entity.vehicle?.vehicle?.id)).count == 4)
    }

    @Test func `an agency's id that a driver's vehicle has gets a prefix`() {
        let output = merge(
            inputs(
                drivers: [.sample("7", trip: "T9")],
                agencies: [[.agency("7")]],
                includesAgency: true
            )
        )
        #expect(ids(output) == ["7", "agency1:7"])
    }

    @Test func `a prefix stays when the other vehicle goes`() {
        var merge = FeedMerge()
        let both = [[FeedEntity.agency("7", trip: "T1")], [.agency("7", trip: "T3")]]
        _ = merge.merge(inputs(agencies: both, includesAgency: true), at: now)
        let later = merge.merge(
            inputs(agencies: [[], [.agency("7", trip: "T3")]], includesAgency: true),
            at: now
        )
        #expect(ids(later) == ["agency2:7"])
        _ = merge.merge(inputs(agencies: [[], []], includesAgency: true), at: now)
        let again = merge.merge(
            inputs(agencies: [[], [.agency("7", trip: "T3")]], includesAgency: true),
            at: now
        )
        #expect(ids(again) == ["7"])
    }

    @Test func `an agency's vehicle that calls itself a rider's takes no rider's place`() {
        let output = merge(
            inputs(
                estimates: [.sample("T1")],
                agencies: [[.agency("rider:T1:20260216", trip: "T2")]],
                includesAgency: true
            )
        )
        #expect(ids(output) == ["agency1:rider:T1:20260216", "rider:T1:20260216"])
    }

    @Test func `an id that looks prefixed already is not given twice`() {
        let output = merge(
            inputs(
                agencies: [
                    [.agency("7", trip: "T1"), .agency("agency2:7", trip: "T2")],
                    [.agency("7", trip: "T3")],
                ],
                includesAgency: true
            )
        )
        #expect(Set(ids(output)).count == 3)
    }

    @Test func `one vehicle on two trips of one feed is published on the newer`() {
        let output = merge(
            inputs(
                estimates: [.sample("T1"), .sample("T2")],
                agencies: [
                    [.agency("7", trip: "T1", at: UInt64(now - 5)), .agency("7", trip: "T2")]
                ],
                includesAgency: true
            )
        )
        #expect(ids(output) == ["7"])
        #expect(output.entities.first?.entity.vehicle?.trip?.tripID == "T2")
        #expect(output.withheld == ["E052": 1])
    }

    @Test func `without a vehicle's id the entity's is taken`() {
        var entity = FeedEntity.agency()
        entity.vehicle?.vehicle = nil
        var nameless = FeedEntity.agency("x", trip: "T2")
        nameless.id = ""
        nameless.vehicle?.vehicle?.id = ""
        let output = merge(inputs(agencies: [[entity, nameless]], includesAgency: true))
        #expect(ids(output) == ["e-100"])
        #expect(output.mended["W002"] == 1)
        #expect(output.withheld["W002"] == 1)
    }

    @Test func `a copy of a trip without its update is kept out`() {
        var copy = FeedEntity.agency()
        copy.vehicle?.trip?.scheduleRelationship = .duplicated
        let output = merge(
            inputs(estimates: [.sample("T1")], agencies: [[copy]], includesAgency: true)
        )
        #expect(ids(output).isEmpty)
        #expect(output.withheld == ["S020": 1])
    }

    // MARK: - What the schedule adds

    @Test func `adds what the sender left out of a trip in the schedule`() throws {
        let output = merge(
            inputs(
                drivers: [.sample()],
                estimates: [.sample("T2")],
                agencies: [[.agency("100", trip: "T3")]],
                includesAgency: true,
                schedule: Fixture.schedule
            )
        )
        let expected = [
            ("bus-1", "08:00:00", "R1"), ("100", "25:00:00", "R2"),
            ("rider:T2:20260216", "09:00:00", "R1"),
        ]
        #expect(output.entities.count == expected.count)
        for (merged, fields) in zip(output.entities, expected) {
            let trip = try #require(merged.entity.vehicle?.trip)
            #expect(merged.entity.id == fields.0)
            #expect(trip.startTime == fields.1)
            #expect(trip.routeID == RouteID(fields.2))
            #expect(trip.directionID == 0)
            #expect(trip.scheduleRelationship == .scheduled)
        }
    }

    @Test func `also of a trip without a shape`() throws {
        let output = merge(inputs(drivers: [.sample(trip: "T4")], schedule: Fixture.schedule))
        let trip = try #require(output.entities.first?.entity.vehicle?.trip)
        #expect(trip.startTime == "10:00:00")
        #expect(trip.directionID == 1)
    }

    @Test func `never changes a field that a driver sent`() throws {
        let output = merge(
            inputs(drivers: [.sample(date: nil, route: "R2")], schedule: Fixture.schedule)
        )
        let trip = try #require(output.entities.first?.entity.vehicle?.trip)
        #expect(trip.routeID == "R2")
        #expect(trip.startDate == nil)
        let routeOnly = merge(inputs(drivers: [.sample(trip: "", date: nil, route: "R2")]))
        #expect(
            routeOnly.entities.first?.entity.vehicle?.trip == TripDescriptor(routeID: "R2")
        )
        let nothing = merge(inputs(drivers: [.sample(trip: "", date: nil)]))
        #expect(nothing.entities.first?.entity.vehicle?.trip == nil)
    }

    @Test func `a driver's trip outside the schedule is an extra one`() throws {
        let output = merge(inputs(drivers: [.sample(trip: "X")], schedule: Fixture.schedule))
        let trip = try #require(output.entities.first?.entity.vehicle?.trip)
        #expect(trip.scheduleRelationship == .added)
        #expect(output.mended == ["E003": 1])
        let blind = merge(inputs(drivers: [.sample(trip: "X")]))
        #expect(blind.entities.first?.entity.vehicle?.trip?.scheduleRelationship == nil)
    }

    @Test(arguments: [-1, 0, 1, 60, 300] as [Int64])
    func `a driver's time is never ahead of the clock`(offset: Int64) {
        let output = merge(inputs(drivers: [.sample(at: now + offset)]))
        #expect(output.entities.first?.entity.vehicle?.timestamp == UInt64(now + min(0, offset)))
    }
}
