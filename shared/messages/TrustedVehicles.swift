public import Telemetry
public import Transit

/// Every vehicle that a trusted source reports now, whole: agencies' feeds and drivers.
public struct TrustedVehicles: Equatable, Sendable {
    /// The trace of the round that made it.
    public var trace: TraceID
    /// The feed service that made it.
    public var instance: String
    /// The builder's epoch; a reader ignores lower ones.
    public var epoch: UInt64
    /// Rises within an epoch; a reader ignores lower ones.
    public var sequence: UInt64
    /// When it was made, POSIX seconds.
    public var createdAt: UnixSeconds
    /// Whether any agency feed is configured at all.
    public var configured: Bool
    /// Whether every configured agency feed was tried at least once.
    public var complete: Bool
    /// The vehicles, at most one per trip instance.
    public var vehicles: [TrustedVehicle]

    /// Makes a snapshot.
    public init(
        trace: TraceID = .random(),
        instance: String,
        epoch: UInt64,
        sequence: UInt64,
        createdAt: UnixSeconds,
        configured: Bool,
        complete: Bool = true,
        vehicles: [TrustedVehicle]
    ) {
        self.trace = trace
        self.instance = instance
        self.epoch = epoch
        self.sequence = sequence
        self.createdAt = createdAt
        self.configured = configured
        self.complete = complete
        self.vehicles = vehicles
    }
}

/// A vehicle that a trusted source reports on a trip.
public struct TrustedVehicle: Equatable, Sendable {
    /// Who reports it.
    public enum Source: String, CaseIterable, Sendable {
        /// A driver of ours.
        case driver
        /// An agency's GTFS-Realtime feed.
        case agency
    }

    /// The trip.
    public var tripID: TripID
    /// The service date; nil when the source gave none, which then matches any date.
    public var startDate: ServiceDate?
    /// The vehicle; empty when the source gave none.
    public var vehicleID: VehicleID
    /// WGS-84 degrees; nil when the source says no possible place, and then it covers its trip alone.
    public var latitude, longitude: Double?
    /// When it was measured, POSIX seconds.
    public var timestamp: UnixSeconds
    /// Who reports it.
    public var source: Source
    /// The place of its agency's feed in the configuration, from 0; nil for a driver's, and where nobody said.
    public var feed: Int?

    /// Makes a vehicle.
    public init(
        tripID: TripID,
        startDate: ServiceDate? = nil,
        vehicleID: VehicleID,
        latitude: Double?,
        longitude: Double?,
        timestamp: UnixSeconds,
        source: Source,
        feed: Int? = nil
    ) {
        self.tripID = tripID
        self.startDate = startDate
        self.vehicleID = vehicleID
        self.latitude = latitude
        self.longitude = longitude
        self.timestamp = timestamp
        self.source = source
        self.feed = feed
    }
}
