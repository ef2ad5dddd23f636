import Testing
import Transit

@testable import Verification

@Suite struct EstimatesTests {
    private typealias F = Fixture
    private let now = Fixture.eight + 60

    private func new(_ number: Int, _ along: Double, _ speed: Double? = nil) -> Member {
        Member(F.rider(number, along: along, speed: speed), tier: .new)
    }

    private func trusted(_ number: Int, _ along: Double, _ speed: Double? = nil) -> Member {
        Member(F.rider(number, along: along, speed: speed), tier: .trusted)
    }

    @Test func `publishes a trusted rider alone`() throws {
        let found = estimates(of: [trusted(1, 30, 1.7)], at: now)
        let estimate = try #require(found.first)
        #expect(found.count == 1)
        #expect(estimate.trip == TripInstance(tripID: "T1", startDate: F.date))
        #expect(estimate.routeID == "R1")
        #expect(abs(estimate.alongShape - 30) < 0.01)
        #expect(estimate.stopID == "ST2")
        #expect(estimate.stopSequence == 2)
        #expect(estimate.bearing == 0)
        #expect(estimate.speed == 1.7)
        #expect(estimate.timestamp == now)
        #expect(estimate.riders == 1)
        #expect(estimate.coordinate == F.straight.point(at: 30))
        // Due at 30 m after 18 s, there after 60 s.
        #expect(estimate.delaySeconds == 42)
    }

    @Test func `clamps the time to now`() {
        let ahead = Member(F.rider(1, along: 30, at: now + 20), tier: .trusted)
        #expect(estimates(of: [ahead], at: now).first?.timestamp == now)
        #expect(estimates(of: [ahead], at: now + 19).first?.timestamp == now + 19)
    }

    @Test func `publishes a new rider after twelve agreements`() {
        let eleven = Member(F.rider(1, along: 30, corroborated: 11), tier: .new)
        let twelve = Member(F.rider(1, along: 30, corroborated: 12), tier: .new)
        #expect(estimates(of: [eleven], at: now).isEmpty)
        #expect(estimates(of: [twelve], at: now).count == 1)
    }

