public import Transit

/// One run of a trip: the trip as it was when the ride started, on one service date.
///
/// A ride keeps its own trip, so a new schedule never changes a ride under way. Two journeys are equal
/// when they hold the very same trip object and date.
public struct Journey: Sendable, Equatable {
    /// The trip with its shape and stop times.
    public let trip: Trip
    /// The service date the trip runs on.
    public let startDate: ServiceDate
    /// Local noon minus twelve hours of the service date; every stop time counts from here.
    public let startOfService: UnixSeconds

    /// Makes the run of `trip` on `startDate`.
    public init(trip: Trip, startDate: ServiceDate, startOfService: UnixSeconds) {
        self.trip = trip
        self.startDate = startDate
        self.startOfService = startOfService
    }

    /// The trip instance that groups the rides of one vehicle.
    public var instance: TripInstance { TripInstance(tripID: trip.id, startDate: startDate) }

    /// Whether both hold the same trip object and date.
    public static func == (left: Journey, right: Journey) -> Bool {
        left.trip === right.trip && left.startDate == right.startDate
            && left.startOfService == right.startOfService
    }

    /// Seconds that something at `along` at `timestamp` is behind the schedule; early is negative.
    public func deviation(at along: Double, timestamp: UnixSeconds) -> Double {
        Double(timestamp) - (Double(startOfService) + trip.scheduledOffset(at: along))
    }
}
