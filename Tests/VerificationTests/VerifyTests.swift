import Testing
import Transit

@testable import Verification

/// One verdict to expect, described by its name.
struct VerifyCase: Sendable, CustomTestStringConvertible {
    let name: String
    let point: Point
    var journey = Fixture.journey
    var previous: MatchedPoint?
    var lastAcceptedAt: UnixSeconds?
    var now: UnixSeconds?
    let outcome: Outcome
    var check: CheckID?
    var testDescription: String { name }

    func verdict(
        trusted: TrustedPosition? = nil,
        _ thresholds: Thresholds = Thresholds()
    ) -> Verdict {
        verify(
            point,
            on: journey,
            previous: previous,
            lastAcceptedAt: lastAcceptedAt,
            trusted: trusted,
            now: now ?? point.timestamp,
            thresholds: thresholds
        )
    }
}

@Suite struct VerifyTests {
    @Test func `matches a point on schedule`() throws {
        let time = Fixture.eight + 150
        let verdict = VerifyCase(
            name: "",
            point: Fixture.point(along: 250, at: time),
            outcome: .matched
        ).verdict()
        #expect(verdict.outcome == .matched)
        #expect(verdict.corroboration == .unavailable)
        #expect(abs(try #require(verdict.scheduleDeviation)) <= 5)
        #expect(abs(try #require(verdict.alongShape) - 250) < 1)
        #expect(verdict.check == nil)
    }

    static let coordinates: [(Double, Double, Bool)] = [
        (90, -122, true), (90.000001, -122, false), (-90, 0, true), (-91, 0, false),
        (47, 180, true), (47, 180.000001, false), (47, -180, true), (47, -181, false),
        (0, 0, false), (0, 1, true), (1, 0, true), (.nan, 1, false), (1, .nan, false),
        (.infinity, 1, false),
    ]

    @Test(arguments: coordinates)
    func `ignores coordinates that are no place`(latitude: Double, longitude: Double, used: Bool) {
        let point = Point(
            Coordinate(latitude: latitude, longitude: longitude),
            timestamp: Fixture.eight
        )
        let verdict = VerifyCase(name: "", point: point, outcome: .ignored).verdict()
        #expect((verdict.outcome != .ignored) == used)
        #expect((verdict.check == .coordinates) == !used)
        #expect((verdict.alongShape == nil) == !used)
    }

    @Test(arguments: [
        (Double?.none, true), (-1, true), (0, true), (100, true), (100.001, false), (150, false),
        (.nan, false), (.infinity, false),
    ])
    func `ignores a vague fix`(accuracy: Double?, used: Bool) {
        let point = Fixture.point(along: 0, at: Fixture.eight, accuracy: accuracy)
        let verdict = VerifyCase(name: "", point: point, outcome: .ignored).verdict()
        #expect(verdict.outcome == (used ? .matched : .ignored))
        #expect(verdict.check == (used ? nil : .accuracy))
    }

    @Test(arguments: [
        (Int64(600), CheckID?.none), (601, .age), (660, .age), (-30, nil), (-31, .lead),
    ])
    func `ignores a point outside the window around now`(age: Int64, check: CheckID?) {
        let point = Fixture.point(along: 0, at: Fixture.eight)
        let verdict = VerifyCase(
            name: "",
            point: point,
            now: Fixture.eight + age,
            outcome: .ignored
        ).verdict()
        #expect(verdict.check == check)
        #expect(verdict.outcome == (check == nil ? .matched : .ignored))
    }

    @Test(arguments: [Int64.min, -1, 0, Int64.max])
    func `ignores times of another age without trapping`(timestamp: Int64) {
        let point = Fixture.point(along: 0, at: timestamp)
        let verdict = VerifyCase(
            name: "",
            point: point,
            lastAcceptedAt: Fixture.eight,
            now: Fixture.eight,
            outcome: .ignored
        ).verdict()
        #expect(verdict.outcome == .ignored)
    }

