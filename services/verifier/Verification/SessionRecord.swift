public import Transit

/// A live session as the ride's row keeps it, in plain fields.
///
/// Written with each batch so that another process can go on where this one stopped. Where the rider is
/// (``alongShape``, ``speed``, ``regressedTo``) is left out at the ride's end and for blocked riders.
public struct SessionRecord: Sendable, Equatable {
    /// Wire name of the state.
    public var state: String
    /// See ``Session/isCorroborated``.
    public var isCorroborated: Bool
    /// See ``Session/matchStreak``.
    public var matchStreak: Int
    /// See ``Session/offRouteStreak``.
    public var offRouteStreak: Int
    /// See ``Session/contradictionStreak``.
    public var contradictionStreak: Int
    /// See ``RecentOutcomes/text``.
    public var recentOutcomes: String
    /// Accepted points.
    public var pointsTotal: Int
    /// Matched points.
    public var pointsMatched: Int
    /// Corroborated points.
    public var pointsCorroborated: Int
    /// Contradicted points.
    public var pointsContradicted: Int
    /// See ``Session/firstMatchedAt``.
    public var firstMatchedAt: UnixSeconds?
    /// See ``Session/lastMatchedAt``.
    public var lastMatchedAt: UnixSeconds?
    /// See ``Session/lastAcceptedAt``.
    public var lastAcceptedAt: UnixSeconds?
    /// Wire name of the latest corroboration.
    public var lastCorroboration: String
    /// ``ShapeGeometry`` content hash that ``alongShape`` was measured on, bit for bit as a signed integer.
    public var shapeHash: Int64
    /// Metres along that shape of the latest matched point.
    public var alongShape: Double?
    /// Metres per second of the latest matched point.
    public var speed: Double?
    /// See ``Session/regressedTo``; on the same shape.
    public var regressedTo: Double?

    /// Makes the record of a ride that has reported nothing; the fields are set one by one after it.
    public init(shapeHash: Int64) {
        state = RideState.pending.rawValue
        isCorroborated = false
        matchStreak = 0
        offRouteStreak = 0
        contradictionStreak = 0
        recentOutcomes = ""
        pointsTotal = 0
        pointsMatched = 0
        pointsCorroborated = 0
        pointsContradicted = 0
        lastCorroboration = Corroboration.unavailable.rawValue
        self.shapeHash = shapeHash
    }

    /// Takes the fields of a session.
    ///
    /// - Parameters:
    ///   - session: The session after the batch.
    ///   - tier: The rider's; a blocked rider's position is left out.
    public init(_ session: Session, tier: Tier) {
        self.init(shapeHash: session.journey.shapeHash)
        state = session.state.rawValue
        isCorroborated = session.isCorroborated
        matchStreak = session.matchStreak
        offRouteStreak = session.offRouteStreak
        contradictionStreak = session.contradictionStreak
        recentOutcomes = session.recentOutcomes.text
        pointsTotal = session.counts.total
        pointsMatched = session.counts.matched
        pointsCorroborated = session.counts.corroborated
        pointsContradicted = session.counts.contradicted
        firstMatchedAt = session.firstMatchedAt
        lastMatchedAt = session.lastMatchedAt
        lastAcceptedAt = session.lastAcceptedAt
        lastCorroboration = session.lastCorroboration.rawValue
        if !session.hasEnded, tier != .blocked {
            alongShape = session.latestMatched?.alongShape
            speed = session.latestMatched?.speed
            regressedTo = session.regressedTo
        }
    }
}

/// What becomes of a ride that an owner finds in the database.
public enum Restoration: Sendable, Equatable {
    /// The ride goes on.
    case resumed(Session)
    /// The ride ends as `server_restart`, without a change of score.
    case notResumable(RestartCause)
}

/// Why a ride could not go on after a restart.
public enum RestartCause: String, Sendable, CaseIterable {
    /// The trip is no longer in the schedule.
    case tripGone = "trip_gone"
    /// The last accepted point is older than a live ride may be silent.
    case tooOld = "too_old"
    /// The row holds values that no version of this service wrote.
    case unreadable
}

extension Journey {
    /// The content hash of the trip's shape as a database's signed integer, bit for bit.
    public var shapeHash: Int64 { Int64(bitPattern: trip.shape.contentHash) }
}

extension SessionRecord {
    /// Brings a ride back to life.
    ///
    /// Counters and streaks are kept. When the shape is another one than before, the place on it means
    /// nothing any more and is dropped; the next point starts cold.
    ///
    /// - Parameters:
    ///   - rideID: The ride.
    ///   - riderID: Its rider.
    ///   - journey: Its trip in the schedule of now, or nil if the trip left it.
    ///   - startedAt: When the ride started.
    ///   - now: Our clock.
    ///   - thresholds: Says how long a live ride may be silent.
    /// - Returns: The session, or why the ride cannot go on.
    public func restored(
        rideID: UniqueID,
        riderID: UniqueID,
        journey: Journey?,
        startedAt: UnixSeconds,
        now: UnixSeconds,
        thresholds: Thresholds = Thresholds()
    ) -> Restoration {
        guard let journey else { return .notResumable(.tripGone) }
        guard now - (lastAcceptedAt ?? startedAt) <= thresholds.idleSeconds else {
            return .notResumable(.tooOld)
        }
        // A rejected ride has ended in the same transaction, so an active row never says so.
        guard let state = RideState(rawValue: state), state != .rejected,
            let corroboration = Corroboration(rawValue: lastCorroboration),
            let outcomes = RecentOutcomes(text: recentOutcomes)
        else { return .notResumable(.unreadable) }
        var session = Session(
            rideID: rideID,
            riderID: riderID,
            journey: journey,
            startedAt: startedAt
        )
        session.state = state
        session.isCorroborated = isCorroborated
        session.matchStreak = matchStreak
        session.offRouteStreak = offRouteStreak
        session.contradictionStreak = contradictionStreak
        session.recentOutcomes = outcomes
        session.counts.total = pointsTotal
        session.counts.matched = pointsMatched
        session.counts.corroborated = pointsCorroborated
        session.counts.contradicted = pointsContradicted
        session.firstMatchedAt = firstMatchedAt
        session.lastMatchedAt = lastMatchedAt
        session.lastAcceptedAt = lastAcceptedAt
        session.lastCorroboration = corroboration
        if shapeHash == journey.shapeHash, let alongShape, let lastMatchedAt {
            session.latestMatched = MatchedPoint(
                alongShape: alongShape,
                timestamp: lastMatchedAt,
                speed: speed
            )
            session.regressedTo = regressedTo
        }
        return .resumed(session)
    }
}
