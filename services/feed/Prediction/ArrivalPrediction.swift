internal import Glibc
public import Transit

/// When a vehicle is expected at a stop ahead.
public struct PredictedCall: Sendable, Equatable {
    /// The index in the trip's stops.
    public let stop: Int
    /// POSIX seconds; both rise from stop to stop.
    public let arrival, departure: UnixSeconds
    /// The expected error in seconds.
    public let uncertainty: Int
}

/// What is expected of a vehicle on its trip.
public struct ArrivalPrediction: Sendable, Equatable {
    /// Seconds behind the schedule where the vehicle is, negative ahead of it.
    public let delay: Int
    /// The stops ahead, in order; empty past the last one.
    public let calls: [PredictedCall]

    /// Predicts the stops ahead.
    ///
    /// The deviation where the vehicle is goes on downstream. It changes by what vehicles needed on each
    /// stretch lately, and a stop at which the schedule stands still absorbs it: who is late leaves at
    /// once, who is early waits. A vehicle that has not set off is expected to leave on time.
    ///
    /// - Parameters:
    ///   - progress: Where the vehicle is.
    ///   - run: Its trip.
    ///   - times: What is known of the stretches.
    ///   - now: The application clock, from which the age of the position counts.
    ///   - rules: The numbers.
    public init(
        _ progress: TripProgress,
        on run: TripRun,
        times: SegmentTimes,
        now: UnixSeconds,
        rules: PredictionRules
    ) {
        let stops = run.trip.stopTimes
        let measured = Double(progress.measuredAt)
        let service = Double(run.startOfService)
        let here = measured - service - run.trip.scheduledOffset(at: progress.along)
        let hasLeft = progress.along > stops[0].alongShape + rules.departureMetres
        var delay = hasLeft ? here : max(0, here)
        self.delay = Int(delay.rounded())
        let age = Double(max(0, now - progress.measuredAt))
        var calls: [PredictedCall] = []
        var earliest = measured
        var planned = measured - service - here
        let next = run.trip.stopIndex(after: progress.along)
        for index in next..<stops.count {
            var known = 0.0
            var deviation = 0.0
            if index > 0 {
                let segment = SegmentTimes.Segment(
                    from: stops[index - 1].stopID,
                    to: stops[index].stopID
                )
                (deviation, known) = times.expectation(on: segment, at: progress.measuredAt)
                deviation *= Self.share(ahead: index, of: stops, from: progress.along)
            }
            let ride = max(0, Double(stops[index].arrival) - planned)
            delay = delay * exp(-ride * (1 - known) / rules.recoverySeconds) + deviation
            planned = Double(stops[index].departure)
            let arrival = max(earliest, service + Double(stops[index].arrival) + delay).rounded()
            var departure = arrival
            if stops[index].departure > stops[index].arrival {
                departure = max(arrival, service + Double(stops[index].departure))
                delay = departure - service - Double(stops[index].departure)
            } else {
                delay = arrival - service - Double(stops[index].arrival)
            }
            // Two stops never have one time (E022), whatever the rounding.
            earliest = departure.rounded() + 1
            let ahead = max(0, arrival - measured)
            let uncertainty =
                rules.baseUncertainty + rules.uncertaintyAhead * ahead
                + rules.uncertaintyOfAge * age
            calls.append(
                PredictedCall(
                    stop: index,
                    arrival: UnixSeconds(arrival.rounded()),
                    departure: UnixSeconds(departure.rounded()),
                    uncertainty: Int(uncertainty.rounded())
                )
            )
        }
        self.calls = calls
    }

    /// How much of the stretch before a stop lies ahead.
    private static func share(ahead index: Int, of stops: [StopTime], from along: Double) -> Double
    {
        let length = stops[index].alongShape - stops[index - 1].alongShape
        guard length > 0, along > stops[index - 1].alongShape else { return 1 }
        return min(1, max(0, (stops[index].alongShape - along) / length))
    }
}