    @Test(arguments: [
        (Int64?.none, Int64?.none, true), (0, nil, false), (-1, nil, true), (nil, 0, false),
        (nil, -1, true), (-10, 0, false), (-10, 5, false), (-10, -5, true),
    ])
    func `ignores what is not newer than any accepted point`(
        matched: Int64?,
        accepted: Int64?,
        used: Bool
    ) {
        let point = Fixture.point(along: 0, at: Fixture.eight)
        let verdict = VerifyCase(
            name: "",
            point: point,
            previous: matched.map {
                MatchedPoint(alongShape: 0, timestamp: Fixture.eight + $0)
            },
            lastAcceptedAt: accepted.map { Fixture.eight + $0 },
            outcome: .ignored
        ).verdict()
        #expect(verdict.outcome == (used ? .matched : .ignored))
        #expect(verdict.check == (used ? nil : .order))
    }

    @Test func `names the first reason to ignore a point`() {
        var point = Point(
            Coordinate(latitude: 0, longitude: 0),
            accuracy: 500,
            timestamp: Fixture.eight
        )
        func check() -> CheckID? {
            VerifyCase(
                name: "",
                point: point,
                lastAcceptedAt: Fixture.eight,
                now: Fixture.eight + 700,
                outcome: .ignored
            ).verdict().check
        }
        #expect(check() == .coordinates)
        point.coordinate = Fixture.place(along: 0)
        #expect(check() == .accuracy)
        point.accuracy = 5
        #expect(check() == .age)
    }

    @Test(arguments: [
        (75.0, Double?(5), Outcome.offRoute), (75, 20, .matched), (75, nil, .offRoute),
        (75, -1, .offRoute), (59.9, nil, .matched), (60.1, nil, .offRoute), (159.9, 100, .matched),
        (160.1, 100, .offRoute),
    ])
    func `allows the distance plus the accuracy`(
        east: Double,
        accuracy: Double?,
        outcome: Outcome
    ) throws {
        let time = Fixture.due(250)
        let verdict = VerifyCase(
            name: "",
            point: Fixture.point(along: 250, east: east, at: time, accuracy: accuracy),
            outcome: outcome
        ).verdict()
        #expect(verdict.outcome == outcome)
        #expect(abs(try #require(verdict.alongShape) - 250) < 1)
        #expect(abs(try #require(verdict.distanceToShape) - east) < 0.5)
        #expect((verdict.scheduleDeviation == nil) == (outcome == .offRoute))
    }

