public import Transit

/// One fix that a rider's phone reported.
public struct Point: Sendable, Equatable {
    /// Where the phone was, in WGS-84 degrees; not yet checked.
    public var coordinate: Coordinate
    /// The radius of the fix in metres; nil or negative when the phone gave none.
    public var accuracy: Double?
    /// Metres per second over ground; nil or negative when the phone gave none.
    public var speed: Double?
    /// Degrees clockwise from north, or nil when the phone gave none.
    public var bearing: Double?
    /// When the phone measured it.
    public var timestamp: UnixSeconds

    /// Makes a point from what was reported.
    public init(
        _ coordinate: Coordinate,
        accuracy: Double? = nil,
        speed: Double? = nil,
        bearing: Double? = nil,
        timestamp: UnixSeconds
    ) {
        self.coordinate = coordinate
        self.accuracy = accuracy
        self.speed = speed
        self.bearing = bearing
        self.timestamp = timestamp
    }
}

/// The latest point of a ride that matched its trip.
public struct MatchedPoint: Sendable, Equatable {
    /// Metres along the shape.
    public var alongShape: Double
    /// When the phone measured it.
    public var timestamp: UnixSeconds
    /// Metres per second as reported, or nil when the phone gave none.
    public var speed: Double?

    /// Makes a matched point.
    public init(alongShape: Double, timestamp: UnixSeconds, speed: Double? = nil) {
        self.alongShape = alongShape
        self.timestamp = timestamp
        self.speed = speed
    }
}
