internal import Foundation

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

    /// The mean Earth radius in metres that the whole product uses.
    private static let earthRadiusMeters = 6_371_000.0

    /// Great-circle distance in metres.
    public func distanceMeters(to other: Coordinate) -> Double {
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
