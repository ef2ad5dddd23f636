public import Telemetry
public import Transit

/// A verifier's answer to a ``RideRequest``.
public struct RideReply: Equatable, Sendable {
    /// The request that is answered.
    public var requestID: UniqueID
    /// The trace of the request.
    public var trace: TraceID
    /// The answer.
    public var body: Body

    /// Makes an answer.
    public init(requestID: UniqueID, trace: TraceID, body: Body) {
        self.requestID = requestID
        self.trace = trace
        self.body = body
    }

    /// Makes the answer to a request.
    public init(to request: RideRequest, _ body: Body) {
        self.init(requestID: request.requestID, trace: request.trace, body: body)
    }

    /// The kinds of answer; what changes rows is sent after the commit.
    public enum Body: Equatable, Sendable {
        /// The ride began.
        case started(RideStarted)
        /// The batch was verified.
        case accepted(BatchAccepted)
        /// The ride ended; also the answer to a superseded one.
        case ended(RideEnded)
        /// Who reports a trip now.
        case tripStatus(TripStatusReply)
        /// A page of rides.
        case rides(RideListReply)
        /// Counters of this verifier.
        case status(VerifierStatusReply)
        /// Nothing about the rider is stored any more.
        case erased
        /// The same, but a mark remains that keeps a blocked installation blocked.
        case erasedButBlocked
        /// A page: JSON objects, divided by commas; nothing when there are no more.
        case exported([UInt8])
        /// Another ride of this rider is active; it is to be superseded first.
        case conflict(rideID: UniqueID)
        /// One ride with its points.
        case ride(RideDetailReply)
        /// Nothing was done.
        case refused(RideRefusal)
    }
}

/// The ride began.
public struct RideStarted: Equatable, Sendable {
    /// The stop at which the rider means to leave, when the trip calls there.
    public struct Destination: Equatable, Sendable {
        /// The stop.
        public var stopID: StopID
        /// WGS-84 degrees north.
        public var latitude: Double
        /// WGS-84 degrees east.
        public var longitude: Double

        /// Makes a destination.
        public init(stopID: StopID, latitude: Double, longitude: Double) {
            self.stopID = stopID
            self.latitude = latitude
            self.longitude = longitude
        }
    }

    /// The wire name of the ride's state, `pending` for a new one.
    public var state: String
    /// The service date that the ride is on.
    public var startDate: ServiceDate
    /// The route that is stored: the request's or the trip's.
    public var routeID: RouteID
    /// Nil when none was asked for or the trip does not call there.
    public var destination: Destination?

    /// Makes the answer.
    public init(
        state: String,
        startDate: ServiceDate,
        routeID: RouteID,
        destination: Destination? = nil
    ) {
        self.state = state
        self.startDate = startDate
        self.routeID = routeID
        self.destination = destination
    }
}

/// What became of a batch.
public struct BatchAccepted: Equatable, Sendable {
    /// The wire name of the ride's state after the batch.
    public var state: String
    /// Whether this ride alone may be published at the end of the batch.
    public var published: Bool
    /// The wire name of the corroboration of the latest accepted point.
    public var corroboration: String
    /// Points that were used.
    public var accepted: Int
    /// Points that were not.
    public var ignored: Int
    /// Points in a row that did not match.
    public var offRouteStreak: Int
    /// Whether the batch ended the ride.
    public var ended: Bool
    /// The wire name of the reason; empty while the ride goes on.
    public var endReason: String

    /// Makes the answer.
    public init(
        state: String,
        published: Bool,
        corroboration: String,
        accepted: Int,
        ignored: Int,
        offRouteStreak: Int,
        ended: Bool,
        endReason: String = ""
    ) {
        self.state = state
        self.published = published
        self.corroboration = corroboration
        self.accepted = accepted
        self.ignored = ignored
        self.offRouteStreak = offRouteStreak
        self.ended = ended
        self.endReason = endReason
    }
}

/// The summary of a ride that ended.
public struct RideEnded: Equatable, Sendable {
    /// Points that were accepted.
    public var points: Int
    /// Points that matched the trip.
    public var matched: Int
    /// Points that a trusted vehicle agreed with.
    public var corroborated: Int
    /// Seconds from start to end, never negative.
    public var durationSeconds: Int

    /// Makes the answer.
    public init(points: Int, matched: Int, corroborated: Int, durationSeconds: Int) {
        self.points = points
        self.matched = matched
        self.corroborated = corroborated
        self.durationSeconds = durationSeconds
    }
}

/// Who reports a trip now.
public struct TripStatusReply: Equatable, Sendable {
    /// The trip.
    public var tripID: TripID
    /// The service date that was meant.
    public var startDate: ServiceDate
    /// Whether a trusted source reports it.
    public var trusted: Bool
    /// Whether riders' estimate is published.
    public var riderReported: Bool
    /// Distinct riders that contribute.
    public var riders: Int

    /// Makes the answer.
    public init(
        tripID: TripID,
        startDate: ServiceDate,
        trusted: Bool,
        riderReported: Bool,
        riders: Int
    ) {
        self.tripID = tripID
        self.startDate = startDate
        self.trusted = trusted
        self.riderReported = riderReported
        self.riders = riders
    }
}

/// Why nothing was done.
public struct RideRefusal: Equatable, Sendable {
    /// The kinds of refusal; the raw value is the stable text of logs and metrics.
    public enum Code: String, CaseIterable, Sendable {
        /// The schedule has no such trip.
        case unknownTrip = "unknown_trip"
        /// The trip does not run on the date.
        case tripNotActive = "trip_not_active"
        /// The trip is of another route.
        case routeMismatch = "route_mismatch"
        /// No schedule is loaded.
        case scheduleUnavailable = "schedule_unavailable"
        /// No ride of this rider has the id.
        case rideNotFound = "ride_not_found"
        /// The ride has ended; `endReason` says why.
        case rideEnded = "ride_ended"
        /// The rider is not known.
        case unknownRider = "unknown_rider"
        /// Batches come too fast.
        case tooManyReports = "too_many_reports"
        /// Starts and ends come too fast.
        case tooManyRideChanges = "too_many_ride_changes"
        /// Another instance owns the slot; `owner` names it when known.
        case notOwner = "not_owner"
        /// A passing trouble, such as a database out of reach.
        case unavailable
        /// The request makes no sense; a repeat would be refused again.
        case invalid
        /// A fault that a repeat would meet again; also any code of a newer release.
        case failed
    }

    /// The kind.
    public var code: Code
    /// The wire name of why the ride ended; empty when not known or not ended.
    public var endReason: String
    /// The instance that owns the slot; empty when not known.
    public var owner: String
    /// Whole seconds after which a repeat makes sense; 0 says nothing.
    public var retryAfterSeconds: Int

    /// Makes a refusal.
    public init(
        _ code: Code,
        endReason: String = "",
        owner: String = "",
        retryAfterSeconds: Int = 0
    ) {
        self.code = code
        self.endReason = endReason
        self.owner = owner
        self.retryAfterSeconds = retryAfterSeconds
    }
}
