/// How long to wait before the relay is tried again (spec 4.5, decisions 15 and 30).
///
/// 1 s after a connection that had worked, then 2, 4, 8, 16 and 30 s, each times a factor from 0.5
/// to 1 drawn anew: a restarted server does not see everyone come back at once.
public struct ReconnectBackoff: Sendable {
    /// No wait is longer.
    static let longestSeconds = 30.0
    /// Beyond this many failures the wait grows no more.
    static let doublings = 5

    private let random: @Sendable () -> Double
    private var failures = 0

    /// Makes a back-off.
    ///
    /// - Parameter random: Draws a number from 0 to 1.
    public init(random: @escaping @Sendable () -> Double = { Double.random(in: 0...1) }) {
        self.random = random
    }

    /// Takes note of an attempt that ended.
    ///
    /// - Parameter hadJoined: Whether it had worked.
    /// - Returns: How long to wait now.
    public mutating func delay(hadJoined: Bool) -> Duration {
        failures = hadJoined ? 0 : min(failures + 1, Self.doublings)
        let base = min(Double(1 << failures), Self.longestSeconds)
        return .seconds(base * (0.5 + random() / 2))
    }
}
