public import Transit

/// Why a batch was not processed.
public enum BatchRefusal: Error, Sendable, Equatable {
    /// The ride has ended.
    case rideEnded(EndReason)
}

/// A point with what the rules said about it.
public struct JudgedPoint: Sendable, Equatable {
    /// The point as reported.
    public let point: Point
    /// What the rules said.
    public let verdict: Verdict
}

/// The answer to the rider's phone.
public struct BatchResult: Sendable, Equatable {
    /// The state after the batch.
    public let state: RideState
    /// Whether the ride may be published on its own; agreement with others is not reflected.
    public let published: Bool
    /// What the trusted vehicle said about the latest accepted point.
    public let corroboration: Corroboration
    /// Accepted points of this batch.
    public let accepted: Int
    /// Ignored points of this batch, those after the end of the ride among them.
    public let ignored: Int
    /// Failed points of any kind since the last match.
    public let offRouteStreak: Int
    /// How the batch ended the ride, or nil.
    public let end: RideEnd?

    /// Whether the batch ended the ride.
    public var ended: Bool { end != nil }
    /// The wire name of the end's reason, empty while the ride is live.
    public var endReason: String { end?.reason.rawValue ?? "" }
}

/// A state that a ride reached, for the history an operator sees.
public struct StateChange: Sendable, Equatable {
    /// The state reached.
    public let state: RideState
    /// The time of the point that decided it.
    public let timestamp: UnixSeconds
}

/// What a batch did to a copy of its session.
public struct BatchOutcome: Sendable, Equatable {
    /// The session after the batch; it replaces the old one once the batch is stored.
    public var session: Session
    /// The accepted points in order of time.
    public var accepted: [JudgedPoint] = []
    /// The ignored points that the rules saw, in order of time; those after the end were not judged.
    public var ignored: [JudgedPoint] = []
    /// The states reached, in order of time.
    public var changes: [StateChange] = []
    /// The answer.
    public var result: BatchResult

    /// The points to store: none for a blocked rider, whose ride goes on in the shadow.
    public func pointsToStore(tier: Tier) -> [JudgedPoint] {
        tier == .blocked ? [] : accepted
    }
}

/// Judges a batch of points and applies them to a copy of their session.
///
/// The points are taken in order of time. What one stream of points yields does not depend on how it is
/// cut into batches, given the same clock and the same trusted vehicle, with one exception: the trusted
/// vehicle is placed on the shape once for each batch, near the rider's latest matched point before it.
/// On a shape that passes the trusted vehicle more than once, another cut can place it on another pass,
/// so only `corroboration` (and what follows from it) can then differ.
///
/// - Parameters:
///   - points: The reported points in any order.
///   - session: The session before the batch; not changed.
///   - tier: The rider's.
///   - trusted: The trusted vehicle on this trip, or nil.
///   - now: Our clock.
///   - thresholds: The limits.
/// - Returns: The new session, the judged points and the answer.
/// - Throws: ``BatchRefusal`` if the ride has already ended.
public func applyBatch(
    _ points: [Point],
    to session: Session,
    tier: Tier,
    trusted: TrustedVehicle?,
    now: UnixSeconds,
    thresholds: Thresholds = Thresholds()
) throws(BatchRefusal) -> BatchOutcome {
    if let end = session.end { throw .rideEnded(end.reason) }
    let trustedPosition = trusted?.position(
        on: session.journey,
        near: session.latestMatched?.alongShape
    )
    var session = session
    var accepted: [JudgedPoint] = []
    var ignored: [JudgedPoint] = []
    var changes: [StateChange] = []
    accepted.reserveCapacity(points.count)
    for point in sortedByTime(points) {
        guard !session.hasEnded else { break }
        let verdict = verify(
            point,
            on: session.journey,
            previous: session.latestMatched,
            lastAcceptedAt: session.lastAcceptedAt,
            regressedTo: session.regressedTo,
            trusted: trustedPosition,
            now: now,
            thresholds: thresholds
        )
        let transition = session.apply(verdict, to: point, thresholds: thresholds)
        let judged = JudgedPoint(point: point, verdict: verdict)
        if verdict.outcome == .ignored {
            ignored.append(judged)
        } else {
            accepted.append(judged)
        }
        if transition.isChange {
            changes.append(StateChange(state: transition.to, timestamp: point.timestamp))
        }
    }
    let result = BatchResult(
        state: session.state,
        published: session.isPublishable(tier: tier, at: now, thresholds: thresholds),
        corroboration: session.lastCorroboration,
        accepted: accepted.count,
        ignored: points.count - accepted.count,
        offRouteStreak: session.offRouteStreak,
        end: session.end
    )
    return BatchOutcome(
        session: session,
        accepted: accepted,
        ignored: ignored,
        changes: changes,
        result: result
    )
}

/// The points in order of time; equal times keep the order they were reported in.
private func sortedByTime(_ points: [Point]) -> [Point] {
    let isSorted = zip(points, points.dropFirst()).allSatisfy { $0.timestamp <= $1.timestamp }
    if isSorted { return points }
    return points.enumerated()
        .sorted { left, right in
            (left.element.timestamp, left.offset) < (right.element.timestamp, right.offset)
        }
        .map(\.element)
}
