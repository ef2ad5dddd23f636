public import Telemetry
public import Transit

/// What ingest asks the verifier that owns a ride's slot.
///
/// Requests are idempotent: the same `requestID` sent again, because an answer was lost, gets the
/// answer of the first.
public struct RideRequest: Equatable, Sendable {
    /// Names this request through all its repeats.
    public var requestID: UniqueID
    /// The trace of the call that caused it.
    public var trace: TraceID
    /// What is asked.
    public var body: Body

    /// Makes a request.
    public init(requestID: UniqueID, trace: TraceID, body: Body) {
        self.requestID = requestID
        self.trace = trace
        self.body = body
    }

    /// The kinds of request.
    public enum Body: Equatable, Sendable {
        /// A ride begins.
        case start(StartRide)
        /// A batch of positions of a ride.
        case positions(ReportPositions)
        /// The rider ends the ride.
        case end(EndRide)
        /// Who reports a trip now.
        case tripStatus(TripStatusQuery)
        /// The rider began another ride, so this one ends.
        case supersede(SupersedeRide)
        /// A page of the rides, for the admin; any verifier answers it.
        case rides(RideListQuery)
        /// Counters of this verifier, for the admin.
        case status(VerifierStatusQuery)
        /// Forget a rider: rides, points and reputation; any verifier answers it.
        case eraseRider(EraseRider)
        /// Everything stored about a rider; any verifier answers it.
        case exportRider(ExportRider)
        /// One ride with its points and why each counted as it did, for the admin; any verifier
        /// answers it.
        case ride(RideDetailQuery)
    }
}

/// A ride begins.
public struct StartRide: Equatable, Sendable {
    /// Minted by ingest; its last byte is the slot of `tripID`.
    public var rideID: UniqueID
    /// The pseudonymous rider.
    public var riderID: UniqueID
    /// The trip that the rider says they are on.
    public var tripID: TripID
    /// The service date; nil asks the verifier for the one that fits now.
    public var startDate: ServiceDate?
    /// The route that the trip must be of; nil leaves it open.
    public var routeID: RouteID?
    /// The client's word, verbatim and unchecked; empty when absent.
    public var vehicleID: String
    /// The client's word, verbatim and unchecked; empty when absent.
    public var boardingStopID: String
    /// The client's word, verbatim and unchecked; empty when absent.
    public var destinationStopID: String
    /// When ingest received the call, POSIX seconds.
    public var receivedAt: UnixSeconds

    /// Makes a request to start a ride.
    public init(
        rideID: UniqueID,
        riderID: UniqueID,
        tripID: TripID,
        startDate: ServiceDate? = nil,
        routeID: RouteID? = nil,
        vehicleID: String = "",
        boardingStopID: String = "",
        destinationStopID: String = "",
        receivedAt: UnixSeconds
    ) {
        self.rideID = rideID
        self.riderID = riderID
        self.tripID = tripID
        self.startDate = startDate
        self.routeID = routeID
        self.vehicleID = vehicleID
        self.boardingStopID = boardingStopID
        self.destinationStopID = destinationStopID
        self.receivedAt = receivedAt
    }
}

/// A batch of positions of one ride.
public struct ReportPositions: Equatable, Sendable {
    /// The ride.
    public var rideID: UniqueID
    /// The rider who sent them; must own the ride.
    public var riderID: UniqueID
    /// In the order in which the phone sent them.
    public var points: [ReportedPoint]
    /// When ingest received the call, POSIX seconds.
    public var receivedAt: UnixSeconds

    /// Makes a batch.
    public init(
        rideID: UniqueID,
        riderID: UniqueID,
        points: [ReportedPoint],
        receivedAt: UnixSeconds
    ) {
        self.rideID = rideID
        self.riderID = riderID
        self.points = points
        self.receivedAt = receivedAt
    }
}

/// One position as a phone measured it.
public struct ReportedPoint: Hashable, Sendable {
    /// WGS-84 degrees north.
    public var latitude: Double
    /// WGS-84 degrees east.
    public var longitude: Double
    /// The radius of uncertainty in metres; nil when the phone gave none.
    public var accuracy: Double?
    /// Metres per second; nil when the phone gave none.
    public var speed: Double?
    /// Degrees clockwise from north; nil when the phone gave none.
    public var bearing: Double?
    /// When the phone measured it, POSIX seconds.
    public var timestamp: UnixSeconds

