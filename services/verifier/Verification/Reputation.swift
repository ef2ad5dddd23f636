/// How far a rider is believed.
public enum Tier: String, Sendable, CaseIterable {
    /// Needs a trusted vehicle or a second rider to be published.
    case new
    /// Is published alone once verified.
    case trusted
    /// Is never published, and does not learn of it.
    case blocked

    /// Reads a stored tier; an unknown name is `new`.
    public init(wireName: String) {
        self = Tier(rawValue: wireName) ?? .new
    }

    /// The tier that a score earns.
    public init(score: Int) {
        self =
            score <= Reputation.blockedAt
            ? .blocked : score >= Reputation.trustedAt ? .trusted : .new
    }
}

/// What a ride's end does to its rider's score.
public enum Reputation {
    /// The lowest and the highest score.
    public static let range = -10...10
    /// A score this low or lower is blocked.
    public static let blockedAt = -3
    /// A score this high or higher is trusted.
    public static let trustedAt = 3

    /// The points that a ended ride gives or takes.
    ///
    /// - Parameters:
    ///   - summary: The ended ride.
    ///   - thresholds: Says how long a corroborated ride must have matched to earn a point.
    /// - Returns: −3 contradicted, −1 otherwise rejected, +1 corroborated for long enough, else 0.
    public static func scoreDelta(
        of summary: RideSummary,
        thresholds: Thresholds = Thresholds()
    ) -> Int {
        guard summary.endReason.countsForReputation else { return 0 }
        if summary.endReason == .contradicted { return -3 }
        if summary.endReason.isRejection { return -1 }
        let earned =
            summary.isCorroborated && summary.matchedSeconds >= thresholds.earningSeconds
        return earned ? 1 : 0
    }

    /// The score within ``range``.
    public static func clamp(_ score: Int) -> Int {
        min(max(score, range.lowerBound), range.upperBound)
    }

    /// The score after a ride.
    ///
    /// - Parameters:
    ///   - score: The score before.
    ///   - summary: The ended ride.
    ///   - thresholds: As for ``scoreDelta(of:thresholds:)``.
    /// - Returns: The clamped sum.
    public static func score(
        _ score: Int,
        after summary: RideSummary,
        thresholds: Thresholds = Thresholds()
    ) -> Int {
        clamp(clamp(score) + scoreDelta(of: summary, thresholds: thresholds))
    }
}
