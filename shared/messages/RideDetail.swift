public import Transit

/// Asks for one ride and why its points counted as they did.
public struct RideDetailQuery: Equatable, Sendable {
    /// The ride.
    public var rideID: UniqueID

    /// Makes a query.
    public init(rideID: UniqueID) { self.rideID = rideID }
}

/// One ride as an operator sees it.
public struct RideDetailReply: Equatable, Sendable {
    /// What the list shows of it.
    public var ride: RideListEntry
    /// The client's words at the start; empty when absent.
    public var vehicleID, boardingStopID, destinationStopID: String
    /// The states it reached, the earliest first.
    public var changes: [RideStateChange]
    /// Its stored points in order of time; none for a blocked rider.
    public var points: [ExplainedPoint]

    /// Makes the answer.
    public init(
        ride: RideListEntry,
        vehicleID: String = "",
        boardingStopID: String = "",
        destinationStopID: String = "",
        changes: [RideStateChange],
        points: [ExplainedPoint]
    ) {
        self.ride = ride
        self.vehicleID = vehicleID
        self.boardingStopID = boardingStopID
        self.destinationStopID = destinationStopID
        self.changes = changes
        self.points = points
    }
}

/// A state that a ride reached.
public struct RideStateChange: Equatable, Sendable {
    /// `pending`, `verified`, `rejected` or `ended`.
    public var state: String
    /// The application clock at the start and at an end that was asked for, else the time of the point that
    /// decided it; POSIX seconds.
    public var at: UnixSeconds

    /// Makes a change.
    public init(state: String, at: UnixSeconds) {
        self.state = state
        self.at = at
    }
}

/// A stored point with the verdict on it and the reason.
public struct ExplainedPoint: Equatable, Sendable {
    /// The point as the phone measured it.
    public var point: ReportedPoint
    /// Wire names of the verdict.
    public var outcome, corroboration: String
    /// The id of the check that decided, nil when the point matched and was compared with nothing.
    public var rule: String?
    /// What the check measured and held it against, in `unit`; nil without a check.
    public var measured, threshold: Double?
    /// `m`, `m/s` or `s`; nil where nothing was measured.
    public var unit: String?
    /// One sentence that says why the point counted as it did.
    public var explanation: String
    /// Metres.
    public var alongShape, distanceToShape: Double?
    /// Seconds behind the schedule; early is negative.
    public var scheduleDeviationSeconds: Int?
    /// When it arrived, POSIX seconds.
    public var receivedAt: UnixSeconds

    /// Makes a point.
    public init(
        point: ReportedPoint,
        outcome: String,
        corroboration: String,
        rule: String? = nil,
        measured: Double? = nil,
        threshold: Double? = nil,
        unit: String? = nil,
        explanation: String,
        alongShape: Double? = nil,
        distanceToShape: Double? = nil,
        scheduleDeviationSeconds: Int? = nil,
        receivedAt: UnixSeconds
    ) {
        self.point = point
        self.outcome = outcome
        self.corroboration = corroboration
        self.rule = rule
        self.measured = measured
        self.threshold = threshold
        self.unit = unit
        self.explanation = explanation
        self.alongShape = alongShape
        self.distanceToShape = distanceToShape
        self.scheduleDeviationSeconds = scheduleDeviationSeconds
        self.receivedAt = receivedAt
    }
}
