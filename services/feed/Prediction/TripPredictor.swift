public import Transit

/// Follows every vehicle on its trip and predicts its stops, learning from all of them.
public struct TripPredictor: Sendable {
    /// A vehicle on a run of a trip.
    public struct Key: Hashable, Sendable {
        /// The run.
        public let run: TripInstance
        /// The vehicle.
        public let vehicle: String

        /// Names a vehicle on a run.
        public init(run: TripInstance, vehicle: String) {
            self.run = run
            self.vehicle = vehicle
        }
    }

    /// Where a vehicle was seen.
    public enum Place: Sendable, Equatable {
        /// WGS-84 degrees.
        case coordinate(Coordinate)
        /// Metres along the trip's shape.
        case along(Double)
    }

    /// Seconds without a word after which a vehicle is forgotten.
    private static let memorySeconds: Int64 = 3600

    private let rules: PredictionRules
    private var times: SegmentTimes
    private var vehicles: [Key: TripProgress] = [:]

    /// Knows nothing yet.
    public init(rules: PredictionRules = PredictionRules()) {
        self.rules = rules
        times = SegmentTimes(rules: rules)
    }

    /// Takes in where a vehicle was.
    ///
    /// - Parameters:
    ///   - key: The vehicle and its run.
    ///   - place: Where it was.
    ///   - time: When, POSIX seconds; what is not newer changes nothing.
    ///   - run: The trip.
    /// - Returns: Where the vehicle is; nil while no position was near the shape.
    @discardableResult
    public mutating func observe(
        _ key: Key,
        at place: Place,
        time: UnixSeconds,
        on run: TripRun
    ) -> TripProgress? {
        guard var progress = vehicles[key] else {
            switch place {
            case .along(let along): vehicles[key] = TripProgress(along: along, at: time)
            case .coordinate(let coordinate):
                vehicles[key] = TripProgress(coordinate, at: time, on: run, rules: rules)
            }
            return vehicles[key]
        }
        var learned: [(SegmentTimes.Segment, Double, UnixSeconds)] = []
        switch place {
        case .along(let along):
            progress.advance(along: along, at: time, on: run, rules: rules) {
                learned.append(($0, $1, $2))
            }
        case .coordinate(let coordinate):
            progress.advance(to: coordinate, at: time, on: run, rules: rules) {
                learned.append(($0, $1, $2))
            }
        }
        vehicles[key] = progress
        for (segment, deviation, time) in learned {
            times.learn(deviation, on: segment, at: time)
        }
        return progress
    }

    /// What is expected of a vehicle; nil for one that was never near its trip.
    public func prediction(for key: Key, on run: TripRun, now: UnixSeconds) -> ArrivalPrediction? {
        guard let progress = vehicles[key] else { return nil }
        return ArrivalPrediction(progress, on: run, times: times, now: now, rules: rules)
    }

    /// Where a vehicle is, as far as is known.
    public func progress(of key: Key) -> TripProgress? { vehicles[key] }

    /// What was learned of stretches since the last call.
    public mutating func takeLearned() -> [SegmentTimes.Learned] { times.takeChanges() }

    /// Goes on with what another learned of stretches.
    public mutating func adopt(_ learned: [SegmentTimes.Learned]) { times.adopt(learned) }

    /// Forgets vehicles of which nothing was heard for an hour.
    public mutating func forgetOld(at now: UnixSeconds) {
        vehicles = vehicles.filter { now - $0.value.measuredAt < Self.memorySeconds }
    }
}
