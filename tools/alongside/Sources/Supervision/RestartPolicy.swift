/// When a part that ended is started again: at once after a long life, later after short ones.
///
/// Times are monotonic seconds and are handed in.
struct RestartPolicy: Sendable, Equatable {
    /// Seconds before the first restart after a short life.
    static let firstDelay = 0.1
    /// The longest wait, so that a part that cannot start costs little and still comes back.
    static let longestDelay = 5.0
    /// A life of this many seconds forgets earlier failures.
    static let healthyLife = 10.0

    private(set) var shortLives = 0
    private var startedAt = 0.0

    /// Notes a start.
    mutating func started(at now: Double) { startedAt = now }

    /// Notes an end.
    ///
    /// - Returns: The monotonic second of the next start.
    mutating func ended(at now: Double) -> Double {
        if now - startedAt >= Self.healthyLife { shortLives = 0 }
        let delay = min(Self.longestDelay, Self.firstDelay * Double(1 << min(shortLives, 6)))
        shortLives += 1
        return now + delay
    }
}
