internal import Synchronization
internal import Telemetry
internal import Transit
internal import Web

/// How many requests one address (of IPv6 one network) and one account may send (spec 1.0); counted by each process.
///
/// A caller beyond either limit is refused at once and told when to come again. Time is monotonic.
final class RequestLimits: Sendable {
    /// A token bucket's size and how fast it fills.
    struct Rate: Sendable {
        /// Requests at once.
        let burst: Double
        /// Requests in a second, after that.
        let perSecond: Double

        /// One address: 400, then 150 in 10 s.
        static let address = Rate(burst: 400, perSecond: 15)
        /// One account: 600, then 200 in 10 s.
        static let account = Rate(burst: 600, perSecond: 20)
    }

    /// Callers whose buckets are kept; beyond it, and when none of them is full again, new ones are
    /// refused: it fails closed.
    static let callerLimit = 100_000

    private struct Buckets<Key: Hashable & Sendable>: Sendable {
        let rate: Rate
        var levels: [Key: (tokens: Double, at: Double)] = [:]

        /// Takes a token.
        ///
        /// - Returns: Seconds until there is one, or nil when one was taken.
        mutating func take(_ key: Key, at now: Double) -> Int? {
            guard var level = levels[key] else {
                guard makeRoom(at: now) else { return 1 }
                levels[key] = (rate.burst - 1, now)
                return nil
            }
            level.tokens = tokens(level, at: now)
            level.at = now
            let isRefused = level.tokens < 1
            if !isRefused { level.tokens -= 1 }
            levels[key] = level
            return isRefused ? max(1, Int(((1 - level.tokens) / rate.perSecond).rounded(.up))) : nil
        }

        private func tokens(_ level: (tokens: Double, at: Double), at now: Double) -> Double {
            min(rate.burst, level.tokens + max(0, now - level.at) * rate.perSecond)
        }

        /// Forgets full buckets when there are too many.
        private mutating func makeRoom(at now: Double) -> Bool {
            guard levels.count >= callerLimit else { return true }
            levels = levels.filter { tokens($0.value, at: now) < rate.burst }
            return levels.count < callerLimit
        }
    }

    private let addresses: Mutex<Buckets<String>>
    private let accounts: Mutex<Buckets<UniqueID>>
    private let uptime: @Sendable () -> Double

    /// Makes limits.
    ///
    /// - Parameters:
    ///   - address: What one address may send.
    ///   - account: What one account may send.
    ///   - uptime: Monotonic seconds.
    init(
        address: Rate = .address,
        account: Rate = .account,
        uptime: @escaping @Sendable () -> Double = {
            Double(Timestamps.monotonicNanoseconds()) / 1e9
        }
    ) {
        addresses = Mutex(Buckets(rate: address))
        accounts = Mutex(Buckets(rate: account))
        self.uptime = uptime
    }

    /// Counts a request.
    ///
    /// - Parameters:
    ///   - account: Who calls.
    ///   - address: From where; the addresses of one IPv6 network count as one.
    /// - Throws: 429 with `Retry-After` for a caller beyond a limit.
    func admit(_ account: UniqueID, from address: String) throws(HTTPError) {
        let now = uptime()
        let wait =
            addresses.withLock { $0.take(address.callerNetwork, at: now) }
            ?? accounts.withLock { $0.take(account, at: now) }
        if let wait { throw .tooManyRequests(retryAfter: wait) }
    }
}
