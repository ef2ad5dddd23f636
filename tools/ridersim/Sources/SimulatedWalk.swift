public import Transit

#if canImport(Glibc)
import Glibc
#endif

/// One simulated phone's way along its trip: a pure function of the time since it set out.
public struct SimulatedWalk: Sendable {
    /// How the phone moves.
    public enum Pace: Sendable {
        /// At one speed, from a place along the shape.
        case constant(metersPerSecond: Double, from: Double)
        /// As the timetable says, from an offset after the start of service in seconds.
        case timetable(offset: Double)
    }

    /// What the phone measures at one moment.
    public struct Fix: Sendable, Equatable {
        /// Where the phone believes to be.
        public let coordinate: Coordinate
        /// Where it truly is, in metres along the shape.
        public let alongShape: Double
        /// The radius it claims, in metres.
        public let accuracyMeters: Double
        /// Metres per second.
        public let speedMetersPerSecond: Double
        /// Degrees clockwise from north.
        public let bearingDegrees: Double
    }

    /// How far a rider who leaves the route goes.
    public static let offRouteMeters = 300.0

    let trip: Trip
    let pace: Pace
    /// Metres this phone sits ahead of the vehicle's reference point, or behind it.
    let leadMeters: Double
    let noiseMeters: Double
    let offRouteAfter: Double?
    let seed: UInt64

    /// Makes a walk.
    ///
    /// - Parameters:
    ///   - trip: The trip that is ridden.
    ///   - pace: How the phone moves.
    ///   - leadMeters: Metres ahead of the vehicle's reference point.
    ///   - noiseMeters: Standard deviation of the jitter to the north and to the east.
    ///   - offRouteAfter: Seconds after which the phone leaves the shape, nil for never.
    ///   - seed: Decides the jitter.
    public init(
        trip: Trip,
        pace: Pace,
        leadMeters: Double = 0,
        noiseMeters: Double,
        offRouteAfter: Double? = nil,
        seed: UInt64
    ) {
        self.trip = trip
        self.pace = pace
        self.leadMeters = leadMeters
        self.noiseMeters = noiseMeters
        self.offRouteAfter = offRouteAfter
        self.seed = seed
    }

    /// Metres along the shape after some seconds.
    public func along(at elapsed: Double) -> Double {
        let reference =
            switch pace {
            case .constant(let speed, let start): start + speed * elapsed
            case .timetable(let offset): trip.scheduledAlong(at: offset + elapsed)
            }
        return min(max(reference + leadMeters, 0), trip.shape.length)
    }

    /// Whether the trip is over: at the last shape point, or at the last arrival by timetable.
    public func isFinished(at elapsed: Double) -> Bool {
        switch pace {
        case .constant: along(at: elapsed) >= trip.shape.length
        case .timetable(let offset): offset + elapsed >= Double(trip.endTime)
        }
    }

    /// What the phone measures after some seconds.
    public func fix(at elapsed: Double) -> Fix {
        var random = SeededRandom(seed: seed, UInt64(max(0, elapsed * 1000)))
        let along = along(at: elapsed)
        var place = trip.shape.point(at: along)
        if let offRouteAfter, elapsed >= offRouteAfter { place = besideShape(at: along) }
        let (north, east) = gaussianPair(&random)
        let accuracy = noiseMeters * 1.5 * random.uniform(0.8...1.2)
        return Fix(
            coordinate: place.moved(north: north * noiseMeters, east: east * noiseMeters),
            alongShape: along,
            accuracyMeters: min(max(accuracy, 3), 60),
            speedMetersPerSecond: max(0, speed(at: elapsed) * random.uniform(0.95...1.05)),
            bearingDegrees: trip.shape.bearing(at: along)
        )
    }

    private func speed(at elapsed: Double) -> Double {
        switch pace {
        case .constant(let speed, _): speed
        case .timetable: self.along(at: elapsed + 1) - self.along(at: elapsed)
        }
    }

    /// The place 300 m to the side that is furthest from the whole shape: on a loop or a grid one
    /// side may lie on another leg.
    private func besideShape(at along: Double) -> Coordinate {
        let start = trip.shape.point(at: along)
        let bearing = trip.shape.bearing(at: along)
        let places = [90.0, 270, 45, 315, 135, 225, 0, 180].map { turn in
            let angle = (bearing + turn) * .pi / 180
            return start.moved(
                north: cos(angle) * Self.offRouteMeters,
                east: sin(angle) * Self.offRouteMeters
            )
        }
        let distances = places.map { trip.shape.project($0).distanceToShape }
        let best = distances.indices.max { distances[$0] < distances[$1] - 1 } ?? 0
        return places[best]
    }

    private func gaussianPair(_ random: inout SeededRandom) -> (Double, Double) {
        let radius = (-2 * log(random.uniform(1e-12...1))).squareRoot()
        let angle = 2 * Double.pi * random.uniform(0...1)
        return (radius * cos(angle), radius * sin(angle))
    }
}

extension Coordinate {
    /// The place some metres away; exact enough for a few hundred.
    func moved(north: Double, east: Double) -> Coordinate {
        let metersPerDegree = Self.earthRadiusMeters * Double.pi / 180
        let width = max(cos(latitude * .pi / 180), 0.01)
        return Coordinate(
            latitude: latitude + north / metersPerDegree,
            longitude: longitude + east / (metersPerDegree * width)
        )
    }
}
