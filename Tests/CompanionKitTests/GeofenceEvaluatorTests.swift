import Foundation
import Testing

@testable import CompanionKit

/// Cases 76 to 80, and defect 12.
@Suite struct GeofenceEvaluatorTests {
    var evaluator = GeofenceEvaluator()
    let start = Date(timeIntervalSince1970: 1_800_000_000)
    let place = GeofencePlace(id: Places.home, coordinate: Places.middle, radiusMeters: 100)

    mutating func kinds(_ meters: Double, _ seconds: Double) -> [CrossingKind] {
        evaluator.evaluate(
            at: Places.north(meters),
            now: start.addingTimeInterval(seconds),
            places: [place]
        ).map(\.kind)
    }

    @Test(arguments: [(59.999, false), (60, true), (61, true)])
    mutating func `arrives after a minute inside, not before`(seconds: Double, arrives: Bool) {
        #expect(kinds(0, 0) == [])
        #expect(kinds(0, seconds) == (arrives ? [.arrive] : []))
    }

    @Test(arguments: [(99.9, true), (100.2, false), (129, false)])
    mutating func `counts the radius as inside and nothing beyond it`(meters: Double, arrives: Bool)
    {
        _ = kinds(meters, 0)
        #expect(kinds(meters, 60) == (arrives ? [.arrive] : []))
    }

    @Test mutating func `begins the minute anew after a break`() {
        #expect(kinds(0, 0) == [])
        #expect(kinds(101, 30) == [])
        #expect(kinds(0, 60) == [])
        #expect(kinds(0, 119) == [])
        #expect(kinds(0, 120) == [.arrive])
    }

    @Test(arguments: [(101.0, false), (111, false), (129.9, false), (130.1, true)])
    mutating func `departs only beyond the way out`(meters: Double, departs: Bool) {
        _ = kinds(0, 0)
        #expect(kinds(0, 60) == [.arrive])
        #expect(kinds(meters, 70) == (departs ? [.depart] : []))
    }

    @Test mutating func `does not waver on the border`() {
        _ = kinds(0, 0)
        _ = kinds(0, 60)
        for turn in 0..<10 {
            #expect(kinds(turn.isMultiple(of: 2) ? 111 : 90, 70 + Double(turn)) == [])
        }
    }

    @Test mutating func `knows nothing of a place that was away`() {
        _ = kinds(0, 0)
        #expect(kinds(0, 60) == [.arrive])
        #expect(evaluator.evaluate(at: Places.middle, now: start, places: []).isEmpty)
        #expect(kinds(0, 70) == [])
        #expect(kinds(500, 71) == [])
        _ = kinds(0, 80)
        #expect(kinds(0, 140) == [.arrive])
    }

    @Test func `arrives at once without a dwell time`() {
        var evaluator = GeofenceEvaluator(dwell: .zero)
        let crossings = evaluator.evaluate(at: Places.middle, now: start, places: [place])
        #expect(crossings == [Crossing(placeID: Places.home, kind: .arrive, occurredAt: start)])
    }

    @Test mutating func `says how long a stay must still last`() {
        #expect(evaluator.timeToArrival(now: start) == nil)
        _ = kinds(0, 0)
        #expect(evaluator.timeToArrival(now: start.addingTimeInterval(20)) == .seconds(40))
        _ = kinds(0, 60)
        #expect(evaluator.timeToArrival(now: start.addingTimeInterval(60)) == nil)
    }

    @Test mutating func `a clock that was set back puts no arrival off by as much`() {
        _ = kinds(0, 0)
        #expect(kinds(0, -3600) == [])
        #expect(kinds(0, -3541) == [])
        #expect(kinds(0, -3540) == [.arrive])
    }

    @Test mutating func `keeps a departure that was announced elsewhere to itself`() {
        _ = kinds(0, 0)
        _ = kinds(0, 60)
        evaluator.noteDeparture(from: Places.home)
        #expect(kinds(500, 70) == [])
    }

    @Test mutating func `tells places of two owners apart`() {
        let other = GeofencePlace(
            id: Places.work,
            coordinate: Places.north(1000),
            radiusMeters: 100
        )
        for seconds in [0.0, 60] {
            let crossings = evaluator.evaluate(
                at: Places.north(1000),
                now: start.addingTimeInterval(seconds),
                places: [place, other]
            )
            #expect(crossings.map(\.placeID) == (seconds == 60 ? [Places.work] : []))
        }
    }
}
