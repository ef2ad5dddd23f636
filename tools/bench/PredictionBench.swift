internal import FoundationEssentials
internal import Glibc
internal import Prediction
internal import Schedule
internal import Transit

/// How well arrivals are predicted: a replay of recorded buses, beside two simple ways.
///
/// Every position is played in the order of time; at each the stops ahead are predicted, and held
/// against when the bus passed them. The peers are the schedule alone and the delay of the moment
/// carried on. The recordings lie in `../shared/data`.
enum PredictionBench {
    /// Horizons in seconds, and how far an actual passage may lie from one to count for it.
    private static let horizons: [Int64] = [300, 600, 1200]
    private static let window: Int64 = 60

    static func run(_ arguments: [String]) -> Int32 {
        let folder = arguments.first { !$0.hasPrefix("-") } ?? "../shared/data"
        do {
            let day = try Recording.wmata2026(folder)
            if arguments.contains("--tune") {
                tune(day)
                return 0
            }
            let halves = day.halves
            print("arrivals predicted against passages: mean absolute error in seconds")
            print("  (95 % interval of the gain: bootstrap over bus trips or stops, 1,000 draws)")
            report("2026, buses tuned on", day, only: halves.tuning)
            report("2026, other buses", day, only: halves.reporting)
            for name in ["S2", "5A"] {
                let old = try Recording.wmata2016(folder, name)
                report("2016, bus on \(name)", old, only: Set(old.positions.map(\.bus)))
            }
            return 0
        } catch {
            print("\(error)")
            return 1
        }
    }

    // MARK: - Scoring

    /// The errors at one passage that was predicted, in seconds.
    private struct Score {
        let group: String
        let horizon: Int64
        let predicted, scheduled, held: Double
    }

    private static func report(_ title: String, _ recording: Recording, only buses: Set<String>) {
        let scores = score(recording, rules: PredictionRules()).filter { buses.contains($0.bus) }
        let groups = Set(scores.map(\.score.group)).count
        print("\(title): \(groups) \(recording.runs.count < 5 ? "stops" : "bus trips")")
        print("  min      n   ours  schedule  held   gain on held")
        for horizon in horizons {
            let here = scores.map(\.score).filter { $0.horizon == horizon }
            guard !here.isEmpty else { continue }
            let interval = bootstrap(here)
            let columns = [
                pad(String(horizon / 60), 5), pad(String(here.count), 7),
                pad(text(mean(here.map(\.predicted))), 7),
                pad(text(mean(here.map(\.scheduled))), 10), pad(text(mean(here.map(\.held))), 6),
                "   \(text(interval.low)) to \(text(interval.high))",
            ]
            print(columns.joined())
        }
    }

    private static func score(
        _ recording: Recording,
        rules: PredictionRules
    ) -> [(bus: String, score: Score)] {
        var predictor = TripPredictor(rules: rules)
        let passages = recording.passages(rules)
        var scores: [(bus: String, score: Score)] = []
        for position in recording.positions {
            guard let run = recording.runs[position.run] else { continue }
            let key = TripPredictor.Key(run: position.run, vehicle: position.bus)
            let before = predictor.progress(of: key)
            let progress = predictor.observe(
                key,
                at: .coordinate(position.coordinate),
                time: position.time,
                on: run
            )
            guard let progress, progress != before, let actual = passages[key],
                let prediction = predictor.prediction(for: key, on: run, now: position.time)
            else { continue }
            let delay =
                Double(progress.measuredAt - run.startOfService)
                - run.trip.scheduledOffset(at: progress.along)
            for call in prediction.calls {
                guard let passed = actual[call.stop] else { continue }
                let ahead = passed - Double(position.time)
                let near = horizons.first { abs(ahead - Double($0)) <= Double(window) }
                guard let near else { continue }
                let planned =
                    Double(run.startOfService) + Double(run.trip.stopTimes[call.stop].arrival)
                // With so few bus trips the passages of one stop are drawn together instead.
                let group =
                    recording.runs.count < 5
                    ? "stop \(call.stop)" : "\(position.bus) \(position.run)"
                let score = Score(
                    group: group,
                    horizon: near,
                    predicted: abs(Double(call.arrival) - passed),
                    scheduled: abs(planned - passed),
                    held: abs(planned + delay - passed)
                )
                scores.append((position.bus, score))
            }
        }
        return scores
    }

    /// The 95 % interval of how much better than the held delay we are, drawn by whole bus trips.
    private static func bootstrap(_ scores: [Score]) -> (low: Double, high: Double) {
        let groups = Array(Dictionary(grouping: scores, by: \.group).values)
        let sums = groups.map { group in
            (count: group.count, gain: group.reduce(0) { $0 + $1.held - $1.predicted })
        }
        var state: UInt64 = 0x5EED
        var gains: [Double] = []
        for _ in 0..<1000 {
            var count = 0
            var gain = 0.0
            for _ in sums.indices {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                let draw = sums[Int((state >> 33) % UInt64(sums.count))]
                count += draw.count
                gain += draw.gain
            }
            gains.append(gain / Double(max(1, count)))
        }
        gains.sort()
        return (gains[25], gains[974])
    }

    private static func tune(_ day: Recording) {
        let buses = day.halves.tuning
        // Alone first: without what other buses showed, the recovery is all there is.
        for recovery in [1200.0, 2400, 3600, 4800, 7200, .infinity] {
            var rules = PredictionRules()
            rules.learnedShare = 0
            rules.recoverySeconds = recovery
            show("recovery \(recovery)", day, rules, buses)
        }
        for halfLife in [3600.0, 7200, 14_400] {
            for weight in [0.5, 1, 2] {
                var rules = PredictionRules()
                rules.halfLifeSeconds = halfLife
                rules.scheduleWeight = weight
                show("half-life \(Int(halfLife)) weight \(weight)", day, rules, buses)
            }
        }
    }

    private static func show(
        _ title: String,
        _ day: Recording,
        _ rules: PredictionRules,
        _ buses: Set<String>
    ) {
        let scores = score(day, rules: rules).filter { buses.contains($0.bus) }.map(\.score)
        let errors = horizons.map { horizon in
            mean(scores.filter { $0.horizon == horizon }.map(\.predicted))
        }
        print("\(title): \(errors.map(text).joined(separator: " "))")
    }

    private static func mean(_ values: [Double]) -> Double {
        values.reduce(0, +) / Double(max(1, values.count))
    }

    private static func text(_ value: Double) -> String {
        String((value * 10).rounded() / 10)
    }

    private static func pad(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.utf8.count)) + text
    }
}
