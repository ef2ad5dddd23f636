import Messages
import RealtimeFeed
import Testing
import Transit

@testable import FeedService

/// What is put right of an agency's entity, from the schedule where it knows better.
@Suite struct AgencyMendingTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let what: String
        let change: @Sendable (inout VehiclePosition) -> Void
        let rules: [String: Int]
        let expected: @Sendable (VehiclePosition) -> Bool
        var testDescription: String { what }

        init(
            _ what: String,
            _ rules: [String: Int],
            _ change: @escaping @Sendable (inout VehiclePosition) -> Void,
            _ expected: @escaping @Sendable (VehiclePosition) -> Bool
        ) {
            self.what = what
            self.rules = rules
            self.change = change
            self.expected = expected
        }
    }

    static let cases = [
        Case("nothing wrong", [:], { _ in }, { $0.trip?.tripID == "T1" }),
        Case(
            "another route of the schedule",
            ["E035": 1],
            { $0.trip?.routeID = "R2" },
            { $0.trip?.routeID == "R1" }
        ),
        Case(
            "no such route",
            ["E004": 1],
            { $0.trip?.routeID = "X" },
            { $0.trip?.routeID == "R1" }
        ),
        Case("an empty route", [:], { $0.trip?.routeID = "" }, { $0.trip?.routeID == nil }),
        Case(
            "the other direction",
            ["E024": 1],
            { $0.trip?.directionID = 1 },
            { $0.trip?.directionID == 0 }
        ),
        Case(
            "a start time without its zero",
            ["E020": 1],
            { $0.trip?.startTime = "8:00:00" },
            { $0.trip?.startTime == "08:00:00" }
        ),
        Case(
            "a start time that is none",
            ["E020": 1],
            { $0.trip?.startTime = "morning" },
            { $0.trip?.startTime == nil }
        ),
        Case(
            "another start time",
            ["E023": 1],
            { $0.trip?.startTime = "08:01:00" },
            { $0.trip?.startTime == "08:00:00" }
        ),
        Case(
            "a date that is none",
            ["E021": 1],
            { $0.trip?.startDate = "2026-02-16" },
            { $0.trip?.startDate == nil }
        ),
        Case(
            "added though in the schedule",
            ["E016": 1],
            { $0.trip?.scheduleRelationship = .added },
            { $0.trip?.scheduleRelationship == nil }
        ),
        Case(
            "a descriptor of nothing",
            ["A002": 1],
            { $0.trip = TripDescriptor(tripID: "") },
            { $0.trip == nil }
        ),
        Case("bearing 360", [:], { $0.position?.bearing = 360 }, { $0.position?.bearing == 360 }),
        Case(
            "bearing 361",
            ["E027": 1],
            { $0.position?.bearing = 361 },
            { $0.position?.bearing == nil }
        ),
        Case(
            "no number",
            ["E027": 1],
            { $0.position?.bearing = .nan },
            { $0.position?.bearing == nil }
        ),
        Case("speed 0", [:], { $0.position?.speed = 0 }, { $0.position?.speed == 0 }),
        Case("speed -1", ["A001": 1], { $0.position?.speed = -1 }, { $0.position?.speed == nil }),
        Case(
            "endless speed",
            ["A001": 1],
            { $0.position?.speed = .infinity },
            { $0.position?.speed == nil }
        ),
        Case(
            "no such stop",
            ["E011": 1],
            { ($0.stopID, $0.currentStopSequence, $0.currentStatus) = ("X", 3, .stoppedAt) },
            { $0.stopID == nil && $0.currentStopSequence == nil && $0.currentStatus == nil }
        ),
        Case("a stop of the schedule", [:], { $0.stopID = "ST2" }, { $0.stopID == "ST2" }),
    ]

    @Test(arguments: cases) func `mends`(sample: Case) throws {
        var position = try #require(FeedEntity.agency().vehicle)
        sample.change(&position)
        var mended: [String: Int] = [:]
        AgencyMending(schedule: Fixture.schedule).mend(&position, mended: &mended)
        #expect(mended == sample.rules)
        #expect(sample.expected(position))
        // What was mended breaks no rule any more.
        let feed = FeedMessage.sample([FeedEntity(id: "a", vehicle: position)])
        let findings = feed.complianceFindings(
            now: UInt64(TripEstimate.now),
            schedule: Fixture.schedule
        ).filter { $0.severity == .error }
        #expect(findings.isEmpty, "\(findings)")
    }

    @Test func `without a schedule only what is wrong in any is mended`() throws {
        var position = try #require(FeedEntity.agency().vehicle)
        position.trip?.routeID = "X"
        position.stopID = "X"
        position.position?.bearing = 400
        var mended: [String: Int] = [:]
        AgencyMending(schedule: nil).mend(&position, mended: &mended)
        #expect(mended == ["E027": 1])
        #expect(position.trip?.routeID == "X")
        #expect(position.stopID == "X")
    }
}
