/// What the rules say about one point.
public enum Outcome: String, Sendable, CaseIterable {
    /// Not counted and not stored.
    case ignored
    /// Too far from the trip's shape.
    case offRoute = "off_route"
    /// The rider would have moved backwards or too fast.
    case implausible
    /// Outside the window around the schedule.
    case offSchedule = "off_schedule"
    /// Where and when the trip could be.
    case matched
}

/// What a trusted vehicle on the same trip says about a matched point.
public enum Corroboration: String, Sendable, CaseIterable {
    /// No trusted vehicle to compare with, or the point did not match.
    case unavailable
    /// Too far apart to agree, too near to contradict.
    case none
    /// The trusted vehicle is where the rider is.
    case corroborated
    /// The trusted vehicle is elsewhere.
    case contradicted
}

/// The answer of the rules for one point, with what was measured against which limit.
public struct Verdict: Sendable, Equatable {
    /// What the point counts as.
    public var outcome: Outcome
    /// Always `unavailable` unless the point matched.
    public var corroboration: Corroboration = .unavailable
    /// The first check that the point failed, or nil when it matched.
    public var check: CheckID?
    /// What `check` measured, in its unit; 0 when the point matched.
    public var measured = 0.0
    /// The limit that `check` measured against, in its unit; 0 when the point matched.
    public var limit = 0.0
    /// Metres along the shape, or nil when the point was ignored.
    public var alongShape: Double?
    /// Metres from the shape, or nil when the point was ignored.
    public var distanceToShape: Double?
    /// Seconds behind the schedule (early is negative), for matched and off-schedule points only.
    public var scheduleDeviation: Double?
    /// Metres along the shape between the rider and the trusted vehicle, where they were compared.
    public var corroborationGap: Double?
    /// Metres that the gap was allowed to be, where they were compared.
    public var corroborationAllowance: Double?

    /// The verdict on a point that is not counted.
    static func ignored(_ check: CheckID, measured: Double, limit: Double) -> Verdict {
        Verdict(outcome: .ignored, check: check, measured: measured, limit: limit)
    }

    /// The deviation in whole seconds as it is stored, or nil where it is not.
    public var scheduleDeviationSeconds: Int? {
        scheduleDeviation.flatMap { Int(exactly: $0.rounded()) }
    }
}
