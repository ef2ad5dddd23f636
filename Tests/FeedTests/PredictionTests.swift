import Prediction
import Testing
import Transit

@testable import FeedService

/// When vehicles are expected at the stops ahead.
@Suite struct PredictionTests {
    /// Five stops, 1,000 m and 100 s apart; at the third the schedule stands still for 60 s.
    private static let run: TripRun = {
        let points = (0...4).map { Coordinate(latitude: 47 + Double($0) * 0.0089932, longitude: 8) }
        guard let shape = ShapeGeometry(points: points) else { preconditionFailure("a shape") }
        let stops = (0...4).map { index in
            let wait = index > 2 ? 60 : 0
            let arrival = 3600 + index * 100 + wait
            return StopTime(
                stopID: StopID("S\(index)"),
                stopSequence: index + 1,
                alongShape: Double(index) * 1000,
                arrival: arrival,
                departure: index == 2 ? arrival + 60 : arrival,
                coordinate: points[index]
            )
        }
        let trip = Trip(id: "T", routeID: "R", serviceID: "S", shape: shape, stopTimes: stops)
        return TripRun(trip: trip, startOfService: 1_000_000)
    }()

    /// The instant that the schedule counts as so many seconds after the trip's start.
    private func time(_ seconds: Int64) -> UnixSeconds { 1_003_600 + seconds }

    private func plain() -> PredictionRules {
        var rules = PredictionRules()
        rules.recoverySeconds = .infinity
        return rules
    }

    private func predict(
        along: Double,
        at seconds: Int64,
        now: Int64? = nil,
        times: SegmentTimes? = nil,
        rules: PredictionRules? = nil
    ) -> ArrivalPrediction {
        let rules = rules ?? plain()
        return ArrivalPrediction(
            TripProgress(along: along, at: time(seconds)),
            on: Self.run,
            times: times ?? SegmentTimes(rules: rules),
            now: time(now ?? seconds),
            rules: rules
        )
    }

    private func arrivals(_ prediction: ArrivalPrediction) -> [Int64] {
        prediction.calls.map { $0.arrival - 1_003_600 }
    }

    @Test func `on time means as planned`() {
        let prediction = predict(along: 500, at: 50)
        #expect(prediction.delay == 0)
        #expect(arrivals(prediction) == [100, 200, 360, 460])
        #expect(prediction.calls.map(\.departure) == [100, 260, 360, 460].map(time))
    }

    @Test(arguments: [(500.0, 4), (1000.0, 3), (999.9, 4), (3999, 1), (4000, 0), (5000, 0)])
    func `stops that were passed are not predicted`(along: Double, count: Int) {
        #expect(predict(along: along, at: 50).calls.count == count)
    }

    @Test func `a delay is carried on and absorbed where the schedule stands still`() {
        let late = predict(along: 500, at: 50 + 40)
        #expect(late.delay == 40)
        #expect(arrivals(late) == [140, 240, 360, 460])
        let later = predict(along: 500, at: 50 + 90)
        #expect(arrivals(later) == [190, 290, 390, 490])
    }

    @Test func `who is early waits where the schedule stands still`() {
        let early = predict(along: 500, at: 50 - 30)
        #expect(early.delay == -30)
        #expect(arrivals(early) == [70, 170, 360, 460])
    }

    @Test func `one that has not set off leaves on time, or late`() {
        #expect(arrivals(predict(along: 10, at: -300)) == [100, 200, 360, 460])
        #expect(predict(along: 10, at: -300).delay == 0)
        #expect(predict(along: 0, at: 90).delay == 90)
        #expect(arrivals(predict(along: 0, at: 90))[0] == 190)
        // 31 m behind the stop it is under way.
        #expect(predict(along: 31, at: -300).delay < -290)
    }

    @Test func `times rise from stop to stop and never lie before the position`() {
        for along in stride(from: 0.0, through: 3900, by: 130) {
            for seconds in stride(from: -600 as Int64, through: 900, by: 50) {
                let prediction = predict(along: along, at: seconds)
                var last = time(seconds) - 1
                for call in prediction.calls {
                    #expect(call.arrival > last && call.departure >= call.arrival)
                    last = call.departure
                }
            }
        }
    }

    @Test func `the uncertainty grows with distance and age`() {
        let fresh = predict(along: 500, at: 50)
        let old = predict(along: 500, at: 50, now: 110)
        let uncertainties = fresh.calls.map(\.uncertainty)
        #expect(uncertainties == uncertainties.sorted())
        #expect(uncertainties.first == 36)
        #expect(zip(fresh.calls, old.calls).allSatisfy { $1.uncertainty == $0.uncertainty + 30 })
    }

