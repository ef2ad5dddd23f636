public import Foundation

#if canImport(CoreLocation)
public import CoreLocation

/// A place on Earth in WGS-84 degrees.
public typealias Coordinate = CLLocationCoordinate2D
#else
/// A place on Earth in WGS-84 degrees.
public struct Coordinate: Sendable, Equatable {
    /// Degrees north.
    public var latitude: Double
    /// Degrees east.
    public var longitude: Double

    /// Makes a coordinate from degrees.
    public init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }
}
#endif

/// Why positions are missing or poor.
public enum LocationDiagnostic: Sendable, Equatable {
    /// The rider does not allow positions: the ride ends.
    case authorizationDenied
    /// The system has no positions: the ride ends.
    case locationUnavailable
    /// The rider allows approximate positions only: a warning, once per ride.
    case accuracyLimited
    /// The system holds positions back while the app is not in use: a warning, once per ride.
    case insufficientlyInUse
}

/// One update of the phone's position.
public struct LocationSample: Sendable {
    /// Where the phone is, nil when the update carries a diagnostic or a stillness only.
    public var coordinate: Coordinate?
    /// Metres; negative when unknown.
    public var horizontalAccuracy: Double
    /// Metres per second; negative when unknown.
    public var speed: Double
    /// Degrees clockwise from north; negative when unknown.
    public var course: Double
    /// When the position was measured.
    public var timestamp: Date
    /// Whether the system says the phone does not move.
    public var isStationary: Bool
    /// What is wrong, if anything.
    public var diagnostic: LocationDiagnostic?

    /// Makes a sample; readings that are left out count as unknown.
    public init(
        coordinate: Coordinate?,
        horizontalAccuracy: Double = -1,
        speed: Double = -1,
        course: Double = -1,
        timestamp: Date,
        isStationary: Bool = false,
        diagnostic: LocationDiagnostic? = nil
    ) {
        self.coordinate = coordinate
        self.horizontalAccuracy = horizontalAccuracy
        self.speed = speed
        self.course = course
        self.timestamp = timestamp
        self.isStationary = isStationary
        self.diagnostic = diagnostic
    }
}

/// Keeps the app running in the background until it is invalidated.
public protocol BackgroundActivityHandle: Sendable {
    /// Ends the background activity.
    func invalidate()
}

/// Gives the phone's positions.
public protocol LocationSource: Sendable {
    /// Positions until the consumer stops; an end or an error means there will be no more.
    func updates() -> AsyncThrowingStream<LocationSample, any Error>
    /// Asks the system to keep the app running; called in the foreground, when a ride starts.
    func beginBackgroundActivity() -> any BackgroundActivityHandle
}

extension Coordinate {
    /// The mean Earth radius in metres that the whole product uses.
    private static var earthRadiusMeters: Double { 6_371_000 }

    /// Great-circle distance in metres.
    func distanceMeters(to other: Coordinate) -> Double {
        let first = latitude * .pi / 180
        let second = other.latitude * .pi / 180
        let north = sin((second - first) / 2)
        let east = sin((other.longitude - longitude) * .pi / 360)
        let chord = north * north + cos(first) * cos(second) * east * east
        return 2 * Self.earthRadiusMeters * asin(min(1, chord.squareRoot()))
    }

    var isOnEarth: Bool {
        (-90...90).contains(latitude) && (-180...180).contains(longitude)
    }
}
