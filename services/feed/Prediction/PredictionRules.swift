/// The numbers of arrival prediction.
///
/// Tuned with `bench predictions --tune` on half of the recorded buses; what they reach on the other half
/// stands in `docs/performance.md`.
public struct PredictionRules: Sendable {
    /// Seconds after which what was learned of a stretch counts half.
    public var halfLifeSeconds = 7200.0
    /// Seconds after which what was learned of a stretch hardly counts: 6 % of it is left.
    public var memorySeconds: Int64 { Int64(halfLifeSeconds * 4) }
    /// How many passages the schedule itself counts for against those that were seen.
    public var scheduleWeight = 0.5
    /// The share of the learned deviation that is expected to come again.
    public var learnedShare = 1.0
    /// Seconds of planned travel over which a deviation shrinks to 37 % where nothing was learned: who is
    /// late makes up for it, who is early takes it slower.
    public var recoverySeconds = 7200.0
    /// Seconds that a single passage may differ from the schedule and be believed in full.
    public var largestDeviation = 300.0
    /// Metres behind the first stop up to which a vehicle has not set off.
    public var departureMetres = 30.0
    /// Metres off the shape beyond which a position says nothing.
    public var largestDistance = 200.0
    /// Seconds between two positions beyond which nobody knows when the stops between were passed.
    public var largestGap: Int64 = 150
    /// Metres that a position may lie behind the last one without being a new beginning.
    public var regressionMetres = 50.0
    /// The expected error in seconds of what is about to happen.
    public var baseUncertainty = 30.0
    /// The growth of the expected error for each second ahead.
    public var uncertaintyAhead = 0.12
    /// The growth of the expected error for each second of the position's age.
    public var uncertaintyOfAge = 0.5

    /// The numbers as tuned.
    public init() {}
}
