/// The check that decided a point, as a row keeps it.
public struct StoredMeasure: Sendable, Equatable {
    /// The check.
    public var check: CheckID
    /// What it measured, in its unit.
    public var measured: Double
    /// The limit that it measured against, in the same unit.
    public var limit: Double

    /// Makes a measure.
    public init(check: CheckID, measured: Double, limit: Double) {
        self.check = check
        self.measured = measured
        self.limit = limit
    }
}

extension Verdict {
    /// What to store beside the outcome so that the verdict can be explained later: the failed check, or
    /// for a matched point the comparison with the trusted vehicle, if there was one.
    public var storedMeasure: StoredMeasure? {
        if let check { return StoredMeasure(check: check, measured: measured, limit: limit) }
        guard let gap = corroborationGap, let allowance = corroborationAllowance else { return nil }
        return StoredMeasure(check: .contradiction, measured: gap, limit: allowance)
    }

    /// Reads a verdict back, complete enough for ``explanation`` and ``unit``.
    ///
    /// - Parameters:
    ///   - outcome: As stored.
    ///   - corroboration: As stored.
    ///   - measure: As ``storedMeasure`` gave it.
    public init(outcome: Outcome, corroboration: Corroboration, measure: StoredMeasure?) {
        self.init(outcome: outcome, corroboration: corroboration)
        guard let measure else { return }
        if outcome == .matched, measure.check == .contradiction {
            corroborationGap = measure.measured
            corroborationAllowance = measure.limit
        } else {
            check = measure.check
            measured = measure.measured
            limit = measure.limit
        }
    }
}
