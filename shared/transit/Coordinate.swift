internal import Glibc

/// A place on the earth in WGS-84 degrees.
public struct Coordinate: Hashable, Sendable {
    /// Degrees north, -90 to 90.
    public let latitude: Double
    /// Degrees east, -180 to 180.
    public let longitude: Double

    /// The mean radius of the earth in metres that every distance here uses.
    public static let earthRadiusMeters = 6_371_000.0

    /// Makes a coordinate; ``isValid`` tells whether the numbers are in range.
    public init(latitude: Double, longitude: Double) {
        self.latitude = latitude
        self.longitude = longitude
    }

    /// Whether both numbers are finite and in range, and the place is not (0, 0).
    ///
    /// (0, 0) is what receivers report that have no fix.
    public var isValid: Bool {
        abs(latitude) <= 90 && abs(longitude) <= 180 && !(latitude == 0 && longitude == 0)
    }

    /// The great-circle distance in metres (haversine).
    public func distance(to other: Coordinate) -> Double {
        let phi1 = latitude * .pi / 180
        let phi2 = other.latitude * .pi / 180
        let sinPhi = sin((phi2 - phi1) / 2)
        let sinLambda = sin((other.longitude - longitude) * .pi / 180 / 2)
        let chord = sinPhi * sinPhi + cos(phi1) * cos(phi2) * sinLambda * sinLambda
        return 2 * Self.earthRadiusMeters * asin(min(1, chord.squareRoot()))
    }

    /// The bearing at which a great circle leaves here for `other`.
    ///
    /// - Parameter other: The place to go to; the same place gives 0.
    /// - Returns: Degrees clockwise from north, at least 0 and below 360.
    public func bearing(to other: Coordinate) -> Double {
        let phi1 = latitude * .pi / 180
        let phi2 = other.latitude * .pi / 180
        let lambda = (other.longitude - longitude) * .pi / 180
        let y = sin(lambda) * cos(phi2)
        let x = cos(phi1) * sin(phi2) - sin(phi1) * cos(phi2) * cos(lambda)
        let degrees = atan2(y, x) * 180 / .pi
        let turned = degrees < 0 ? degrees + 360 : degrees
        return turned >= 360 ? 0 : turned
    }
}

/// Where a point lies relative to a shape.
public struct Projection: Hashable, Sendable {
    /// Metres from the shape's start to the nearest place on it.
    public let alongShape: Double
    /// Metres from the point to that place.
    public let distanceToShape: Double

    /// Makes a projection.
    public init(alongShape: Double, distanceToShape: Double) {
        self.alongShape = alongShape
        self.distanceToShape = distanceToShape
    }
}

/// A box of latitudes and longitudes that does not cross the date line.
public struct CoordinateBox: Hashable, Sendable {
    /// Degrees north.
    public private(set) var latitudes: ClosedRange<Double>
    /// Degrees east.
    public private(set) var longitudes: ClosedRange<Double>

    /// Makes a box of one place or makes it large enough for one more.
    ///
    /// - Parameters:
    ///   - box: The box so far, nil for none.
    ///   - place: What it must hold; nil and places that are not valid change nothing.
    public static func extend(_ box: inout CoordinateBox?, by place: Coordinate?) {
        guard let place, place.isValid else { return }
        guard let old = box else {
            box = CoordinateBox(
                latitudes: place.latitude...place.latitude,
                longitudes: place.longitude...place.longitude
            )
            return
        }
        let south = min(old.latitudes.lowerBound, place.latitude)
        let north = max(old.latitudes.upperBound, place.latitude)
        let west = min(old.longitudes.lowerBound, place.longitude)
        let east = max(old.longitudes.upperBound, place.longitude)
        box = CoordinateBox(latitudes: south...north, longitudes: west...east)
    }

    /// Whether a place lies in the box or at most so many metres outside.
    public func contains(_ place: Coordinate, within metres: Double) -> Bool {
        let north = metres / 111_195
        let widest = max(abs(latitudes.lowerBound), abs(latitudes.upperBound))
        let east = north / max(0.01, cos(min(89, widest) * .pi / 180))
        return place.latitude >= latitudes.lowerBound - north
            && place.latitude <= latitudes.upperBound + north
            && place.longitude >= longitudes.lowerBound - east
            && place.longitude <= longitudes.upperBound + east
    }
}
