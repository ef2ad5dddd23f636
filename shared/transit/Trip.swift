/// A trip's call at one stop.
public struct StopTime: Hashable, Sendable {
    /// The stop.
    public let stopID: StopID
    /// `stop_times.stop_sequence`.
    public let stopSequence: Int
    /// Metres along the trip's shape; never less than at the stop before.
    public let alongShape: Double
    /// Seconds after the start of service, more than 86,400 after midnight.
    public let arrival: Int
    /// Seconds after the start of service.
    public let departure: Int
    /// Where the stop is.
    public let coordinate: Coordinate

    /// Makes a stop time.
    public init(
        stopID: StopID,
        stopSequence: Int,
        alongShape: Double,
        arrival: Int,
        departure: Int,
        coordinate: Coordinate
    ) {
        self.stopID = stopID
        self.stopSequence = stopSequence
        self.alongShape = alongShape
        self.arrival = arrival
        self.departure = departure
        self.coordinate = coordinate
    }
}

/// A trip that riders can be matched to: it has a shape and stop times.
///
/// Immutable, so that a ride in progress keeps its own when the schedule is swapped.
public final class Trip: Sendable {
    /// `trips.trip_id`.
    public let id: TripID
    /// The route it runs on.
    public let routeID: RouteID
    /// The calendar that says on which days it runs.
    public let serviceID: ServiceID
    /// `trips.direction_id`, 0 or 1.
    public let directionID: Int?
    /// `trips.trip_headsign`, possibly empty.
    public let headsign: String
    /// The path on the ground.
    public let shape: ShapeGeometry
    /// The stops in order, at least one.
    public let stopTimes: [StopTime]
    /// Whether frequencies.txt names the trip, whose times are then those of its first run only.
    public let isFrequencyBased: Bool

    /// Makes a trip.
    ///
    /// - Precondition: `stopTimes` is not empty and sorted by `alongShape`.
    public init(
        id: TripID,
        routeID: RouteID,
        serviceID: ServiceID,
        directionID: Int? = nil,
        headsign: String = "",
        shape: ShapeGeometry,
        stopTimes: [StopTime],
        isFrequencyBased: Bool = false
    ) {
        precondition(!stopTimes.isEmpty, "a trip has at least one stop time")
        self.id = id
        self.routeID = routeID
        self.serviceID = serviceID
        self.directionID = directionID
        self.headsign = headsign
        self.shape = shape
        self.stopTimes = stopTimes
        self.isFrequencyBased = isFrequencyBased
    }

    /// The first arrival, in seconds after the start of service: GTFS Realtime's `start_time`.
    public var startTime: Int { stopTimes[0].arrival }
    /// The last arrival, in seconds after the start of service.
    public var endTime: Int { stopTimes[stopTimes.count - 1].arrival }

    /// When the schedule has the vehicle so many metres along the shape.
    ///
    /// - Returns: Seconds after the start of service: the first arrival up to the first stop, the
    ///   last arrival from the last stop on, between two stops a line from the departure at the one
    ///   to the arrival at the other.
    public func scheduledOffset(at along: Double) -> Double {
        let next = firstStop(atOrAfter: along)
        guard next > 0 else { return Double(stopTimes[0].arrival) }
        guard next < stopTimes.count else { return Double(endTime) }
        let from = stopTimes[next - 1]
        let to = stopTimes[next]
        let span = to.alongShape - from.alongShape
        guard span > 0 else { return Double(from.departure) }
        let share = (along - from.alongShape) / span
        return Double(from.departure) + share * Double(to.arrival - from.departure)
    }

    /// The first stop at or after so many metres along the shape.
    ///
    /// - Returns: nil past the last stop.
    public func nextStop(at along: Double) -> StopTime? {
        let next = firstStop(atOrAfter: along)
        return next < stopTimes.count ? stopTimes[next] : nil
    }

    /// Halves without a branch that depends on the place: a processor that has to guess which half
    /// guesses wrong every other time, and that costs more than all the comparisons.
    private func firstStop(atOrAfter along: Double) -> Int {
        var first = 0
        var rest = stopTimes.count
        while rest > 0 {
            let half = (rest + 1) / 2
            first += stopTimes[first + half - 1].alongShape < along ? half : 0
            rest -= half
        }
        return first
    }
}

/// A route as feeds and catalogues show it.
public struct Route: Hashable, Sendable {
    /// `routes.route_id`.
    public let id: RouteID
    /// `routes.agency_id`, empty when the feed has one agency and leaves it out.
    public let agencyID: AgencyID
    /// `routes.route_short_name`, possibly empty.
    public let shortName: String
    /// `routes.route_long_name`, possibly empty.
    public let longName: String
    /// `routes.route_type`, plain or extended.
    public let type: Int
    /// Six hexadecimal digits, or empty.
    public let color: String
    /// Six hexadecimal digits, or empty.
    public let textColor: String
    /// `routes.route_sort_order`.
    public let sortOrder: Int?

    /// Makes a route.
    public init(
        id: RouteID,
        agencyID: AgencyID = "",
        shortName: String = "",
        longName: String = "",
        type: Int = 3,
        color: String = "",
        textColor: String = "",
        sortOrder: Int? = nil
    ) {
        self.id = id
        self.agencyID = agencyID
        self.shortName = shortName
        self.longName = longName
        self.type = type
        self.color = color
        self.textColor = textColor
        self.sortOrder = sortOrder
    }
}

/// A stop as feeds and catalogues show it.
public struct Stop: Hashable, Sendable {
    /// `stops.stop_id`.
    public let id: StopID
    /// `stops.stop_name`, possibly empty.
    public let name: String
    /// Where it is; some kinds of stop have no place.
    public let coordinate: Coordinate?

    /// Makes a stop.
    public init(id: StopID, name: String = "", coordinate: Coordinate? = nil) {
        self.id = id
        self.name = name
        self.coordinate = coordinate
    }
}
