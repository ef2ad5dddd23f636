/// How many frames a rider's socket may still send: a bucket of tokens, full at first (spec 2.2).
struct FrameBudget {
    private var tokens = RelayLimits.budgetBurst
    private var filledAt: UInt64

    /// - Parameter now: Monotonic nanoseconds.
    init(at now: UInt64) { filledAt = now }

    /// Takes a token.
    ///
    /// - Parameter now: Monotonic nanoseconds.
    /// - Returns: false when there is none; the frame is then dropped.
    mutating func take(at now: UInt64) -> Bool {
        let elapsed = Double(now - min(now, filledAt)) / 1e9
        tokens = min(RelayLimits.budgetBurst, tokens + elapsed * RelayLimits.budgetPerSecond)
        filledAt = max(now, filledAt)
        guard tokens >= 1 else { return false }
        tokens -= 1
        return true
    }

    /// Whether it is full again, so that a new one is the same.
    func isFull(at now: UInt64) -> Bool {
        let elapsed = Double(now - min(now, filledAt)) / 1e9
        return tokens + elapsed * RelayLimits.budgetPerSecond >= RelayLimits.budgetBurst
    }
}
