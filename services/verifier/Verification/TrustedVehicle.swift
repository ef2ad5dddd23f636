public import Transit

/// A vehicle that an agency's feed or a signed-in driver reports on a trip.
public struct TrustedVehicle: Sendable, Equatable {
    /// Who says so.
    public enum Source: String, Sendable, CaseIterable {
        /// A feed of the agency.
        case agency
        /// A driver of this service.
        case driver
    }

    /// The trip it runs.
    public var tripID: TripID
    /// The service date of that run; nil when the feed gives none, and then it stands for any date.
    public var startDate: ServiceDate?
    /// The vehicle's id in its feed; may be empty.
    public var vehicleID: String
    /// Where it was, in WGS-84 degrees; one whose place is not valid covers its trip and nothing more.
    public var coordinate: Coordinate
    /// When it was there; 0 when the feed gives no time, and then it is dropped.
    public var timestamp: UnixSeconds
    /// Who says so.
    public var source: Source

    /// Makes a trusted vehicle.
    public init(
        tripID: TripID,
        startDate: ServiceDate?,
        vehicleID: String,
        coordinate: Coordinate,
        timestamp: UnixSeconds,
        source: Source = .agency
    ) {
        self.tripID = tripID
        self.startDate = startDate
        self.vehicleID = vehicleID
        self.coordinate = coordinate
        self.timestamp = timestamp
        self.source = source
    }

    /// Where the vehicle is on the shape of a trip.
    ///
    /// - Parameters:
    ///   - journey: The trip.
    ///   - hint: The rider's latest matched metres along the shape: on a loop the rider and the vehicle
    ///     are compared on the same pass. Nil gives the nearest place.
    /// - Returns: The place with the vehicle's time.
    public func position(on journey: Journey, near hint: Double?) -> TrustedPosition {
        TrustedPosition(
            alongShape: journey.trip.shape.project(coordinate, hint: hint).alongShape,
            timestamp: timestamp
        )
    }
}

/// Where a trusted vehicle is on a rider's shape.
public struct TrustedPosition: Sendable, Equatable {
    /// Metres along the shape.
    public var alongShape: Double
    /// When it was there.
    public var timestamp: UnixSeconds

    /// Makes a position.
    public init(alongShape: Double, timestamp: UnixSeconds) {
        self.alongShape = alongShape
        self.timestamp = timestamp
    }
}
