public import Transit

/// Where a vehicle is and on which trip.
public struct VehiclePosition: Equatable, Sendable {
    /// How the vehicle stands to its stop.
    public enum VehicleStopStatus: UInt32, CaseIterable, Sendable {
        /// About to arrive.
        case incomingAt = 0
        /// Standing there.
        case stoppedAt = 1
        /// On the way there.
        case inTransitTo = 2
    }

    /// How the traffic flows.
    public enum CongestionLevel: UInt32, CaseIterable, Sendable {
        /// Not known.
        case unknownCongestionLevel = 0
        /// Freely.
        case runningSmoothly = 1
        /// In bursts.
        case stopAndGo = 2
        /// Badly.
        case congestion = 3
        /// Hardly.
        case severeCongestion = 4
    }

    /// How full the vehicle is.
    public enum OccupancyStatus: UInt32, CaseIterable, Sendable {
        /// Few or no riders.
        case empty = 0
        /// Many seats are free.
        case manySeatsAvailable = 1
        /// Few seats are free.
        case fewSeatsAvailable = 2
        /// Room to stand.
        case standingRoomOnly = 3
        /// Little room to stand.
        case crushedStandingRoomOnly = 4
        /// Full.
        case full = 5
        /// Takes nobody in.
        case notAcceptingPassengers = 6
        /// Not known.
        case noDataAvailable = 7
        /// Never takes anybody in.
        case notBoardable = 8
    }

    /// The trip; absent when the vehicle serves none that is known.
    public var trip: TripDescriptor?
    /// The vehicle.
    public var vehicle: VehicleDescriptor?
    /// The place.
    public var position: Position?
    /// The `stop_sequence` of the stop that ``currentStatus`` speaks of.
    public var currentStopSequence: UInt32?
    /// The stop that ``currentStatus`` speaks of.
    public var stopID: StopID?
    /// Absent reads as ``VehicleStopStatus/inTransitTo``.
    public var currentStatus: VehicleStopStatus?
    /// When the position was measured, POSIX seconds.
    public var timestamp: UInt64?
    /// How the traffic flows.
    public var congestionLevel: CongestionLevel?
    /// How full the vehicle is.
    public var occupancyStatus: OccupancyStatus?
    /// How full the vehicle is, in percent, which may pass 100.
    public var occupancyPercentage: UInt32?

    /// Makes a vehicle's position.
    public init(
        trip: TripDescriptor? = nil,
        vehicle: VehicleDescriptor? = nil,
        position: Position? = nil,
        currentStopSequence: UInt32? = nil,
        stopID: StopID? = nil,
        currentStatus: VehicleStopStatus? = nil,
        timestamp: UInt64? = nil,
        congestionLevel: CongestionLevel? = nil,
        occupancyStatus: OccupancyStatus? = nil,
        occupancyPercentage: UInt32? = nil
    ) {
        self.trip = trip
        self.vehicle = vehicle
        self.position = position
        self.currentStopSequence = currentStopSequence
        self.stopID = stopID
        self.currentStatus = currentStatus
        self.timestamp = timestamp
        self.congestionLevel = congestionLevel
        self.occupancyStatus = occupancyStatus
        self.occupancyPercentage = occupancyPercentage
    }
}

/// A place and a movement; never to be fed back into geometry, as the wire has 32-bit floats.
public struct Position: Equatable, Sendable {
    /// WGS-84 degrees north.
    public var latitude: Float
    /// WGS-84 degrees east.
    public var longitude: Float
    /// Degrees clockwise from north.
    public var bearing: Float?
    /// Metres driven.
    public var odometer: Double?
    /// Metres per second.
    public var speed: Float?

    /// Makes a position.
    public init(
        latitude: Float,
        longitude: Float,
        bearing: Float? = nil,
        odometer: Double? = nil,
        speed: Float? = nil
    ) {
        self.latitude = latitude
        self.longitude = longitude
        self.bearing = bearing
        self.odometer = odometer
        self.speed = speed
    }
}
