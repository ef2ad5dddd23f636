// The names of the enumerations in the schema, which the JSON form uses.

extension FeedHeader.Incrementality {
    /// The name in the schema.
    public var name: String {
        switch self {
        case .fullDataset: "FULL_DATASET"
        case .differential: "DIFFERENTIAL"
        }
    }
}

extension TripDescriptor.ScheduleRelationship {
    /// The name in the schema.
    public var name: String {
        switch self {
        case .scheduled: "SCHEDULED"
        case .added: "ADDED"
        case .unscheduled: "UNSCHEDULED"
        case .canceled: "CANCELED"
        case .replacement: "REPLACEMENT"
        case .duplicated: "DUPLICATED"
        case .deleted: "DELETED"
        case .new: "NEW"
        }
    }
}

extension VehiclePosition.VehicleStopStatus {
    /// The name in the schema.
    public var name: String {
        switch self {
        case .incomingAt: "INCOMING_AT"
        case .stoppedAt: "STOPPED_AT"
        case .inTransitTo: "IN_TRANSIT_TO"
        }
    }
}

extension VehiclePosition.CongestionLevel {
    /// The name in the schema.
    public var name: String {
        switch self {
        case .unknownCongestionLevel: "UNKNOWN_CONGESTION_LEVEL"
        case .runningSmoothly: "RUNNING_SMOOTHLY"
        case .stopAndGo: "STOP_AND_GO"
        case .congestion: "CONGESTION"
        case .severeCongestion: "SEVERE_CONGESTION"
        }
    }
}

extension VehiclePosition.OccupancyStatus {
    /// The name in the schema.
    public var name: String {
        switch self {
        case .empty: "EMPTY"
        case .manySeatsAvailable: "MANY_SEATS_AVAILABLE"
        case .fewSeatsAvailable: "FEW_SEATS_AVAILABLE"
        case .standingRoomOnly: "STANDING_ROOM_ONLY"
        case .crushedStandingRoomOnly: "CRUSHED_STANDING_ROOM_ONLY"
        case .full: "FULL"
        case .notAcceptingPassengers: "NOT_ACCEPTING_PASSENGERS"
        case .noDataAvailable: "NO_DATA_AVAILABLE"
        case .notBoardable: "NOT_BOARDABLE"
        }
    }
}

extension StopTimeUpdate.ScheduleRelationship {
    /// The name in the schema.
    public var name: String {
        switch self {
        case .scheduled: "SCHEDULED"
        case .skipped: "SKIPPED"
        case .noData: "NO_DATA"
        case .unscheduled: "UNSCHEDULED"
        }
    }
}
