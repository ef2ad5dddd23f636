/// The trip instance a rider says they are aboard; each text has at most 100 characters.
public struct TripDescriptor: Sendable, Codable, Equatable {
    /// The GTFS trip id.
    public var tripID: String
    /// The service date as `YYYYMMDD` in the agency's time zone; nil leaves the choice to the server.
    public var startDate: String?
    /// The GTFS route id; when given it must be the trip's.
    public var routeID: String?
    /// The vehicle's public number, if the rider knows it.
    public var vehicleID: String?
    /// The GTFS id of the stop where the rider boarded.
    public var boardingStopID: String?
    /// The GTFS id of the stop where the rider leaves; the ride ends by itself when it is reached.
    ///
    /// A stop that the trip does not serve is no error, and ends nothing.
    public var destinationStopID: String?

    /// Describes a trip; everything but the trip id is optional.
    public init(
        tripID: String,
        startDate: String? = nil,
        routeID: String? = nil,
        vehicleID: String? = nil,
        boardingStopID: String? = nil,
        destinationStopID: String? = nil
    ) {
        self.tripID = tripID
        self.startDate = startDate
        self.routeID = routeID
        self.vehicleID = vehicleID
        self.boardingStopID = boardingStopID
        self.destinationStopID = destinationStopID
    }

    enum CodingKeys: String, CodingKey {
        case tripID = "trip_id"
        case startDate = "start_date"
        case routeID = "route_id"
        case vehicleID = "vehicle_id"
        case boardingStopID = "boarding_stop_id"
        case destinationStopID = "destination_stop_id"
    }
}

/// How far the server trusts the ride.
public enum RideState: String, Sendable, Codable {
    /// Not enough positions yet; others see nothing of the ride.
    case pending
    /// The positions are the trip's.
    case verified
    /// The positions are not the trip's, and the ride ends.
    case rejected
    /// A value this build does not know.
    case unknown

    /// Reads a state; a value this build does not know becomes ``unknown``.
    ///
    /// - Parameter decoder: Holds one string.
    /// - Throws: `DecodingError` when the value is no string.
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        self = RideState(rawValue: text) ?? .unknown
    }
}

/// What the agency's or a driver's own position of the vehicle says about the latest accepted
/// point.
public enum Corroboration: String, Sendable, Codable {
    /// Nobody trusted sees the vehicle, or the point did not match the trip.
    case unavailable
    /// Too far apart to agree, too near to contradict.
    case none
    /// The vehicle is seen in the same place.
    case corroborated
    /// The vehicle is seen elsewhere.
    case contradicted
    /// A value this build does not know.
    case unknown

    /// Reads a verdict; a value this build does not know becomes ``unknown``.
    ///
    /// - Parameter decoder: Holds one string.
    /// - Throws: `DecodingError` when the value is no string.
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        self = Corroboration(rawValue: text) ?? .unknown
    }
}

/// Why a ride ended.
public enum RideEndReason: String, Sendable, Codable {
    /// The app called ``RideReporter/end(reason:)``.
    case userRequested = "user_requested"
    /// The phone came near the destination (``RideReporterConfiguration/arrivalRadiusMeters``).
    case arrived
    /// The phone lay still (``RideReporterConfiguration/stationaryTimeout``).
    case stationary
    /// The ride took too long (``RideReporterConfiguration/maxRideDuration``).
    case maxDuration = "max_duration"
    /// There are no positions any more.
    case locationUnavailable = "location_unavailable"
    /// The rider does not allow positions.
    case authorizationDenied = "authorization_denied"
    /// Uploads failed for too long (``RideReporterConfiguration/uploadFailureTimeout``).
    case networkFailure = "network_failure"
    /// The app was on its way out, or nobody waited for the start any more.
    case appTerminated = "app_terminated"
    /// The server: the positions left the trip's route.
    case offRoute = "off_route"
    /// The server: the agency or a driver sees the vehicle elsewhere.
    case contradicted
    /// The server: the positions went backwards along the route, or too fast.
    case implausible
    /// The server: the positions are too early or too late for the trip.
    case offSchedule = "off_schedule"
    /// Another ``RideReporter/start(_:)`` took the ride's place.
    case superseded
    /// The server knows the ride, or the token, no more; a new start may work.
    case serverRestart = "server_restart"
    /// The server had heard nothing for long, or gave a reason that this build does not know.
    case idle

    /// Whether the phone may name this reason in its end call; the others are the server's own.
    var isReportedByClient: Bool {
        switch self {
        case .userRequested, .arrived, .stationary, .maxDuration, .locationUnavailable,
            .authorizationDenied, .networkFailure, .appTerminated:
            true
        case .offRoute, .contradicted, .implausible, .offSchedule, .superseded, .serverRestart,
            .idle:
            false
        }
    }

    /// The reason a server gave; one this build does not know counts as ``idle``.
    init(fromServer text: String) {
        self = RideEndReason(rawValue: text) ?? .idle
    }
}

/// The counts of a finished ride.
public struct RideSummary: Sendable, Codable, Equatable {
    /// Points the server accepted.
    public var points: Int
    /// Points that lay on the trip.
    public var matched: Int
    /// Points the agency's own position agreed with.
    public var corroborated: Int
    /// From the start of the ride to its end.
    public var durationSeconds: Int

    /// Makes a summary from its counts.
    public init(points: Int, matched: Int, corroborated: Int, durationSeconds: Int) {
        self.points = points
        self.matched = matched
        self.corroborated = corroborated
        self.durationSeconds = durationSeconds
    }

    enum CodingKeys: String, CodingKey {
        case points
        case matched
        case corroborated
        case durationSeconds = "duration_seconds"
    }
}

/// Who reports a trip instance at the moment.
public struct TripStatus: Sendable, Codable, Equatable {
    /// The GTFS trip id.
    public var tripID: String
    /// The service date the server answered for, `YYYYMMDD`.
    public var startDate: String
    /// Whether the agency or a driver reports this trip.
    public var trusted: Bool
    /// Whether a position from riders is published.
    public var riderReported: Bool
    /// How many riders contribute.
    public var riders: Int

    /// Makes a status from its parts.
    public init(
        tripID: String,
        startDate: String,
        trusted: Bool,
        riderReported: Bool,
        riders: Int
    ) {
        self.tripID = tripID
        self.startDate = startDate
        self.trusted = trusted
        self.riderReported = riderReported
        self.riders = riders
    }

    enum CodingKeys: String, CodingKey {
        case tripID = "trip_id"
        case startDate = "start_date"
        case trusted
        case riderReported = "rider_reported"
        case riders
    }
}
