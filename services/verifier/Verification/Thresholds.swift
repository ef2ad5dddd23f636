/// The limits that the rules measure against; the rules never read the environment.
///
/// The first group can be set by an operator, the second is fixed by the seed and listed here so that
/// each number stands once, with its unit in its name.
public struct Thresholds: Sendable, Equatable {
    // MARK: - Set by an operator

    /// How far from the shape a point may lie, before its accuracy is added.
    public var maxShapeDistanceMeters = 60.0
    /// The highest plausible speed along the shape.
    public var maxSpeedMetersPerSecond = 35.0
    /// How early a point may be against the schedule; zero and negative values are taken literally.
    public var scheduleEarlySeconds: Int64 = 900
    /// How late a point may be against the schedule; zero and negative values are taken literally.
    public var scheduleLateSeconds: Int64 = 5_400
    /// A ride whose latest matched point is older stops contributing to the feed.
    public var pointMaxAgeSeconds: Int64 = 90
    /// Trusted entities and whole trusted snapshots that are older do not exist for the rules.
    public var trustedMaxAgeSeconds: Int64 = 300
    /// A trusted fix further in time from the point says nothing; nil compares fixes of any age, as the seed does.
    public var corroborationMaxSkewSeconds: Int64?
    /// How far ahead of the match before it the point that verifies a ride must lie; 0 asks for nothing, as the
    /// seed does.
    public var verifyStepMeters = 0.0
    /// How far a rider who was found too far back must move on from there to be believed again; nil is
    /// never, as the seed has it.
    public var regressionRecoveryMeters: Double?
    /// Riders who disagree are compared once more without those whose latest match is this much older than
    /// the newest; nil compares them whatever their age, as the seed does.
    public var estimateMaxLagSeconds: Int64?
    /// What is done with the checks of witnesses.
    public var witnessChecks = WitnessMode.enforce

    // MARK: - Fixed

    /// The worst accuracy that is still used.
    public var maxAccuracyMeters = 100.0
    /// How old a point may be when it arrives.
    public var maxPointAgeSeconds: Int64 = 600
    /// How far ahead of our clock a point may be dated.
    public var maxPointLeadSeconds: Int64 = 30
    /// How far back along the shape noise may move a rider.
    public var maxRegressionMeters = 50.0
    /// The gap to the trusted vehicle that is allowed when both were measured at the same second.
    public var corroborationBaseMeters = 150.0
    /// How far beyond the allowance a gap contradicts instead of saying nothing.
    public var contradictionExtraMeters = 500.0
    /// Matched points in a row that verify a ride.
    public var verifyStreak = 3
    /// Accepted points in a row that did not match and reject a ride; at most ``RecentOutcomes/capacity``.
    public var rejectStreak = 5
    /// Contradicted points without an agreement between them that reject a ride.
    public var contradictStreak = 3
    /// Corroborated points that make a ride corroborated for good.
    public var corroboratePoints = 12
    /// How near two riders must be along the shape to agree.
    public var consensusMeters = 100.0
    /// How far from the median a rider may be and still count.
    public var outlierMeters = 100.0
    /// A ride without an accepted point for longer is idle.
    public var idleSeconds: Int64 = 900
    /// The longest ride.
    public var maxRideSeconds: Int64 = 10_800
    /// How far ahead of our clock a trusted entity may be dated.
    public var trustedMaxLeadSeconds: Int64 = 60
    /// The matched time that a corroborated ride needs to earn a point of score.
    public var earningSeconds: Int64 = 300
    /// Points that two riders report at the same seconds before they are in step.
    public var witnessLockstepPoints = 6
    /// How equal two riders' distances from the shape must be to be the same.
    public var witnessResidualMeters = 0.5
    /// A distance from the shape below which it says nothing of the receiver.
    public var witnessResidualFloorMeters = 1.0
    /// Neighbouring points that must be equally far from the shape.
    public var witnessResidualPoints = 6
    /// Places in a row that two riders share before one replays the other.
    public var witnessReplayPoints = 10
    /// How far, in the mean of squares, a ride must leave constant speed to have moved unevenly.
    public var witnessMotionMeters = 10.0
    /// How far it must leave constant speed to have moved unevenly whatever the jumps.
    public var witnessMotionSureMeters = 60.0
    /// The largest share of jumps to and fro in that, by von Neumann's ratio: noise alone has about 2.
    public var witnessMotionJumps = 0.35

    /// The seed's defaults.
    public init() {}
}

/// One row of the reference table of thresholds.
public struct ThresholdEntry: Sendable, Equatable {
    /// The property of ``Thresholds``.
    public let name: String
    /// The default with its unit.
    public let value: String
    /// The environment variable that sets it, or nil where it is fixed.
    public let setting: String?
    /// Where the number comes from.
    public let source: String
}