    @Test(arguments: [(100.0, true), (100.001, false), (300, false), (0, true), (20, true)])
    func `publishes two new riders who agree`(gap: Double, agree: Bool) {
        let found = estimates(of: [new(1, 30), new(2, 30 + gap)], at: now)
        #expect(found.count == (agree ? 1 : 0))
        #expect(found.first?.riders == (agree ? 2 : nil))
        if agree { #expect(found.first?.alongShape == 30 + gap / 2) }
    }

    @Test func `blocking one of two riders takes the estimate away`() {
        var members = [new(1, 30), new(2, 50)]
        #expect(estimates(of: members, at: now).first?.alongShape == 40)
        members[1].tier = .blocked
        let groups = TripGroup.groups(of: members, at: now)
        let status = TripStatus(of: F.journey.instance, in: groups, isCovered: false, at: now)
        #expect(status.riders == 1)
        #expect(!status.riderReported)
    }

    @Test func `one rider twice is no consensus`() {
        let twice = [
            Member(F.rider(1, along: 30, ride: 1), tier: .new),
            Member(F.rider(1, along: 40, ride: 2), tier: .new),
        ]
        #expect(estimates(of: twice, at: now).isEmpty)
        #expect(TripGroup.groups(of: twice, at: now).first?.riders == 1)
    }

    @Test func `leaves an outlier out`() {
        let found = estimates(of: [trusted(1, 100), trusted(2, 110), trusted(3, 500)], at: now)
        #expect(found.first?.riders == 2)
        #expect(found.first?.alongShape == 105)
    }

    @Test(arguments: [(200.0, 3), (200.001, 2)])
    func `keeps a rider at the limit`(third: Double, riders: Int) {
        let members = [trusted(1, 100), trusted(2, 100), trusted(3, third)]
        #expect(estimates(of: members, at: now).first?.riders == riders)
    }

    @Test func `an outvoted trusted rider publishes nothing`() {
        let members = [trusted(1, 100), new(2, 700), new(3, 850), new(4, 1000)]
        #expect(estimates(of: members, at: now).isEmpty)
        let status = TripStatus(
            of: F.journey.instance,
            in: TripGroup.groups(of: members, at: now),
            isCovered: false,
            at: now
        )
        #expect(status.riders == 4)
        #expect(!status.riderReported)
    }

    @Test func `two riders far apart publish nothing even if one is trusted`() {
        #expect(estimates(of: [trusted(1, 100), new(2, 540)], at: now).isEmpty)
        #expect(estimates(of: [trusted(1, 100), new(2, 250)], at: now).first?.alongShape == 175)
    }

    /// A bus that drives 8 m/s with a trusted rider; the other phone has been silent for some seconds.
    @Test(
        arguments: [
            (nil, 30, false), (20, 20, false), (20, 21, true), (20, 30, true), (90, 30, false),
        ] as [(Int64?, Int64, Bool)]
    )
    func `a phone that lags takes the estimate away only as far as it may`(
        limit: Int64?,
        lag: Int64,
        isPublished: Bool
    ) {
        var thresholds = Thresholds()
        thresholds.estimateMaxLagSeconds = limit
        let silent = Member(F.rider(2, along: 700 - 13 * Double(lag), at: now - lag), tier: .new)
        let found = estimates(of: [trusted(1, 700), silent], at: now, thresholds: thresholds)
        #expect(found.first?.alongShape == (isPublished ? 700 : nil))
        #expect(found.first?.riders == (isPublished ? 1 : nil))
    }

    @Test func `leaving out who lags publishes nobody who could not be published alone`() {
        var thresholds = Thresholds()
        thresholds.estimateMaxLagSeconds = 20
        let silent = Member(F.rider(2, along: 300, at: now - 40), tier: .trusted)
        #expect(estimates(of: [new(1, 700), silent], at: now, thresholds: thresholds).isEmpty)
    }

    @Test func `who lags and agrees still counts`() {
        var thresholds = Thresholds()
        thresholds.estimateMaxLagSeconds = 20
        let waiting = Member(F.rider(2, along: 650, at: now - 40), tier: .new)
        let found = estimates(of: [trusted(1, 700), waiting], at: now, thresholds: thresholds)
        #expect(found.first?.riders == 2)
        #expect(found.first?.alongShape == 675)
    }

    @Test func `a point dated ahead makes nobody else lag`() {
        var thresholds = Thresholds()
        thresholds.estimateMaxLagSeconds = 20
        let ahead = Member(F.rider(2, along: 100, at: now + 30), tier: .trusted)
        let prompt = Member(F.rider(1, along: 700, at: now - 20), tier: .trusted)
        #expect(estimates(of: [prompt, ahead], at: now, thresholds: thresholds).isEmpty)
    }

    @Test func `a superseded session does not move the median`() {
        let members = [
            Member(F.rider(1, along: 900, ride: 1), tier: .trusted),
            Member(F.rider(1, along: 100, ride: 2, startedAt: F.eight + 1), tier: .trusted),
            trusted(3, 180),
        ]
        #expect(estimates(of: members, at: now).first?.alongShape == 140)
        #expect(estimates(of: members.reversed(), at: now).first?.alongShape == 140)
    }

    @Test func `a newer ride on another trip silences the older one`() {
        let other = F.session(
            rider: 1,
            ride: 2,
            journey: F.journey(F.t2),
            startedAt: F.eight + 1
        )
        #expect(estimates(of: [trusted(1, 30), Member(other, tier: .trusted)], at: now).isEmpty)
    }

    @Test func `failed points leave the estimate where the last match was`() {
        var session = F.rider(1, along: 30, at: now - 15)
        for index in 1...3 {
            session.apply(
                F.verdict(.offRoute, along: 400),
                to: F.point(along: 400, at: now - 15 + Int64(index) * 5)
            )
        }
        let found = estimates(of: [Member(session, tier: .trusted)], at: now)
        #expect(found.first?.alongShape == 30)
        #expect(found.first?.timestamp == now - 15)
    }

    @Test func `publishes nothing for stale, blocked and ended rides`() {
        var member = trusted(1, 30)
        #expect(estimates(of: [member], at: now + 90).count == 1)
        #expect(estimates(of: [member], at: now + 91).isEmpty)
        member.tier = .blocked
        #expect(estimates(of: [member], at: now).isEmpty)
        member.tier = .trusted
        #expect(estimates(of: [member], at: now).count == 1)
        member.session.end(.arrived, at: now)
        #expect(estimates(of: [member], at: now).isEmpty)
    }

    @Test func `counts riders of a covered trip without reporting it`() {
        let groups = TripGroup.groups(of: [trusted(1, 30), trusted(2, 40)], at: now)
        let status = TripStatus(of: F.journey.instance, in: groups, isCovered: true, at: now)
        #expect(status.trusted)
        #expect(!status.riderReported)
        #expect(status.riders == 2)
        let other = TripStatus(
            of: F.journey(F.t2).instance,
            in: groups,
            isCovered: false,
            at: now
        )
        #expect(other.riders == 0)
    }

    static let speeds: [([Double?], Double?)] = [
        ([nil, nil, nil], nil), ([5, nil, nil], 5), ([5, 7, nil], 6), ([1, 9, 4], 4),
        ([-1, 9, nil], 9), ([0, nil, nil], 0), ([35, nil, nil], 35), ([35.1, 9, nil], 9),
        ([1e308, nil, nil], nil),
    ]

    @Test(arguments: speeds)
    func `takes the median of the reported speeds`(speeds: [Double?], expected: Double?) {
        let members = speeds.enumerated().map { trusted($0.offset, 30, $0.element) }
        #expect(estimates(of: members, at: now).first?.speed == expected)
    }

    @Test(arguments: [(500.0, StopID("ST2")), (500.1, "ST3"), (1001, "ST3"), (1001.1, nil)])
    func `names the next stop until the last`(along: Double, stop: StopID?) {
        let estimate = estimates(of: [trusted(1, along)], at: now).first
        #expect(estimate?.stopID == stop)
        #expect((estimate?.stopSequence == nil) == (stop == nil))
    }

    @Test func `sorts by trip and date and keeps dates apart`() {
        let tomorrow = F.journey(F.t1, on: F.date.adding(days: 1))
        let members = [
            Member(F.rider(1, along: 30, journey: F.journey(F.t2)), tier: .trusted),
            Member(F.rider(2, along: 30, journey: tomorrow), tier: .trusted),
            Member(F.rider(3, along: 30), tier: .trusted),
        ]
        let found = estimates(of: members, at: now).map { "\($0.trip.tripID) \($0.trip.startDate)" }
        #expect(found == ["T1 20260902", "T1 20260903", "T2 20260902"])
    }

    @Test func `compares riders across a new schedule on the newer shape`() throws {
        let longer = try #require(
            ShapeGeometry(
                points: [Coordinate(latitude: 47.599, longitude: -122.33)] + F.straight.points
            )
        )
        let moved = F.trip("T1", "R1", longer, ["ST1", "ST3"], [111, 1112], 8 * 3600)
        let members = [
            new(1, 30),
            Member(
                F.rider(2, along: 151, journey: F.journey(moved), startedAt: F.eight + 1),
                tier: .new
            ),
        ]
        let estimate = try #require(estimates(of: members, at: now).first)
        #expect(estimate.riders == 2)
        #expect(abs(estimate.alongShape - 146) < 1)
    }
}
