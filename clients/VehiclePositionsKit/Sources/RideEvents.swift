/// What the server answered to the latest upload.
public struct RideProgress: Sendable, Equatable {
    /// How far the server trusts the ride.
    public var state: RideState
    /// Whether this ride alone is good enough to be published.
    public var published: Bool
    /// What a trusted position of the vehicle says about the latest accepted point.
    public var corroboration: Corroboration
    /// Points accepted since the ride started, so that a missed event loses nothing.
    public var pointsAccepted: Int
    /// Accepted points in a row that did not match the trip.
    public var offRouteStreak: Int

    /// Makes a progress report from its parts.
    public init(
        state: RideState,
        published: Bool,
        corroboration: Corroboration,
        pointsAccepted: Int,
        offRouteStreak: Int
    ) {
        self.state = state
        self.published = published
        self.corroboration = corroboration
        self.pointsAccepted = pointsAccepted
        self.offRouteStreak = offRouteStreak
    }
}

/// Something the host may show while the ride goes on.
public enum RideWarning: Sendable, Equatable {
    /// An upload failed and is tried again; `attempt` counts failures in a row.
    case uploadRetrying(attempt: Int)
    /// The rider allowed approximate positions only. Sent once per ride.
    case accuracyLimited
    /// The system pauses updates because the app is not in use. Sent once per ride.
    case insufficientlyInUse
    /// The server refused a batch, which is dropped; 0 means its answer could not be read.
    case batchRejected(status: Int)
}

/// What happens on a ride, in order.
public enum RideEvent: Sendable, Equatable {
    /// The installation has a rider id now.
    case registered(riderID: String)
    /// The server accepted the ride.
    case started(rideID: String)
    /// The server answered an upload.
    case progress(RideProgress)
    /// The ride goes on, with a flaw.
    case warning(RideWarning)
    /// The ride is over; the stream finishes after this.
    case ended(RideEndReason, summary: RideSummary?)
}

/// Why a call to the server did not succeed.
public enum RideError: Error, Sendable, Equatable {
    /// The token was refused, also after registering anew.
    case notAuthorized
    /// The server refused; `message` is its sentence.
    case server(status: Int, message: String)
    /// No answer came.
    case transport(String)
    /// The ride had ended before.
    case alreadyEnded
    /// The answer could not be read.
    case decoding(String)
}
