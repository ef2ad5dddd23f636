internal import ServiceKit
internal import Verification

/// The verifier's own settings (spec 1.13).
enum VerifierSettings {
    private static let shapeDistance = Setting.number(
        "RIDER_MAX_SHAPE_DISTANCE",
        default: 60,
        in: 1...10_000,
        "Metres from the shape, beside the reported accuracy, within which a point matches."
    ).lenient
    private static let speed = Setting.number(
        "RIDER_MAX_SPEED",
        default: 35,
        in: 0.1...1000,
        "Metres per second along the shape above which a point is implausible."
    ).lenient
    private static let early = Setting.duration(
        "RIDER_SCHEDULE_EARLY",
        default: .seconds(900),
        in: .seconds(-86_400)...(.seconds(86_400)),
        "How far ahead of the schedule a point may be; zero and less are taken literally."
    ).lenient
    private static let late = Setting.duration(
        "RIDER_SCHEDULE_LATE",
        default: .seconds(5400),
        in: .seconds(-86_400)...(.seconds(86_400)),
        "How far behind the schedule a point may be; zero and less are taken literally."
    ).lenient
    private static let pointAge = Setting.duration(
        "RIDER_POINT_MAX_AGE",
        default: .seconds(90),
        in: .seconds(1)...(.seconds(3600)),
        "How old a ride's latest matched point may be for the ride to be published."
    ).lenient
    private static let trustedAge = Setting.duration(
        "TRUSTED_FEED_MAX_AGE",
        default: .seconds(300),
        in: .seconds(1)...(.seconds(3600)),
        "How old a trusted vehicle may be to be compared with."
    ).lenient
    private static let skew = Setting.duration(
        "RIDER_CORROBORATION_MAX_SKEW",
        default: .zero,
        in: .zero...(.seconds(3600)),
        "Time between a point and a trusted vehicle beyond which they are not compared; 0 is off."
    )
    private static let verifyStep = Setting.number(
        "RIDER_VERIFY_STEP",
        default: 0,
        in: 0...1000,
        "Metres that the point which verifies a ride must lie ahead of the one before; 0 asks for none."
    )
    private static let recovery = Setting.number(
        "RIDER_REGRESSION_RECOVERY",
        default: 0,
        in: 0...10_000,
        "Metres that a rider found too far back must move on to be believed again; 0 is never."
    )
    private static let lag = Setting.duration(
        "RIDER_ESTIMATE_MAX_LAG",
        default: .zero,
        in: .zero...(.seconds(3600)),
        "Lag behind the newest match with which a rider who disagrees is left out; 0 is off."
    )
    private static let witnesses = Setting.choice(
        "RIDER_WITNESS_CHECKS",
        default: WitnessMode.enforce,
        "Whether riders who look like one script count as one witness: off, count or enforce."
    )

    /// Whether there is anything to verify (spec 1.13; on by default here).
    static let riderMode = Setting.flag(
        "RIDER_MODE_ENABLED",
        default: true,
        "Whether riders may report; off leaves the verifier idle: it takes no slots."
    ).lenient
    private static let pointRetention = Setting.duration(
        "RIDER_POINT_RETENTION",
        default: .seconds(168 * 3600),
        in: .seconds(3600)...(.seconds(10 * 8760 * 3600)),
        "How long a stored point is kept after it arrived; older ones are removed each hour."
    ).lenient

    /// How long a stored point is kept.
    static func pointRetentionSeconds(_ settings: Settings) -> Int64 {
        settings[pointRetention].components.seconds
    }

    static var declarations: [SettingDeclaration] {
        [
            riderMode.declaration, pointRetention.declaration,
            shapeDistance.declaration, speed.declaration, early.declaration, late.declaration,
            pointAge.declaration, trustedAge.declaration, skew.declaration,
            verifyStep.declaration, recovery.declaration, lag.declaration, witnesses.declaration,
        ]
    }

    static func thresholds(_ settings: Settings) -> Thresholds {
        var thresholds = Thresholds()
        thresholds.maxShapeDistanceMeters = settings[shapeDistance]
        thresholds.maxSpeedMetersPerSecond = settings[speed]
        thresholds.scheduleEarlySeconds = settings[early].components.seconds
        thresholds.scheduleLateSeconds = settings[late].components.seconds
        thresholds.pointMaxAgeSeconds = settings[pointAge].components.seconds
        thresholds.trustedMaxAgeSeconds = settings[trustedAge].components.seconds
        let maxSkew = settings[skew].components.seconds
        thresholds.corroborationMaxSkewSeconds = maxSkew > 0 ? maxSkew : nil
        thresholds.verifyStepMeters = settings[verifyStep]
        let recovery = settings[recovery]
        thresholds.regressionRecoveryMeters = recovery > 0 ? recovery : nil
        let maxLag = settings[lag].components.seconds
        thresholds.estimateMaxLagSeconds = maxLag > 0 ? maxLag : nil
        thresholds.witnessChecks = settings[witnesses]
        return thresholds
    }
}
