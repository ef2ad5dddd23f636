public import Transit

/// Where riders say that a vehicle is, snapped to its shape.
public struct TripEstimate: Sendable, Equatable {
    /// The trip and date.
    public var trip: TripInstance
    /// The trip's route.
    public var routeID: RouteID
    /// The place on the shape, in WGS-84 degrees; never a rider's own fix.
    public var coordinate: Coordinate
    /// Degrees clockwise from north along the shape.
    public var bearing: Double
    /// Median of the plausible speeds reported, in metres per second, or nil when there is none.
    public var speed: Double?
    /// When the newest contributing point was measured, never after now.
    public var timestamp: UnixSeconds
    /// The next stop, or nil past the last one.
    public var stopID: StopID?
    /// The `stop_sequence` of the next stop, or nil past the last one.
    public var stopSequence: Int?
    /// Riders that agree.
    public var riders: Int
    /// Metres along the shape.
    public var alongShape: Double
    /// Seconds behind the schedule at ``timestamp``; early is negative.
    public var delaySeconds: Int
}

/// A registered session with its rider's tier.
public struct Member: Sendable, Equatable {
    /// The session, live or ended.
    public var session: Session
    /// The rider's tier of now.
    public var tier: Tier
    /// What tells the ride from others; nil is a witness of its own.
    public var evidence: WitnessEvidence?

    /// Makes a member.
    public init(_ session: Session, tier: Tier, evidence: WitnessEvidence? = nil) {
        self.session = session
        self.tier = tier
        self.evidence = evidence
    }
}

/// The contributing rides of one trip instance.
///
/// Made by ``groups(of:at:thresholds:)``; members are in the order the sessions were registered.
public struct TripGroup: Sendable, Equatable {
    /// The trip and date.
    public let trip: TripInstance
    /// Verified, fresh, live rides of riders who are not blocked, the newest of each rider.
    public private(set) var members: [Member]

    /// How many riders contribute, whatever becomes of their agreement.
    public var riders: Int { members.count }

    /// Groups the sessions that may contribute by trip instance.
    ///
    /// Only a rider's newest session counts: a superseded one is skipped even before its end is stored.
    ///
    /// - Parameters:
    ///   - sessions: All registered sessions in the order they were registered; of two that started in the
    ///     same second the later registered one is the newer.
    ///   - now: Our clock.
    ///   - thresholds: Says how long a matched point is fresh.
    /// - Returns: The groups with at least one member, by trip id and then date.
    public static func groups(
        of sessions: [Member],
        at now: UnixSeconds,
        thresholds: Thresholds = Thresholds()
    ) -> [TripGroup] {
        var newest: [UniqueID: Int] = [:]
        newest.reserveCapacity(sessions.count)
        for (index, member) in sessions.enumerated() {
            let session = member.session
            if let other = newest[session.riderID],
                sessions[other].session.startedAt > session.startedAt
            {
                continue
            }
            newest[session.riderID] = index
        }
        var groups: [TripInstance: TripGroup] = [:]
        for (index, member) in sessions.enumerated()
        where newest[member.session.riderID] == index
            && member.session.contributes(tier: member.tier, at: now, thresholds: thresholds)
        {
            let trip = member.session.journey.instance
            groups[trip, default: TripGroup(trip: trip, members: [])].members.append(member)
        }
        return groups.values.sorted { $0.trip < $1.trip }
    }

    /// Where the group says the vehicle is, or nil if it may not be published.
    ///
    /// - Parameters:
    ///   - now: Our clock.
    ///   - thresholds: The distances of agreement.
    /// - Returns: nil unless a member may be published alone or two riders agree, and again nil if dropping
    ///   the outliers leaves nobody of whom that holds. With ``Thresholds/estimateMaxLagSeconds`` both are
    ///   then asked once more of those who do not lag.
    public func estimate(
        at now: UnixSeconds,
        thresholds: Thresholds = Thresholds()
    ) -> TripEstimate? {
        guard let journey = newestJourney else { return nil }
        let witnesses = members.compactMap { member in
            Witness(member, on: journey, at: now, thresholds: thresholds)
        }
        if let estimate = Self.agreed(witnesses, on: journey, now, thresholds) { return estimate }
        // A bus goes on while a phone is silent, so its rider is no longer where the others are. Asked only
        // when nothing is published: a point that claims to be new takes nobody's publication away.
        guard let lag = thresholds.estimateMaxLagSeconds,
            let newest = witnesses.map(\.timestamp).max()
        else { return nil }
        let prompt = witnesses.filter { $0.timestamp >= min(newest, now) - lag }
        guard prompt.count < witnesses.count else { return nil }
        return Self.agreed(prompt, on: journey, now, thresholds)
    }

