import RealtimeFeed
import Testing
import Transit

@Suite struct ComplianceTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let rule: String
        let what: String
        let breaks: Bool
        let feed: FeedMessage
        var testDescription: String { "\(rule) \(breaks ? "found" : "not found"): \(what)" }
    }

    private static let now = Samples.now

    private static func header(_ change: (inout FeedHeader) -> Void) -> FeedMessage {
        var feed = Samples.feed([Samples.vehicle()])
        change(&feed.header)
        return feed
    }

    private static func entity(_ entities: FeedEntity...) -> FeedMessage { Samples.feed(entities) }

    private static func update(_ timestamp: UInt64?, date: String? = nil) -> FeedMessage {
        entity(
            FeedEntity(
                id: "u",
                tripUpdate: TripUpdate(
                    trip: TripDescriptor(tripID: "t", startDate: date),
                    timestamp: timestamp
                )
            )
        )
    }

    private static func deleted(_ incrementality: FeedHeader.Incrementality) -> FeedMessage {
        FeedMessage(
            header: FeedHeader(incrementality: incrementality, timestamp: now),
            entities: [FeedEntity(id: "a", isDeleted: true)]
        )
    }

    private static func named(_ id: String, vehicle: String?) -> FeedEntity {
        var entity = Samples.vehicle(id)
        entity.vehicle?.vehicle = vehicle.map { VehicleDescriptor(id: VehicleID($0)) }
        return entity
    }

    static let cases: [Case] = [
        Case(
            rule: "E001",
            what: "the last second",
            breaks: false,
            feed: entity(Samples.vehicle(timestamp: 10_000_000_000))
        ),
        Case(
            rule: "E001",
            what: "milliseconds",
            breaks: true,
            feed: entity(Samples.vehicle(timestamp: 10_000_000_001))
        ),
        Case(
            rule: "E001",
            what: "header in milliseconds",
            breaks: true,
            feed: header { $0.timestamp = now * 1000 }
        ),
        Case(
            rule: "E012",
            what: "same second",
            breaks: false,
            feed: entity(Samples.vehicle(timestamp: now))
        ),
        Case(
            rule: "E012",
            what: "newer than the header",
            breaks: true,
            feed: entity(Samples.vehicle(timestamp: now + 1))
        ),
        Case(rule: "E012", what: "newer trip update", breaks: true, feed: update(now + 1)),
        Case(
            rule: "E026",
            what: "pole and date line",
            breaks: false,
            feed: entity(Samples.vehicle(latitude: -90, longitude: 180))
        ),
        Case(
            rule: "E026",
            what: "past the pole",
            breaks: true,
            feed: entity(Samples.vehicle(latitude: Float(90).nextUp))
        ),
        Case(
            rule: "E026",
            what: "past the date line",
            breaks: true,
            feed: entity(Samples.vehicle(longitude: Float(-180).nextDown))
        ),
        Case(
            rule: "E026",
            what: "no number",
            breaks: true,
            feed: entity(Samples.vehicle(latitude: .nan))
        ),
        Case(
            rule: "E027",
            what: "no bearing",
            breaks: false,
            feed: entity(Samples.vehicle(bearing: nil))
        ),
        Case(rule: "E027", what: "0", breaks: false, feed: entity(Samples.vehicle(bearing: 0))),
        Case(rule: "E027", what: "360", breaks: false, feed: entity(Samples.vehicle(bearing: 360))),
        Case(
            rule: "E027",
            what: "above 360",
            breaks: true,
            feed: entity(Samples.vehicle(bearing: Float(360).nextUp))
        ),
        Case(
            rule: "E027",
            what: "below 0",
            breaks: true,
            feed: entity(Samples.vehicle(bearing: -0.001))
        ),
        Case(
            rule: "E038",
            what: "1.0",
            breaks: false,
            feed: header { $0.gtfsRealtimeVersion = "1.0" }
        ),
        Case(
            rule: "E038",
            what: "2.1",
            breaks: true,
            feed: header { $0.gtfsRealtimeVersion = "2.1" }
        ),
        Case(rule: "E039", what: "differential", breaks: false, feed: deleted(.differential)),
        Case(rule: "E039", what: "whole", breaks: true, feed: deleted(.fullDataset)),
        Case(rule: "E048", what: "1", breaks: false, feed: header { $0.timestamp = 1 }),
        Case(rule: "E048", what: "0", breaks: true, feed: header { $0.timestamp = 0 }),
        Case(rule: "E048", what: "absent", breaks: true, feed: header { $0.timestamp = nil }),
        Case(rule: "E049", what: "present", breaks: false, feed: entity(Samples.vehicle())),
        Case(rule: "E049", what: "absent", breaks: true, feed: header { $0.incrementality = nil }),
        Case(
            rule: "E050",
            what: "60 s ahead",
            breaks: false,
            feed: entity(Samples.vehicle(timestamp: now + 60))
        ),
        Case(
            rule: "E050",
            what: "61 s ahead",
            breaks: true,
            feed: entity(Samples.vehicle(timestamp: now + 61))
        ),
        Case(
            rule: "E050",
            what: "header 61 s ahead",
            breaks: true,
            feed: header { $0.timestamp = now + 61 }
        ),
        Case(
            rule: "E052",
            what: "two vehicles",
            breaks: false,
            feed: entity(Samples.vehicle("a"), Samples.vehicle("b"))
        ),
        Case(
            rule: "E052",
            what: "one vehicle twice",
            breaks: true,
            feed: entity(named("a", vehicle: "v"), named("b", vehicle: "v"))
        ),
        Case(
            rule: "E052",
            what: "one entity id twice",
            breaks: true,
            feed: entity(named("a", vehicle: "v"), named("a", vehicle: "w"))
        ),
        Case(
            rule: "E052",
            what: "ids that only Unicode takes for equal",
            breaks: false,
            feed: entity(Samples.vehicle("é"), Samples.vehicle("e\u{301}"))
        ),
        Case(
            rule: "E052",
            what: "two without vehicle id",
            breaks: false,
            feed: entity(named("a", vehicle: nil), named("b", vehicle: ""))
        ),
        Case(
            rule: "W001",
            what: "a timestamp",
            breaks: false,
            feed: entity(Samples.vehicle(timestamp: 1))
        ),
        Case(rule: "W001", what: "0", breaks: true, feed: entity(Samples.vehicle(timestamp: 0))),
        Case(
            rule: "W001",
            what: "absent",
            breaks: true,
            feed: entity(Samples.vehicle(timestamp: nil))
        ),
        Case(rule: "W001", what: "trip update without", breaks: true, feed: update(nil)),
        Case(rule: "W002", what: "an id", breaks: false, feed: entity(Samples.vehicle())),
        Case(rule: "W002", what: "empty", breaks: true, feed: entity(named("a", vehicle: ""))),
        Case(rule: "W002", what: "absent", breaks: true, feed: entity(named("a", vehicle: nil))),
        Case(rule: "A001", what: "0", breaks: false, feed: entity(Samples.vehicle(speed: 0))),
        Case(
            rule: "A001",
            what: "absent",
            breaks: false,
            feed: entity(Samples.vehicle(speed: nil))
        ),
        Case(
            rule: "A001",
            what: "negative",
            breaks: true,
            feed: entity(Samples.vehicle(speed: -0.1))
        ),
        Case(
            rule: "A001",
            what: "no number",
            breaks: true,
            feed: entity(Samples.vehicle(speed: .nan))
        ),
        Case(
            rule: "A002",
            what: "no trip",
            breaks: false,
            feed: entity(Samples.vehicle(trip: nil))
        ),
        Case(
            rule: "A002",
            what: "route only",
            breaks: false,
            feed: entity(Samples.vehicle(trip: TripDescriptor(routeID: "r")))
        ),
        Case(
            rule: "A002",
            what: "neither",
            breaks: true,
            feed: entity(Samples.vehicle(trip: TripDescriptor(startDate: "20260216")))
        ),
        Case(rule: "A003", what: "eight digits", breaks: false, feed: update(1, date: "20260216")),
        Case(rule: "A003", what: "seven digits", breaks: true, feed: update(1, date: "2026021")),
        Case(rule: "A003", what: "dashes", breaks: true, feed: update(1, date: "2026-2-1")),
    ]

    @Test(arguments: cases) func `finds what breaks a rule and nothing else`(_ sample: Case) throws
    {
        let rule = try #require(ComplianceRule.all.first { $0.id == sample.rule })
        let findings = rule.findings(in: sample.feed, ComplianceContext(now: Self.now))
        #expect(findings.isEmpty == !sample.breaks)
    }

    @Test(arguments: ComplianceRule.all.map(\.id))
    func `every rule has cases on both sides`(id: String) {
        var found = Self.cases.filter { $0.rule == id }.map(\.breaks)
        found += ScheduleComplianceTests.all.filter { $0.rule == id }.map(\.breaks)
        #expect(found.contains(true) && found.contains(false))
    }

    @Test func `rules are unique and a good feed has no finding`() {
        #expect(Set(ComplianceRule.all.map(\.id)).count == ComplianceRule.all.count)
        var feed = Samples.feed([Samples.vehicle("a"), Samples.vehicle("b")])
        for index in feed.entities.indices {
            feed.entities[index].vehicle?.trip?.scheduleRelationship = .scheduled
        }
        #expect(feed.complianceFindings(now: Self.now).isEmpty)
    }

    @Test func `a finding names the entity, or the header`() {
        var feed = Samples.feed([Samples.vehicle("a"), Samples.vehicle("b", bearing: 400)])
        feed.header.incrementality = nil
        let findings = feed.complianceFindings(now: Self.now).filter { $0.severity == .error }
        #expect(Set(findings.map(\.ruleID)) == ["E027", "E049"])
        #expect(findings.first { $0.ruleID == "E027" }?.entityID == "b")
        #expect(findings.first { $0.ruleID == "E027" }?.entityIndex == 1)
        #expect(findings.first { $0.ruleID == "E049" }?.entityIndex == .some(nil))
    }
}