extension Thresholds {
    /// Every threshold of these limits, in the order of their declaration.
    public var entries: [ThresholdEntry] {
        let maximumSkew = corroborationMaxSkewSeconds.map { "\($0) s" } ?? "off"
        let recovery = regressionRecoveryMeters.map { "\($0) m" } ?? "off"
        let maximumLag = estimateMaxLagSeconds.map { "\($0) s" } ?? "off"
        let settable: [(String, String, String, String)] = [
            (
                "maxShapeDistanceMeters", "\(maxShapeDistanceMeters) m",
                "RIDER_MAX_SHAPE_DISTANCE", "seed 4.1, 4.5 rule 2"
            ),
            (
                "maxSpeedMetersPerSecond", "\(maxSpeedMetersPerSecond) m/s", "RIDER_MAX_SPEED",
                "seed 4.1, 4.5 rule 3"
            ),
            (
                "scheduleEarlySeconds", "\(scheduleEarlySeconds) s", "RIDER_SCHEDULE_EARLY",
                "seed 4.1, 4.5 rule 4"
            ),
            (
                "scheduleLateSeconds", "\(scheduleLateSeconds) s", "RIDER_SCHEDULE_LATE",
                "seed 4.1, 4.5 rule 4"
            ),
            ("pointMaxAgeSeconds", "\(pointMaxAgeSeconds) s", "RIDER_POINT_MAX_AGE", "seed 4.1"),
            (
                "trustedMaxAgeSeconds", "\(trustedMaxAgeSeconds) s", "TRUSTED_FEED_MAX_AGE",
                "seed 4.1"
            ),
            (
                "corroborationMaxSkewSeconds", maximumSkew, "RIDER_CORROBORATION_MAX_SKEW",
                "ours; off keeps the seed's rule"
            ),
            (
                "verifyStepMeters", "\(verifyStepMeters) m", "RIDER_VERIFY_STEP",
                "ours; 0 keeps the seed's rule (decision 0071)"
            ),
            (
                "regressionRecoveryMeters", recovery, "RIDER_REGRESSION_RECOVERY",
                "ours; off keeps the seed's rule (decision 0071)"
            ),
            (
                "estimateMaxLagSeconds", maximumLag, "RIDER_ESTIMATE_MAX_LAG",
                "ours; off keeps the seed's rule (decision 0075)"
            ),
            (
                "witnessChecks", witnessChecks.rawValue, "RIDER_WITNESS_CHECKS",
                "ours (decision 0072)"
            ),
        ]
        let fixed: [(String, String, String)] = [
            ("maxAccuracyMeters", "\(maxAccuracyMeters) m", "seed 4.5 rule 1"),
            ("maxPointAgeSeconds", "\(maxPointAgeSeconds) s", "seed 4.5 rule 1"),
            ("maxPointLeadSeconds", "\(maxPointLeadSeconds) s", "seed 4.5 rule 1"),
            ("maxRegressionMeters", "\(maxRegressionMeters) m", "seed 4.5 rule 3"),
            ("corroborationBaseMeters", "\(corroborationBaseMeters) m", "seed 4.5"),
            ("contradictionExtraMeters", "\(contradictionExtraMeters) m", "seed 4.5"),
            ("verifyStreak", "\(verifyStreak) points", "seed 4.6"),
            ("rejectStreak", "\(rejectStreak) points", "seed 4.6"),
            ("contradictStreak", "\(contradictStreak) points", "seed 4.6"),
            ("corroboratePoints", "\(corroboratePoints) points", "seed 4.6"),
            ("consensusMeters", "\(consensusMeters) m", "seed 4.8"),
            ("outlierMeters", "\(outlierMeters) m", "seed 4.8"),
            ("idleSeconds", "\(idleSeconds) s", "seed 4.2"),
            ("maxRideSeconds", "\(maxRideSeconds) s", "seed 4.2"),
            ("trustedMaxLeadSeconds", "\(trustedMaxLeadSeconds) s", "ours"),
            ("earningSeconds", "\(earningSeconds) s", "seed 4.7"),
            ("witnessLockstepPoints", "\(witnessLockstepPoints) points", "ours (decision 0072)"),
            ("witnessResidualMeters", "\(witnessResidualMeters) m", "ours (decision 0072)"),
            (
                "witnessResidualFloorMeters", "\(witnessResidualFloorMeters) m",
                "ours (decision 0072)"
            ),
            ("witnessResidualPoints", "\(witnessResidualPoints) points", "ours (decision 0072)"),
            ("witnessReplayPoints", "\(witnessReplayPoints) points", "ours (decision 0072)"),
            ("witnessMotionMeters", "\(witnessMotionMeters) m", "ours (decision 0072)"),
            ("witnessMotionSureMeters", "\(witnessMotionSureMeters) m", "ours (decision 0072)"),
            ("witnessMotionJumps", "\(witnessMotionJumps)", "ours (decision 0072)"),
        ]
        return settable.map {
            ThresholdEntry(name: $0.0, value: $0.1, setting: $0.2, source: $0.3)
        }
            + fixed.map {
                ThresholdEntry(name: $0.0, value: $0.1, setting: nil, source: $0.2)
            }
    }
}