    @Test(arguments: [
        (230.0, Int64(5), Outcome.implausible), (230, 30, .matched), (174.9, 5, .matched),
        (175.1, 5, .implausible), (-49.9, 30, .matched), (-50.1, 30, .implausible),
        (-30, 30, .matched), (-70, 30, .implausible), (-36, 1, .implausible), (-34, 1, .matched),
    ])
    func `finds movement that no vehicle makes`(moved: Double, seconds: Int64, outcome: Outcome) {
        let time = Fixture.due(300)
        let verdict = VerifyCase(
            name: "",
            point: Fixture.point(along: 300 + moved, at: time + seconds),
            previous: MatchedPoint(alongShape: 300, timestamp: time),
            outcome: outcome
        ).verdict()
        #expect(verdict.outcome == outcome)
        #expect(
            verdict.check
                == (outcome == .matched ? nil : moved < -50 ? .regression : .speed)
        )
    }

    /// Metres along of the point, the furthest back before it, the recovery that is asked for.
    @Test(arguments: [
        (200.0, Double?.none, Double?(100), Outcome.implausible), (200, 100.5, 100, .implausible),
        (200, 99.5, 100, .matched), (200, 0, nil, .implausible), (200, 150, 0, .matched),
        (251, 0, nil, .matched), (251, nil, 100, .matched),
    ])
    func `believes a rider again who moves on from too far back, where that is set`(
        along: Double,
        regressedTo: Double?,
        recovery: Double?,
        outcome: Outcome
    ) {
        var thresholds = Thresholds()
        thresholds.regressionRecoveryMeters = recovery
        let time = Fixture.due(300)
        let verdict = verify(
            Fixture.point(along: along, at: time + 60),
            on: Fixture.journey,
            previous: MatchedPoint(alongShape: 300, timestamp: time),
            lastAcceptedAt: time,
            regressedTo: regressedTo,
            trusted: nil,
            now: time + 60,
            thresholds: thresholds
        )
        #expect(verdict.outcome == outcome)
        #expect(verdict.check == (outcome == .matched ? nil : .regression))
    }

    @Test func `matches near the end of a loop that closes`() throws {
        let time = Fixture.due(Fixture.loop.length - 60, Fixture.loopJourney)
        let verdict = VerifyCase(
            name: "",
            point: Point(Fixture.loop.point(at: Fixture.loop.length - 5), timestamp: time + 20),
            journey: Fixture.loopJourney,
            previous: MatchedPoint(alongShape: Fixture.loop.length - 60, timestamp: time),
            outcome: .matched
        ).verdict()
        #expect(verdict.outcome == .matched)
        #expect(try #require(verdict.alongShape) > Fixture.loop.length - 60)
    }

    @Test(arguments: [(0, 0.0), (1200, Fixture.loop.length)])
    func `starts cold on the pass that the schedule expects`(seconds: Int, along: Double) throws {
        let verdict = VerifyCase(
            name: "",
            point: Point(
                Coordinate(latitude: 47.60001, longitude: -122.32999),
                timestamp: Fixture.startOfService + 90_000 + Int64(seconds)
            ),
            journey: Fixture.loopJourney,
            outcome: .matched
        ).verdict()
        #expect(verdict.outcome == .matched)
        #expect(abs(try #require(verdict.alongShape) - along) < 3)
    }

    @Test(arguments: [
        (-20 * 60, Outcome.offSchedule), (-900, .matched), (-901, .offSchedule),
        (89 * 60, .matched),
        (5_400, .matched), (5_401, .offSchedule), (91 * 60, .offSchedule),
    ])
    func `keeps to the window around the schedule`(seconds: Int, outcome: Outcome) throws {
        let time = Fixture.eight + Int64(seconds)
        // Before the first stop the first stop's time holds, so the deviation is exact.
        let verdict = VerifyCase(
            name: "",
            point: Fixture.point(along: 0, at: time),
            outcome: outcome
        ).verdict()
        #expect(verdict.outcome == outcome)
        #expect(verdict.scheduleDeviationSeconds == seconds)
        #expect(
            verdict.check == (outcome == .matched ? nil : seconds < 0 ? .early : .late)
        )
    }

    @Test func `takes a window of zero literally`() {
        var thresholds = Thresholds()
        thresholds.scheduleEarlySeconds = 0
        thresholds.scheduleLateSeconds = 0
        for (seconds, outcome) in [(0, Outcome.matched), (1, .offSchedule), (-1, .offSchedule)] {
            let point = Fixture.point(along: 0, at: Fixture.eight + Int64(seconds))
            let verdict = VerifyCase(name: "", point: point, outcome: outcome).verdict(thresholds)
            #expect(verdict.outcome == outcome)
        }
    }

    @Test func `matches a trip after midnight under the date it started on`() {
        let verdict = VerifyCase(
            name: "",
            point: Point(
                Fixture.loop.point(at: 0.1),
                timestamp: Fixture.startOfService + 25 * 3600 + 30
            ),
            journey: Fixture.loopJourney,
            outcome: .matched
        ).verdict()
        #expect(verdict.outcome == .matched)
        #expect(verdict.scheduleDeviationSeconds == 30)
    }

    @Test func `stores no deviation for what is neither matched nor off schedule`() {
        let far = Fixture.point(along: 250, east: 500, at: Fixture.eight)
        #expect(
            VerifyCase(name: "", point: far, outcome: .offRoute).verdict().scheduleDeviationSeconds
                == nil
        )
    }

    @Test func `uses the wire names`() {
        #expect(
            Outcome.allCases.map(\.rawValue)
                == ["ignored", "off_route", "implausible", "off_schedule", "matched"]
        )
        #expect(
            Corroboration.allCases.map(\.rawValue)
                == ["unavailable", "none", "corroborated", "contradicted"]
        )
    }
}

extension VerifyCase {
    func verdict(_ thresholds: Thresholds) -> Verdict { verdict(trusted: nil, thresholds) }
}
