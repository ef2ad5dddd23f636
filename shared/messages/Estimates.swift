public import Telemetry
public import Transit

/// All that the riders of one slot say now, whole: a trip that is not in here has no estimate.
public struct Estimates: Equatable, Sendable {
    /// The trace of the round that made it.
    public var trace: TraceID
    /// The verifier.
    public var instance: String
    /// The slot whose trips these are.
    public var slot: Slot
    /// The number drawn when the slot was acquired; a reader ignores lower ones.
    public var epoch: UInt64
    /// Rises within an epoch; a reader ignores lower ones.
    public var sequence: UInt64
    /// When the verifier made it, POSIX seconds.
    public var createdAt: UnixSeconds
    /// Sorted by trip instance, one each.
    public var estimates: [TripEstimate]

    /// Makes a slot's estimates.
    public init(
        trace: TraceID = .random(),
        instance: String,
        slot: Slot,
        epoch: UInt64,
        sequence: UInt64,
        createdAt: UnixSeconds,
        estimates: [TripEstimate]
    ) {
        self.trace = trace
        self.instance = instance
        self.slot = slot
        self.epoch = epoch
        self.sequence = sequence
        self.createdAt = createdAt
        self.estimates = estimates
    }
}

/// Where the riders of one trip instance say that it is.
public struct TripEstimate: Equatable, Sendable {
    /// The trip instance.
    public var trip: TripInstance
    /// The route.
    public var routeID: RouteID
    /// WGS-84 degrees, snapped to the shape; never a rider's own fix.
    public var latitude, longitude: Double
    /// Degrees clockwise from north, along the shape.
    public var bearing: Double
    /// The median in metres per second; nil when no rider reported one.
    public var speed: Double?
    /// Of the newest contributing point, POSIX seconds.
    public var timestamp: UnixSeconds
    /// The next stop; nil past the last one.
    public var stopID: StopID?
    /// The `stop_sequence` of the next stop; nil past the last one.
    public var stopSequence: Int?
    /// Distinct riders that contribute.
    public var riders: Int
    /// Metres from the start of the shape.
    public var alongShape: Double
    /// Seconds behind the schedule, negative ahead of it; nil when not known.
    public var delaySeconds: Int?

    /// Makes an estimate.
    public init(
        trip: TripInstance,
        routeID: RouteID,
        latitude: Double,
        longitude: Double,
        bearing: Double,
        speed: Double? = nil,
        timestamp: UnixSeconds,
        stopID: StopID? = nil,
        stopSequence: Int? = nil,
        riders: Int,
        alongShape: Double,
        delaySeconds: Int? = nil
    ) {
        self.trip = trip
        self.routeID = routeID
        self.latitude = latitude
        self.longitude = longitude
        self.bearing = bearing
        self.speed = speed
        self.timestamp = timestamp
        self.stopID = stopID
        self.stopSequence = stopSequence
        self.riders = riders
        self.alongShape = alongShape
        self.delaySeconds = delaySeconds
    }
}
