public import Transit

/// A GTFS Realtime feed: a header and the entities it holds now.
///
/// Names and units are the specification's (https://gtfs.org/documentation/realtime/reference/);
/// nil means that a field is absent, which is not the same as zero or empty. Parts that this
/// project neither publishes nor reads, such as alerts, are passed over when decoding.
public struct FeedMessage: Equatable, Sendable {
    /// Facts about the whole feed.
    public var header: FeedHeader
    /// The contents.
    public var entities: [FeedEntity]

    /// Makes a feed.
    public init(header: FeedHeader, entities: [FeedEntity] = []) {
        self.header = header
        self.entities = entities
    }
}

/// Facts about a whole feed.
public struct FeedHeader: Equatable, Sendable {
    /// Whether entities left out stand or fall.
    public enum Incrementality: UInt32, CaseIterable, Sendable {
        /// The feed is whole: what is left out is gone.
        case fullDataset = 0
        /// The feed holds changes; the specification leaves the rest open.
        case differential = 1
    }

    /// `2.0` or `1.0`.
    public var gtfsRealtimeVersion: String
    /// Absent reads as ``Incrementality/fullDataset``.
    public var incrementality: Incrementality?
    /// When the content was made, POSIX seconds.
    public var timestamp: UInt64?

    /// Makes a header.
    public init(
        gtfsRealtimeVersion: String = "2.0",
        incrementality: Incrementality? = .fullDataset,
        timestamp: UInt64?
    ) {
        self.gtfsRealtimeVersion = gtfsRealtimeVersion
        self.incrementality = incrementality
        self.timestamp = timestamp
    }
}

/// One thing that the feed says: a vehicle's position or a trip's times.
public struct FeedEntity: Equatable, Sendable {
    /// Unique within the feed.
    public var id: String
    /// Whether the entity of that id is gone; only in differential feeds.
    public var isDeleted: Bool?
    /// A trip's times.
    public var tripUpdate: TripUpdate?
    /// A vehicle's position.
    public var vehicle: VehiclePosition?

    /// Makes an entity.
    public init(
        id: String,
        isDeleted: Bool? = nil,
        tripUpdate: TripUpdate? = nil,
        vehicle: VehiclePosition? = nil
    ) {
        self.id = id
        self.isDeleted = isDeleted
        self.tripUpdate = tripUpdate
        self.vehicle = vehicle
    }
}

/// The trip that a vehicle or an update is about.
public struct TripDescriptor: Equatable, Sendable {
    /// How the trip relates to the schedule.
    public enum ScheduleRelationship: UInt32, CaseIterable, Sendable {
        /// In the schedule, or close enough to one that is.
        case scheduled = 0
        /// Deprecated by the specification; an extra trip.
        case added = 1
        /// Runs with no schedule.
        case unscheduled = 2
        /// In the schedule but removed.
        case canceled = 3
        /// Replaces a trip of the schedule.
        case replacement = 5
        /// A copy of a trip of the schedule at another time.
        case duplicated = 6
        /// Removed, and not to be shown.
        case deleted = 7
        /// An extra trip.
        case new = 8
    }

    /// `trips.trip_id`.
    public var tripID: TripID?
    /// `routes.route_id`.
    public var routeID: RouteID?
    /// `trips.direction_id`.
    public var directionID: UInt32?
    /// `HH:MM:SS`, which may pass 24 hours.
    public var startTime: String?
    /// The service date, `YYYYMMDD`; kept as text, as feeds write what they like.
    public var startDate: String?
    /// How the trip relates to the schedule.
    public var scheduleRelationship: ScheduleRelationship?

    /// Makes a descriptor.
    public init(
        tripID: TripID? = nil,
        routeID: RouteID? = nil,
        directionID: UInt32? = nil,
        startTime: String? = nil,
        startDate: String? = nil,
        scheduleRelationship: ScheduleRelationship? = nil
    ) {
        self.tripID = tripID
        self.routeID = routeID
        self.directionID = directionID
        self.startTime = startTime
        self.startDate = startDate
        self.scheduleRelationship = scheduleRelationship
    }
}

/// The vehicle that serves a trip.
public struct VehicleDescriptor: Equatable, Sendable {
    /// Unique in the feed; not for riders' eyes.
    public var id: VehicleID?
    /// What riders see on the vehicle.
    public var label: String?
    /// The licence plate.
    public var licensePlate: String?

    /// Makes a descriptor.
    public init(id: VehicleID? = nil, label: String? = nil, licensePlate: String? = nil) {
        self.id = id
        self.label = label
        self.licensePlate = licensePlate
    }
}