    @Test func `where nothing was learned a deviation shrinks`() {
        var rules = PredictionRules()
        rules.recoverySeconds = 100
        let prediction = predict(along: 1000, at: 100 + 100, rules: rules)
        // 100 s of ride later 37 s are left.
        #expect(arrivals(prediction)[0] == 237)
    }

    // MARK: - Learning

    @Test func `what took longer lately is expected again`() {
        var times = SegmentTimes(rules: plain())
        let segment = SegmentTimes.Segment(from: "S1", to: "S2")
        for _ in 0..<100 { times.learn(30, on: segment, at: time(0)) }
        let prediction = predict(along: 500, at: 50, times: times)
        #expect(arrivals(prediction) == [100, 230, 360, 460])
        // Half of the stretch is behind it.
        let half = predict(along: 1500, at: 150, times: times)
        #expect(arrivals(half)[0] == 215)
    }

    @Test func `one passage moves less than many, an old one less than a new one`() {
        var rules = plain()
        rules.scheduleWeight = 1
        rules.halfLifeSeconds = 100
        var times = SegmentTimes(rules: rules)
        let segment = SegmentTimes.Segment(from: "a", to: "b")
        #expect(times.expectation(on: segment, at: 0) == (0, 0))
        times.learn(60, on: segment, at: 1000)
        #expect(times.expectation(on: segment, at: 1000) == (30, 0.5))
        let later = times.expectation(on: segment, at: 1100)
        #expect(abs(later.deviation - 20) < 1e-9)
        times.learn(60, on: segment, at: 1100)
        #expect(abs(times.expectation(on: segment, at: 1100).deviation - 36) < 1e-9)
    }

    @Test(arguments: [(1e9, 300.0), (-1e9, -300), (Double.nan, 0), (.infinity, 0)])
    func `one odd passage is bounded`(deviation: Double, expected: Double) {
        var rules = plain()
        rules.scheduleWeight = 0
        var times = SegmentTimes(rules: rules)
        let segment = SegmentTimes.Segment(from: "a", to: "b")
        times.learn(deviation, on: segment, at: 0)
        #expect(times.expectation(on: segment, at: 0).deviation == expected)
    }

    /// The stretches that a walk through these places teaches.
    private func learned(_ places: [(along: Double, at: Int64)]) -> [String: Double] {
        var progress = TripProgress(along: places[0].along, at: time(places[0].at))
        var found: [String: Double] = [:]
        for place in places.dropFirst() {
            progress.advance(
                along: place.along,
                at: time(place.at),
                on: Self.run,
                rules: plain()
            ) { segment, deviation, _ in found["\(segment)".filter(\.isNumber)] = deviation }
        }
        return found
    }

    @Test func `learns from stop to stop, not of the first stretch`() {
        let found = learned([(0, 0), (500, 60), (1500, 160), (2500, 270), (3500, 390)])
        #expect(found.count == 2)
        #expect(found["12"].map { abs($0 - 5) < 1e-6 } == true)
        #expect(found["23"].map { abs($0 - 15) < 1e-6 } == true)
    }

    @Test(arguments: [(150, 1), (151, 0)])
    func `nobody knows what happened in a long gap`(gap: Int64, count: Int) {
        #expect(learned([(900, 0), (1100, 20), (2100, 20 + gap)]).count == count)
    }

    @Test func `standing still and small steps back teach nothing, a turn begins anew`() {
        #expect(learned([(1100, 0), (1100, 30), (1060, 60), (1100, 90)]).isEmpty)
        #expect(learned([(900, 0), (1100, 20), (1060, 40), (2100, 120)]).count == 1)
        #expect(learned([(900, 0), (1100, 20), (1000, 40), (2100, 120)]).isEmpty)
        #expect(learned([(900, 50), (1100, 50), (2100, 40)]).isEmpty)
    }

    @Test func `a position far from the shape says nothing`() {
        var predictor = TripPredictor()
        let key = TripPredictor.Key(
            run: TripInstance(tripID: "T", startDate: .monday),
            vehicle: "v"
        )
        let off = Coordinate(latitude: 47.01, longitude: 8.003)
        let nowhere = predictor.observe(key, at: .coordinate(off), time: time(0), on: Self.run)
        #expect(nowhere == nil)
        #expect(predictor.prediction(for: key, on: Self.run, now: time(0)) == nil)
        let on = Coordinate(latitude: 47.0045, longitude: 8)
        predictor.observe(key, at: .coordinate(on), time: time(50), on: Self.run)
        #expect(predictor.prediction(for: key, on: Self.run, now: time(50))?.calls.count == 4)
        predictor.forgetOld(at: time(50 + 3600))
        #expect(predictor.progress(of: key) == nil)
    }
}
