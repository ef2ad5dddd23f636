public import Transit

/// The times of a trip as they are now expected.
public struct TripUpdate: Equatable, Sendable {
    /// The trip.
    public var trip: TripDescriptor
    /// The vehicle that serves it.
    public var vehicle: VehicleDescriptor?
    /// Sorted by `stop_sequence`; each holds until the next.
    public var stopTimeUpdates: [StopTimeUpdate]
    /// When the progress was measured, POSIX seconds.
    public var timestamp: UInt64?
    /// Seconds behind the schedule, negative ahead of it.
    public var delay: Int32?

    /// Makes an update.
    public init(
        trip: TripDescriptor,
        vehicle: VehicleDescriptor? = nil,
        stopTimeUpdates: [StopTimeUpdate] = [],
        timestamp: UInt64? = nil,
        delay: Int32? = nil
    ) {
        self.trip = trip
        self.vehicle = vehicle
        self.stopTimeUpdates = stopTimeUpdates
        self.timestamp = timestamp
        self.delay = delay
    }
}

/// The times at one stop.
public struct StopTimeUpdate: Equatable, Sendable {
    /// How the call at the stop relates to the schedule.
    public enum ScheduleRelationship: UInt32, CaseIterable, Sendable {
        /// As the schedule has it, at whatever time.
        case scheduled = 0
        /// The vehicle passes.
        case skipped = 1
        /// Nothing is known.
        case noData = 2
        /// Of a frequency-based trip.
        case unscheduled = 3
    }

    /// `stop_times.stop_sequence`.
    public var stopSequence: UInt32?
    /// `stop_times.stop_id`.
    public var stopID: StopID?
    /// When it arrives.
    public var arrival: StopTimeEvent?
    /// When it leaves.
    public var departure: StopTimeEvent?
    /// Absent reads as ``ScheduleRelationship/scheduled``.
    public var scheduleRelationship: ScheduleRelationship?

    /// Makes an update of a stop.
    public init(
        stopSequence: UInt32? = nil,
        stopID: StopID? = nil,
        arrival: StopTimeEvent? = nil,
        departure: StopTimeEvent? = nil,
        scheduleRelationship: ScheduleRelationship? = nil
    ) {
        self.stopSequence = stopSequence
        self.stopID = stopID
        self.arrival = arrival
        self.departure = departure
        self.scheduleRelationship = scheduleRelationship
    }
}

/// An arrival or a departure.
public struct StopTimeEvent: Equatable, Sendable {
    /// Seconds behind the schedule, negative ahead of it.
    public var delay: Int32?
    /// POSIX seconds; wins over ``delay``.
    public var time: Int64?
    /// The expected error in seconds; 0 is certain.
    public var uncertainty: Int32?

    /// Makes an event.
    public init(delay: Int32? = nil, time: Int64? = nil, uncertainty: Int32? = nil) {
        self.delay = delay
        self.time = time
        self.uncertainty = uncertainty
    }
}
