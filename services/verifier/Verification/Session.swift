public import Transit

/// What a ride has shown so far.
public enum RideState: String, Sendable, CaseIterable {
    /// Not enough matched points in a row yet.
    case pending
    /// Enough matched points in a row; can contribute to the feed.
    case verified
    /// The rules do not believe the ride.
    case rejected
}

/// How and when a ride ended.
public struct RideEnd: Sendable, Equatable {
    /// Why it ended.
    public let reason: EndReason
    /// When it ended; for a rejection the time of the point that decided it.
    public let endedAt: UnixSeconds

    /// Makes an end.
    public init(_ reason: EndReason, at endedAt: UnixSeconds) {
        self.reason = reason
        self.endedAt = endedAt
    }
}

/// How many points of a ride counted as what.
public struct PointCounts: Sendable, Equatable {
    /// Accepted points, matched or not.
    public var total = 0
    /// Matched points, contradicted ones among them.
    public var matched = 0
    /// Matched points that a trusted vehicle confirmed.
    public var corroborated = 0
    /// Matched points that a trusted vehicle contradicted.
    public var contradicted = 0

    /// Counts nothing.
    public init() {}
}

/// What one point changed in its session.
public struct Transition: Sendable, Equatable {
    /// The state before.
    public let from: RideState
    /// The state after.
    public let to: RideState
    /// The end of the ride, if it has ended by now.
    public let end: RideEnd?

    /// Whether the state changed.
    public var isChange: Bool { from != to }
}

/// One ride as the rules see it: streaks, counters and the latest matched point.
///
/// A value: the verifier applies a batch to a copy and keeps the copy once the batch is stored.
public struct Session: Sendable, Equatable {
    /// The ride's id; its last byte is the slot.
    public let rideID: UniqueID
    /// The rider's pseudonymous id.
    public let riderID: UniqueID
    /// The trip as it was when the ride started.
    public let journey: Journey
    /// When the ride started, by our clock.
    public let startedAt: UnixSeconds

    /// Pending, verified or rejected; kept when the ride ends.
    public internal(set) var state: RideState = .pending
    /// How the ride ended, or nil while it is live.
    public private(set) var end: RideEnd?
    /// The points counted so far.
    public internal(set) var counts = PointCounts()
    /// Whether a trusted vehicle confirmed enough points; stays true.
    public internal(set) var isCorroborated = false
    /// Matched points since the last failed one.
    public internal(set) var matchStreak = 0
    /// Failed points of any kind since the last match.
    public internal(set) var offRouteStreak = 0
    /// Contradicted points since the last agreement.
    public internal(set) var contradictionStreak = 0
    /// The failed outcomes since the last match.
    public internal(set) var recentOutcomes = RecentOutcomes()
    /// When the first matched point was measured.
    public internal(set) var firstMatchedAt: UnixSeconds?
    /// When the latest matched point was measured.
    public internal(set) var lastMatchedAt: UnixSeconds?
    /// When the latest accepted point was measured; nothing older is accepted.
    public internal(set) var lastAcceptedAt: UnixSeconds?
    /// What the trusted vehicle said about the latest accepted point.
    public internal(set) var lastCorroboration: Corroboration = .unavailable
    /// The furthest back along the shape that points since the latest match were found to be, if any
    /// were too far back.
    public internal(set) var regressedTo: Double?
    /// The latest matched point; nil also after the shape changed under a restored ride.
    public internal(set) var latestMatched: MatchedPoint?

    /// Starts a ride.
    public init(
        rideID: UniqueID,
        riderID: UniqueID,
        journey: Journey,
        startedAt: UnixSeconds
    ) {
        self.rideID = rideID
        self.riderID = riderID
        self.journey = journey
        self.startedAt = startedAt
    }

    /// Ends the ride; the first end wins.
    ///
    /// - Parameters:
    ///   - reason: Why.
    ///   - time: When, by our clock.
    /// - Returns: The end that holds, which is an earlier one if the ride had already ended.
    @discardableResult
    public mutating func end(_ reason: EndReason, at time: UnixSeconds) -> RideEnd {
        if let end { return end }
        let new = RideEnd(reason, at: time)
        end = new
        return new
    }

    /// Counts a judged point.
    ///
    /// An ignored point changes nothing, and neither does any point after the end.
    ///
    /// - Parameters:
    ///   - verdict: What the rules said.
    ///   - point: The point it said it about.
    ///   - thresholds: The lengths of the streaks.
    /// - Returns: The change of state, with the end if the ride has one.
    @discardableResult
    public mutating func apply(
        _ verdict: Verdict,
        to point: Point,
        thresholds: Thresholds = Thresholds()
    ) -> Transition {
        let before = state
        guard end == nil, verdict.outcome != .ignored else {
            return Transition(from: before, to: before, end: end)
        }
        counts.total += 1
        lastAcceptedAt = point.timestamp
        lastCorroboration = verdict.corroboration
        if verdict.outcome == .matched, let alongShape = verdict.alongShape {
            countMatch(verdict.corroboration, alongShape: alongShape, point, thresholds)
        } else {
            countFailure(verdict, at: point.timestamp, thresholds)
        }
        return Transition(from: before, to: state, end: end)
    }

    private mutating func countMatch(
        _ corroboration: Corroboration,
        alongShape: Double,
        _ point: Point,
        _ thresholds: Thresholds
    ) {
        counts.matched += 1
        matchStreak += 1
        offRouteStreak = 0
        recentOutcomes = RecentOutcomes()
        firstMatchedAt = firstMatchedAt ?? point.timestamp
        lastMatchedAt = point.timestamp
        let step = latestMatched.map { alongShape - $0.alongShape } ?? 0
        regressedTo = nil
        latestMatched = MatchedPoint(
            alongShape: alongShape,
            timestamp: point.timestamp,
            speed: point.speed
        )
        switch corroboration {
        case .corroborated:
            counts.corroborated += 1
            contradictionStreak = 0
            if counts.corroborated >= thresholds.corroboratePoints { isCorroborated = true }
        case .contradicted:
            counts.contradicted += 1
            contradictionStreak += 1
        case .none, .unavailable:
            break
        }
        let hasMoved = thresholds.verifyStepMeters <= 0 || step >= thresholds.verifyStepMeters
        if state == .pending, hasMoved, matchStreak >= thresholds.verifyStreak {
            state = .verified
        }
        // After the line above on purpose: three contradicted points from the start do both.
        if contradictionStreak >= thresholds.contradictStreak {
            reject(.contradicted, at: point.timestamp)
        }
    }

    private mutating func countFailure(
        _ verdict: Verdict,
        at timestamp: UnixSeconds,
        _ thresholds: Thresholds
    ) {
        matchStreak = 0
        offRouteStreak += 1
        recentOutcomes.append(verdict.outcome)
        if verdict.check == .regression, let alongShape = verdict.alongShape {
            regressedTo = min(regressedTo ?? alongShape, alongShape)
        }
        guard offRouteStreak >= thresholds.rejectStreak else { return }
        switch recentOutcomes.mostFrequent(ofLast: thresholds.rejectStreak) {
        case .implausible: reject(.implausible, at: timestamp)
        case .offSchedule: reject(.offSchedule, at: timestamp)
        default: reject(.offRoute, at: timestamp)
        }
    }

    private mutating func reject(_ reason: EndReason, at timestamp: UnixSeconds) {
        state = .rejected
        end(reason, at: timestamp)
    }
}
