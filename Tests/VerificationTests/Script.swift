import TestKit
import Transit

@testable import Verification

/// A ride made by a program, or by a driver with a phone.
struct Script {
    /// 30 km straight north, driven in an hour.
    static let journey: Journey = {
        let points = (0...100).map { index in
            Coordinate(latitude: 47.6 + 0.0027 * Double(index), longitude: -122.33)
        }
        guard let shape = ShapeGeometry(points: points) else {
            preconditionFailure("the shape has two points or more")
        }
        return journey("T", shape)
    }()

    static func journey(_ id: TripID, _ shape: ShapeGeometry) -> Journey {
        Fixture.journey(
            Fixture.trip(
                id,
                "R",
                shape,
                (0...12).map { "S\($0)" },
                (0...12).map { shape.length * Double($0) / 12 },
                8 * 3600
            )
        )
    }

    /// Seconds of the first point after eight.
    var phase: Int64 = 0
    /// Seconds between two points.
    var interval: Int64 = 5
    /// Metres of noise to the north and to the east.
    var noise = 0.0
    /// What is reported as accuracy of the point with that number.
    var accuracy: @Sendable (Int) -> Double? = { _ in 8 }
    /// Metres along the shape after so many seconds.
    var along: @Sendable (Double) -> Double = { 8 * $0 }

    /// A bus: 40 s at up to 12 m/s, 20 s at a stop.
    static let bus: @Sendable (Double) -> Double = { time in
        let round = (time / 60).rounded(.down)
        let inRound = min(40, time - 60 * round)
        // Speeds up for the first half and slows down for the second.
        let share = inRound / 40
        return 300 * (round + share * share * (3 - 2 * share))
    }

    /// The points of some seconds.
    func points(
        seconds: Int64,
        on journey: Journey = journey,
        _ random: inout SeededGenerator
    ) -> [Point] {
        var points: [Point] = []
        for time in stride(from: phase, to: seconds, by: Int64.Stride(interval)) {
            let place = journey.trip.shape.point(at: along(Double(time)))
            points.append(
                Point(
                    Coordinate(
                        latitude: place.latitude + noise * random.gaussian() / 111_320,
                        longitude: place.longitude + noise * random.gaussian() / 75_057
                    ),
                    accuracy: accuracy(points.count),
                    timestamp: Fixture.eight + time
                )
            )
        }
        return points
    }

    /// What a verifier keeps of a ride that reported these points.
    static func evidence(
        _ points: [Point],
        on journey: Journey = journey,
        origin: WitnessOrigin = WitnessOrigin()
    ) -> WitnessEvidence {
        var session = Fixture.session(journey: journey)
        var evidence = WitnessEvidence(origin: origin)
        for point in points {
            guard
                let outcome = try? applyBatch(
                    [point],
                    to: session,
                    tier: .new,
                    trusted: nil,
                    now: point.timestamp
                )
            else { break }
            session = outcome.session
            for judged in outcome.accepted { evidence.trace.add(judged.point, judged.verdict) }
        }
        return evidence
    }
}

extension SeededGenerator {
    /// A normally distributed number, by the sum of twelve evenly distributed ones.
    mutating func gaussian() -> Double {
        (0..<12).reduce(-6) { sum, _ in sum + Double.random(in: 0..<1, using: &self) }
    }
}
