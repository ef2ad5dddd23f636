public import Transit

/// What a ride amounted to.
public struct RideSummary: Sendable, Equatable {
    /// Why it ended.
    public var endReason: EndReason
    /// Whether a trusted vehicle confirmed enough points.
    public var isCorroborated: Bool
    /// Seconds between the first and the latest matched point; 0 with fewer than two.
    public var matchedSeconds: Int64
    /// The points counted.
    public var counts: PointCounts
    /// Seconds from the start to the end; never negative.
    public var durationSeconds: Int64

    /// Makes a summary.
    public init(
        endReason: EndReason,
        isCorroborated: Bool,
        matchedSeconds: Int64,
        counts: PointCounts = PointCounts(),
        durationSeconds: Int64 = 0
    ) {
        self.endReason = endReason
        self.isCorroborated = isCorroborated
        self.matchedSeconds = matchedSeconds
        self.counts = counts
        self.durationSeconds = durationSeconds
    }
}

extension Session {
    /// Whether the ride has ended.
    public var hasEnded: Bool { end != nil }

    /// Seconds between the first and the latest matched point; 0 with fewer than two.
    public var matchedDuration: Int64 {
        guard let firstMatchedAt, let lastMatchedAt else { return 0 }
        return max(0, lastMatchedAt - firstMatchedAt)
    }

    /// Whether the latest matched point is young enough to say where the vehicle is.
    ///
    /// Points that failed do not keep a ride fresh.
    public func isFresh(at now: UnixSeconds, thresholds: Thresholds = Thresholds()) -> Bool {
        guard let latestMatched else { return false }
        return now - latestMatched.timestamp <= thresholds.pointMaxAgeSeconds
    }

    /// Whether the ride may take part in an estimate at all.
    public func contributes(
        tier: Tier,
        at now: UnixSeconds,
        thresholds: Thresholds = Thresholds()
    ) -> Bool {
        state == .verified && !hasEnded && tier != .blocked
            && isFresh(at: now, thresholds: thresholds)
    }

    /// Whether the ride may be published without another rider who agrees.
    public func isPublishable(
        tier: Tier,
        at now: UnixSeconds,
        thresholds: Thresholds = Thresholds()
    ) -> Bool {
        contributes(tier: tier, at: now, thresholds: thresholds)
            && (tier == .trusted || isCorroborated)
    }

    /// What the ride amounted to, or nil while it is live.
    public var summary: RideSummary? {
        guard let end else { return nil }
        return RideSummary(
            endReason: end.reason,
            isCorroborated: isCorroborated,
            matchedSeconds: matchedDuration,
            counts: counts,
            durationSeconds: max(0, end.endedAt - startedAt)
        )
    }

    // MARK: - Reaping

    /// Why the ride must end now by the clock alone, or nil.
    ///
    /// The longest ride is tested before idleness, so a ride that is both ends as `max_duration`.
    public func reapReason(
        at now: UnixSeconds,
        thresholds: Thresholds = Thresholds()
    ) -> EndReason? {
        guard !hasEnded else { return nil }
        if now - startedAt > thresholds.maxRideSeconds { return .maxDuration }
        if now - (lastAcceptedAt ?? startedAt) > thresholds.idleSeconds { return .idle }
        return nil
    }

    /// Ends the ride if the clock says so.
    ///
    /// Called again it gives the same end, so that an end that could not be stored is stored by a later
    /// round with its original reason.
    ///
    /// - Parameters:
    ///   - now: Our clock.
    ///   - thresholds: The longest ride and the longest silence.
    /// - Returns: The end of the ride, this one or an earlier one, or nil while it is live.
    public mutating func reap(
        at now: UnixSeconds,
        thresholds: Thresholds = Thresholds()
    ) -> RideEnd? {
        if let reason = reapReason(at: now, thresholds: thresholds) {
            end(reason, at: now)
        }
        return end
    }
}
