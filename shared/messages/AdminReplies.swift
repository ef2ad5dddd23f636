public import Transit

/// A page of rides, newest first.
public struct RideListReply: Equatable, Sendable {
    /// The rides.
    public var rides: [RideListEntry]
    /// Whether more follow.
    public var hasMore: Bool

    /// Makes the answer.
    public init(rides: [RideListEntry], hasMore: Bool) {
        self.rides = rides
        self.hasMore = hasMore
    }
}

/// A ride as the admin's list shows it.
public struct RideListEntry: Equatable, Sendable {
    /// The ride.
    public var rideID: UniqueID
    /// The pseudonymous rider.
    public var riderID: UniqueID
    /// The trip instance.
    public var trip: TripInstance
    /// The route.
    public var routeID: RouteID
    /// The wire name of the ride's state.
    public var state: String
    /// Whether enough points were corroborated.
    public var corroborated: Bool
    /// The wire name of why it ended; empty while active.
    public var endReason: String
    /// Points that were accepted, matched and corroborated.
    public var points, matchedPoints, corroboratedPoints: Int
    /// POSIX seconds.
    public var startedAt: UnixSeconds
    /// POSIX seconds; nil while active.
    public var endedAt: UnixSeconds?

    /// Makes an entry.
    public init(
        rideID: UniqueID,
        riderID: UniqueID,
        trip: TripInstance,
        routeID: RouteID,
        state: String,
        corroborated: Bool,
        endReason: String = "",
        points: Int,
        matchedPoints: Int,
        corroboratedPoints: Int,
        startedAt: UnixSeconds,
        endedAt: UnixSeconds? = nil
    ) {
        self.rideID = rideID
        self.riderID = riderID
        self.trip = trip
        self.routeID = routeID
        self.state = state
        self.corroborated = corroborated
        self.endReason = endReason
        self.points = points
        self.matchedPoints = matchedPoints
        self.corroboratedPoints = corroboratedPoints
        self.startedAt = startedAt
        self.endedAt = endedAt
    }
}

/// Counters of one verifier; those of its own slots add up over all verifiers.
public struct VerifierStatusReply: Equatable, Sendable {
    /// The schedule that a verifier works with.
    public struct Schedule: Equatable, Sendable {
        /// Where it came from.
        public var source: String
        /// The archive's content hash, hexadecimal.
        public var contentHash: String
        /// POSIX seconds.
        public var loadedAt: UnixSeconds
        /// Trips that riders can ride, and their shapes.
        public var trips, shapes: Int
        /// The agency's zone, such as `America/Los_Angeles`.
        public var timeZone: String

        /// Makes the part about the schedule.
        public init(
            source: String,
            contentHash: String,
            loadedAt: UnixSeconds,
            trips: Int,
            shapes: Int,
            timeZone: String
        ) {
            self.source = source
            self.contentHash = contentHash
            self.loadedAt = loadedAt
            self.trips = trips
            self.shapes = shapes
            self.timeZone = timeZone
        }
    }

    /// The verifier that answers.
    public var instance: String
    /// Nil until a schedule is loaded.
    public var schedule: Schedule?
    /// How many slots it owns.
    public var ownedSlots: Int
    /// Active rides in its slots.
    public var activeRides: Int
    /// Trip instances in its slots that riders publish and no trusted source covers.
    public var publishableTrips: Int
    /// Riders of the whole fleet who ever started a ride: all, trusted and blocked.
    public var riders, trustedRiders, blockedRiders: Int

    /// Makes the answer.
    public init(
        instance: String,
        schedule: Schedule? = nil,
        ownedSlots: Int,
        activeRides: Int,
        publishableTrips: Int,
        riders: Int,
        trustedRiders: Int,
        blockedRiders: Int
    ) {
        self.instance = instance
        self.schedule = schedule
        self.ownedSlots = ownedSlots
        self.activeRides = activeRides
        self.publishableTrips = publishableTrips
        self.riders = riders
        self.trustedRiders = trustedRiders
        self.blockedRiders = blockedRiders
    }
}
