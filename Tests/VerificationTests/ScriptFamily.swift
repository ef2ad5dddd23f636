import Glibc
import TestKit
import Testing
import Transit

@testable import Verification

/// A way to make up a hundred rides, ten on each of ten trips.
struct ScriptFamily: CustomTestStringConvertible, Sendable {
    let testDescription: String
    /// The trip without its name.
    var journey = Script.journey
    /// What the program of a rider does.
    let script: @Sendable (_ rider: Int, _ random: inout SeededGenerator) -> Script
    /// When the rider reports instead of at the script's own times.
    var times: (@Sendable (_ seconds: Int64, _ random: inout SeededGenerator) -> [Int64])?

    /// The trip with that number.
    func journey(of number: Int) -> Journey {
        let trip = journey.trip
        return Fixture.journey(
            Trip(
                id: TripID("T\(number)"),
                routeID: trip.routeID,
                serviceID: trip.serviceID,
                shape: trip.shape,
                stopTimes: trip.stopTimes
            )
        )
    }

    /// Ten riders of a trip have ten sizes of noise and five phases.
    private static func base(_ rider: Int, noise: [Double] = usualNoise) -> Script {
        Script(phase: Int64(rider % 5), noise: noise[rider % noise.count])
    }
    private static let usualNoise = [0.0, 0.5, 1, 2, 3, 5, 8, 10, 12, 15]

    private static func accuracies(
        _ random: inout SeededGenerator,
        _ next: (_ last: Double, inout SeededGenerator) -> Double
    ) -> @Sendable (Int) -> Double? {
        var values: [Double] = [8]
        for _ in 0..<1000 { values.append(next(values[values.count - 1], &random)) }
        let all = values
        return { all[$0 % all.count] }
    }

    private static func evenly(_ random: inout SeededGenerator) -> @Sendable (Int) -> Double? {
        accuracies(&random) { _, random in Double.random(in: 4...12, using: &random) }
    }

    /// Families that differ from traffic in how they move.
    static let steady: [ScriptFamily] = [
        ScriptFamily(testDescription: "one accuracy") { rider, _ in base(rider) },
        ScriptFamily(testDescription: "accuracy evenly 4 to 12 m") { rider, random in
            var script = base(rider)
            script.accuracy = evenly(&random)
            return script
        },
        ScriptFamily(testDescription: "accuracy as a random walk") { rider, random in
            var script = base(rider)
            script.accuracy = accuracies(&random) { last, random in
                min(30, max(3, last + Double.random(in: -1...1, using: &random)))
            }
            return script
        },
        ScriptFamily(testDescription: "noise of 20 to 45 m") { rider, random in
            var script = base(rider, noise: [20, 25, 30, 35, 45])
            script.accuracy = evenly(&random)
            return script
        },
        ScriptFamily(
            testDescription: "random times, as Poisson has them",
            script: { rider, random in
                var script = base(rider)
                script.accuracy = evenly(&random)
                return script
            },
            times: { seconds, random in
                var times: [Int64] = []
                var time = 0.0
                while time < Double(seconds) {
                    if Int64(time) != times.last { times.append(Int64(time)) }
                    time -= 5 * log(Double.random(in: 0.001..<1, using: &random))
                }
                return times
            }
        ),
        ScriptFamily(testDescription: "speed 6 to 10 m/s as a sine of 30 s") { rider, random in
            var script = base(rider)
            script.accuracy = evenly(&random)
            script.along = sine(amplitude: 2, period: 30)
            return script
        },
        ScriptFamily(
            testDescription: "the timetable to the second",
            journey: unevenTimetable(dwell: 0)
        ) { rider, random in
            var script = base(rider)
            script.accuracy = evenly(&random)
            script.along = timetable(dwell: 0)
            return script
        },
    ]

    /// Families that move as much and as slowly as traffic does: beyond what the checks can tell.
    static let lifelike: [ScriptFamily] = [
        ScriptFamily(testDescription: "speed 4 to 12 m/s as a sine of 60 s") { rider, random in
            var script = base(rider)
            script.accuracy = evenly(&random)
            script.along = sine(amplitude: 4, period: 60)
            return script
        },
        ScriptFamily(
            testDescription: "the timetable with 20 s at each stop",
            journey: unevenTimetable(dwell: 20)
        ) { rider, random in
            var script = base(rider)
            script.accuracy = evenly(&random)
            script.along = timetable(dwell: 20)
            return script
        },
    ]

    // MARK: - Movements

    private static func sine(amplitude: Double, period: Double) -> @Sendable (Double) -> Double {
        { time in
            let turn = 2 * Double.pi / period
            return 8 * time + amplitude / turn * (1 - cos(turn * time))
        }
    }

    /// Seconds from a stop to the next and metres between them.
    private static let legs: [(seconds: Int, meters: Double)] = [
        (60, 300), (40, 440), (80, 480), (60, 600), (50, 300), (70, 700),
    ]

    /// Arrival, departure and place of each stop.
    private static func calls(dwell: Int) -> [(arrival: Int, departure: Int, along: Double)] {
        var calls = [(arrival: 0, departure: 0, along: 0.0)]
        for index in 0..<30 {
            let last = calls[calls.count - 1]
            let leg = legs[index % legs.count]
            let arrival = last.departure + leg.seconds
            calls.append((arrival, arrival + dwell, last.along + leg.meters))
        }
        return calls
    }

    private static func unevenTimetable(dwell: Int) -> Journey {
        let shape = Script.journey.trip.shape
        let stops = calls(dwell: dwell).enumerated().map { index, call in
            StopTime(
                stopID: StopID("S\(index)"),
                stopSequence: index,
                alongShape: call.along,
                arrival: 8 * 3600 + call.arrival,
                departure: 8 * 3600 + call.departure,
                coordinate: shape.point(at: call.along)
            )
        }
        return Fixture.journey(
            Trip(id: "T", routeID: "R", serviceID: "WEEKDAY", shape: shape, stopTimes: stops)
        )
    }

    private static func timetable(dwell: Int) -> @Sendable (Double) -> Double {
        let calls = calls(dwell: dwell)
        return { time in
            let next = calls.firstIndex { Double($0.arrival) > time } ?? calls.count - 1
            let from = calls[max(0, next - 1)]
            let to = calls[next]
            let share = max(0, time - Double(from.departure)) / Double(to.arrival - from.departure)
            return from.along + min(1, share) * (to.along - from.along)
        }
    }
}