    private static func agreed(
        _ witnesses: [Witness],
        on journey: Journey,
        _ now: UnixSeconds,
        _ thresholds: Thresholds
    ) -> TripEstimate? {
        guard isPublishable(witnesses, thresholds),
            let middle = median(witnesses.map(\.alongShape))
        else { return nil }
        let kept = witnesses.filter { abs($0.alongShape - middle) <= thresholds.outlierMeters }
        if kept.count == witnesses.count {
            return estimate(kept, at: middle, on: journey, now: now)
        }
        // Whoever was outvoted must not have been the only reason to publish.
        guard isPublishable(kept, thresholds), let middle = median(kept.map(\.alongShape))
        else { return nil }
        return estimate(kept, at: middle, on: journey, now: now)
    }

    /// The trip object that started last: after a new schedule, the current one.
    var newestJourney: Journey? {
        members.max { $0.session.startedAt < $1.session.startedAt }?.session.journey
    }

    private static func isPublishable(_ witnesses: [Witness], _ thresholds: Thresholds) -> Bool {
        if witnesses.contains(where: \.isPublishable) { return true }
        // Members are of distinct riders, so two near enough who are two witnesses are a consensus.
        var agrees = false
        forEachNeighbour(of: witnesses, thresholds) { one, other in
            agrees =
                thresholds.witnessChecks != .enforce
                || areTwo(one, other, thresholds)
            return !agrees
        }
        return agrees
    }

    private static func estimate(
        _ witnesses: [Witness],
        at alongShape: Double,
        on journey: Journey,
        now: UnixSeconds
    ) -> TripEstimate? {
        guard let newest = witnesses.map(\.timestamp).max() else { return nil }
        let shape = journey.trip.shape
        let timestamp = min(newest, now)
        let nextStop = journey.trip.nextStop(at: alongShape)
        let delay = journey.deviation(at: alongShape, timestamp: timestamp).rounded()
        return TripEstimate(
            trip: journey.instance,
            routeID: journey.trip.routeID,
            coordinate: shape.point(at: alongShape),
            bearing: shape.bearing(at: alongShape),
            speed: median(witnesses.compactMap(\.speed)),
            timestamp: timestamp,
            stopID: nextStop?.stopID,
            stopSequence: nextStop?.stopSequence,
            riders: witnesses.count,
            alongShape: alongShape,
            delaySeconds: Int(delay)
        )
    }
}

/// The middle value, the mean of the middle two of an even number, nil of none.
func median(_ values: [Double]) -> Double? {
    guard !values.isEmpty else { return nil }
    let sorted = values.sorted()
    let middle = sorted.count / 2
    return sorted.count.isMultiple(of: 2)
        ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
}

/// The estimates of all trips whose riders may be published.
///
/// - Parameters:
///   - sessions: All registered sessions in the order they were registered.
///   - now: Our clock.
///   - thresholds: The limits.
/// - Returns: At most one estimate for each trip instance, by trip id and then date.
public func estimates(
    of sessions: [Member],
    at now: UnixSeconds,
    thresholds: Thresholds = Thresholds()
) -> [TripEstimate] {
    TripGroup.groups(of: sessions, at: now, thresholds: thresholds).compactMap { group in
        group.estimate(at: now, thresholds: thresholds)
    }
}

/// What a host app may show about a trip.
public struct TripStatus: Sendable, Equatable {
    /// Whether the trusted feed reports the trip.
    public let trusted: Bool
    /// Whether an estimate is published; never while the trusted feed reports the trip.
    public let riderReported: Bool
    /// Riders that contribute, counted even while the trusted feed reports the trip.
    public let riders: Int

    /// Asks the groups about a trip.
    ///
    /// - Parameters:
    ///   - trip: The trip and date.
    ///   - groups: What ``TripGroup/groups(of:at:thresholds:)`` gave.
    ///   - isCovered: Whether the trusted feed reports the trip.
    ///   - now: Our clock.
    ///   - thresholds: The limits.
    public init(
        of trip: TripInstance,
        in groups: [TripGroup],
        isCovered: Bool,
        at now: UnixSeconds,
        thresholds: Thresholds = Thresholds()
    ) {
        let group = groups.first { $0.trip == trip }
        trusted = isCovered
        riders = group?.riders ?? 0
        riderReported = !isCovered && group?.estimate(at: now, thresholds: thresholds) != nil
    }
}
