/// Decides which instances count as living from the age of their heartbeats.
///
/// While the database is away nobody's heartbeat is written. Whoever asks first when it is back
/// would take everyone for dead, so those known before get the usual time once more.
struct InstanceLiveness {
    typealias Heartbeat = (record: InstanceRecord, silenceSeconds: Double)

    /// No answer for this long was an outage: half of what an instance may be silent.
    static let outage = UInt64(PostgresDirectory.silenceSeconds / 2 * 1e9)
    /// How long the instances known before an outage are kept after it.
    static let grace = UInt64(PostgresDirectory.silenceSeconds * 1e9)

    private var lastAnswer: UInt64?
    private var graceEnd: UInt64 = 0
    private var known: Set<InstanceRecord> = []

    /// Judges one answer of the database.
    ///
    /// - Parameters:
    ///   - heartbeats: All rows; one that is gone was withdrawn.
    ///   - now: Monotonic nanoseconds.
    /// - Returns: The living ones, in the same order.
    mutating func living(_ heartbeats: [Heartbeat], now: UInt64) -> [InstanceRecord] {
        if let lastAnswer, now - lastAnswer > Self.outage { graceEnd = now + Self.grace }
        lastAnswer = now
        let living = heartbeats.filter { record, silence in
            silence < PostgresDirectory.silenceSeconds || (now < graceEnd && known.contains(record))
        }
        .map(\.record)
        known = Set(living)
        return living
    }
}