    /// Makes a point.
    public init(
        latitude: Double,
        longitude: Double,
        accuracy: Double? = nil,
        speed: Double? = nil,
        bearing: Double? = nil,
        timestamp: UnixSeconds
    ) {
        self.latitude = latitude
        self.longitude = longitude
        self.accuracy = accuracy
        self.speed = speed
        self.bearing = bearing
        self.timestamp = timestamp
    }
}

/// The rider ends the ride.
public struct EndRide: Equatable, Sendable {
    /// The ride.
    public var rideID: UniqueID
    /// The rider; must own the ride.
    public var riderID: UniqueID
    /// The wire name of the reason, such as `arrived`.
    public var reason: String
    /// When ingest received the call, POSIX seconds.
    public var receivedAt: UnixSeconds

    /// Makes a request to end a ride.
    public init(rideID: UniqueID, riderID: UniqueID, reason: String, receivedAt: UnixSeconds) {
        self.rideID = rideID
        self.riderID = riderID
        self.reason = reason
        self.receivedAt = receivedAt
    }
}

/// Ends a ride because its rider starts another.
public struct SupersedeRide: Equatable, Sendable {
    /// The ride that ends.
    public var rideID: UniqueID
    /// The rider; must own the ride.
    public var riderID: UniqueID
    /// When ingest received the call, POSIX seconds.
    public var receivedAt: UnixSeconds

    /// Makes a request to end a superseded ride.
    public init(rideID: UniqueID, riderID: UniqueID, receivedAt: UnixSeconds) {
        self.rideID = rideID
        self.riderID = riderID
        self.receivedAt = receivedAt
    }
}

/// Asks who reports a trip now.
public struct TripStatusQuery: Equatable, Sendable {
    /// The trip.
    public var tripID: TripID
    /// The service date; nil asks the verifier for the one that fits now.
    public var startDate: ServiceDate?
    /// When ingest received the call, POSIX seconds.
    public var receivedAt: UnixSeconds

    /// Makes a query.
    public init(tripID: TripID, startDate: ServiceDate? = nil, receivedAt: UnixSeconds) {
        self.tripID = tripID
        self.startDate = startDate
        self.receivedAt = receivedAt
    }
}

/// Asks for a page of rides, newest first.
public struct RideListQuery: Equatable, Sendable {
    /// Which rides.
    public enum Status: String, CaseIterable, Sendable {
        /// Under way.
        case active
        /// Ended for whatever reason.
        case ended
    }

    /// Which rides.
    public var status: Status
    /// The most rides in the answer.
    public var limit: Int
    /// How many of the newest to pass over.
    public var offset: Int

    /// Makes a query.
    public init(status: Status, limit: Int, offset: Int) {
        self.status = status
        self.limit = limit
        self.offset = offset
    }
}

/// Asks a verifier for its counters.
public struct VerifierStatusQuery: Equatable, Sendable {
    /// When ingest received the call, POSIX seconds.
    public var receivedAt: UnixSeconds

    /// Makes a query.
    public init(receivedAt: UnixSeconds) { self.receivedAt = receivedAt }
}

/// Asks to forget a rider.
public struct EraseRider: Equatable, Sendable {
    /// The rider.
    public var riderID: UniqueID
    /// When the erasure was asked for, POSIX seconds.
    public var receivedAt: UnixSeconds
    /// A keyed hash of the rider's installation, as an id: it stays blocked when the rider was. It
    /// may be the rider's own id. Nil when the installation is not known.
    public var successorID: UniqueID?
    /// Until when no ride of this rider may begin, POSIX seconds: a late request must not bring
    /// back what was erased.
    public var forgottenUntil: UnixSeconds
    /// Whether a verifier passed it on to the owner of the rider's active ride.
    public var isForwarded: Bool

    /// Makes a request.
    public init(
        riderID: UniqueID,
        receivedAt: UnixSeconds,
        successorID: UniqueID? = nil,
        forgottenUntil: UnixSeconds,
        isForwarded: Bool = false
    ) {
        self.riderID = riderID
        self.receivedAt = receivedAt
        self.successorID = successorID
        self.forgottenUntil = forgottenUntil
        self.isForwarded = isForwarded
    }
}

/// Asks for a page of everything stored about a rider.
public struct ExportRider: Equatable, Sendable {
    /// The rider.
    public var riderID: UniqueID
    /// When the export was asked for, POSIX seconds.
    public var receivedAt: UnixSeconds
    /// 0 is the rider's standing; from 1 on come the rides with their points, the oldest first.
    public var page: Int

    /// Makes a request.
    public init(riderID: UniqueID, receivedAt: UnixSeconds, page: Int) {
        self.riderID = riderID
        self.receivedAt = receivedAt
        self.page = page
    }
}
