public import Transit

/// A trip instance with the times of its service day.
public struct TripRun: Sendable {
    /// The trip.
    public let trip: Trip
    /// The instant from which its times count, POSIX seconds.
    public let startOfService: UnixSeconds

    /// Makes a run.
    public init(trip: Trip, startOfService: UnixSeconds) {
        self.trip = trip
        self.startOfService = startOfService
    }
}

/// Where a vehicle is on its trip, as far as its positions tell.
public struct TripProgress: Sendable, Equatable {
    /// Metres along the shape.
    public private(set) var along: Double
    /// When it was there, POSIX seconds.
    public private(set) var measuredAt: UnixSeconds
    /// The last stop that was passed at a known time, as an index of the trip's stops, and when.
    private var passage: (stop: Int, at: Double)?

    /// Equal when place and time are; what was passed follows from them.
    public static func == (left: TripProgress, right: TripProgress) -> Bool {
        left.along == right.along && left.measuredAt == right.measuredAt
    }

    /// Begins with a first position.
    ///
    /// - Returns: nil for a position too far off the shape.
    public init?(
        _ coordinate: Coordinate,
        at time: UnixSeconds,
        on run: TripRun,
        rules: PredictionRules
    ) {
        // On a road that both directions use, the leg that the timetable means.
        let offset = Double(time - run.startOfService)
        let place = run.trip.shape.project(coordinate) { along in
            abs(run.trip.scheduledOffset(at: along) - offset)
        }
        guard place.distanceToShape <= rules.largestDistance else { return nil }
        along = place.alongShape
        measuredAt = time
    }

    /// Begins with a place along the shape.
    public init(along: Double, at time: UnixSeconds) {
        self.along = along
        measuredAt = time
    }

    /// Takes in the next position.
    ///
    /// - Parameters:
    ///   - coordinate: Where the vehicle was.
    ///   - time: When; one that is not newer changes nothing.
    ///   - run: The trip.
    ///   - rules: The limits.
    ///   - learned: Called with each stretch between two stops that was passed, how much longer than
    ///     planned it took, and when.
    public mutating func advance(
        to coordinate: Coordinate,
        at time: UnixSeconds,
        on run: TripRun,
        rules: PredictionRules,
        learned: (SegmentTimes.Segment, Double, UnixSeconds) -> Void
    ) {
        guard time > measuredAt else { return }
        let place = run.trip.shape.project(coordinate, hint: along)
        guard place.distanceToShape <= rules.largestDistance else { return }
        advance(along: place.alongShape, at: time, on: run, rules: rules, learned: learned)
    }

    /// Takes in the next place along the shape.
    public mutating func advance(
        along next: Double,
        at time: UnixSeconds,
        on run: TripRun,
        rules: PredictionRules,
        learned: (SegmentTimes.Segment, Double, UnixSeconds) -> Void
    ) {
        guard time > measuredAt else { return }
        defer { measuredAt = time }
        guard next >= along - rules.regressionMetres else {
            // It turned round, or was somewhere else before.
            along = next
            passage = nil
            return
        }
        guard next > along else { return }
        if time - measuredAt > rules.largestGap {
            passage = nil
        } else {
            pass(to: next, at: time, on: run, learned: learned)
        }
        along = next
    }

    private mutating func pass(
        to next: Double,
        at time: UnixSeconds,
        on run: TripRun,
        learned: (SegmentTimes.Segment, Double, UnixSeconds) -> Void
    ) {
        let stops = run.trip.stopTimes
        var index = run.trip.stopIndex(after: along)
        while index < stops.count, stops[index].alongShape <= next {
            let share = (stops[index].alongShape - along) / (next - along)
            let moment = Double(measuredAt) + share * Double(time - measuredAt)
            // The first stretch includes the wait for departure, which says nothing of the road.
            if let passage, passage.stop == index - 1, passage.stop > 0 {
                let planned = stops[index].arrival - stops[index - 1].departure
                learned(
                    SegmentTimes.Segment(
                        from: stops[index - 1].stopID,
                        to: stops[index].stopID
                    ),
                    moment - passage.at - Double(planned),
                    UnixSeconds(moment)
                )
            }
            passage = (index, moment)
            index += 1
        }
    }
}

extension Trip {
    /// The index of the first stop that lies further along than so many metres.
    func stopIndex(after along: Double) -> Int {
        var low = 0
        var high = stopTimes.count
        while low < high {
            let middle = (low + high) / 2
            if stopTimes[middle].alongShape <= along { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
