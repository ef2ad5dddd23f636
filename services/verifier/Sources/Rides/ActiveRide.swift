internal import Messages
internal import Transit
internal import Verification

/// A ride under way, as its slot's owner keeps it in memory.
struct ActiveRide: Sendable {
    /// Streaks, counters and the latest matched point.
    var session: Session
    /// The rider's standing when the ride started or was taken over.
    var tier: Tier
    /// The route as it is stored and published; the request's, else the trip's.
    let routeID: RouteID
    /// What tells the ride from the others of its trip.
    var evidence = WitnessEvidence()
    /// How often the rider may report.
    var reports = ReportAllowance()
    /// The last batch that was stored, so that its repeat gets the same answer.
    var lastBatch: StoredBatch?
    /// When the ride was first believed, by our clock, if this process saw it; the row knows it in any case.
    var verifiedAt: UnixSeconds?
    /// The session with an end that was decided and could not be stored; the next reap stores it
    /// with its reason.
    var unfiled: Session?

    var rideID: UniqueID { session.rideID }
    var slot: Slot { session.rideID.slot }
    var member: Member { Member(session, tier: tier, evidence: evidence) }
}

/// What a batch said and what was answered.
struct StoredBatch: Sendable, Equatable {
    /// FNV-1a-64 over the points, bit for bit as a database's signed integer.
    let digest: Int64
    let answer: BatchAccepted
}

/// One batch in two seconds, two at once (spec 2.4): a token bucket as the time when it is full.
struct ReportAllowance: Sendable, Equatable {
    /// Seconds between batches.
    static let interval = 2.0
    /// Batches that may come at once.
    static let burst = 2.0

    private var fullAt = 0.0

    /// Takes one report from the allowance.
    ///
    /// - Parameter now: Monotonic seconds.
    /// - Returns: false when there is none left; nothing is taken then.
    mutating func take(at now: Double) -> Bool {
        let start = max(fullAt, now)
        guard start - now <= Self.interval * (Self.burst - 1) else { return false }
        fullAt = start + Self.interval
        return true
    }
}
