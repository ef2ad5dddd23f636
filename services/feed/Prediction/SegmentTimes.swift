internal import Glibc
public import Transit

/// How much longer than planned vehicles took between two stops lately.
///
/// Each stretch keeps a mean that forgets: a passage counts half after
/// ``PredictionRules/halfLifeSeconds``. The schedule counts as some passages without deviation, so that one
/// odd bus does not move the others' predictions much.
public struct SegmentTimes: Sendable {
    /// A stretch between two stops that follow each other.
    public struct Segment: Hashable, Sendable {
        /// The stop at its beginning.
        public let from: StopID
        /// The stop at its end.
        public let to: StopID

        /// Names a stretch.
        public init(from: StopID, to: StopID) {
            self.from = from
            self.to = to
        }
    }

    private struct Mean {
        var weight = 0.0
        var sum = 0.0
        var at: UnixSeconds = 0

        /// How much of the past still counts.
        func kept(at now: UnixSeconds, halfLife: Double) -> Double {
            now > at ? exp2(-Double(now - at) / halfLife) : 1
        }
    }

    /// Stretches that are remembered at most: a large city has some 20,000.
    private static let limit = 200_000

    /// What was learned of a stretch, so that another process can go on with it.
    public struct Learned: Sendable, Equatable {
        /// The stretch.
        public let segment: Segment
        /// How many passages it counts for, as of ``seenAt``.
        public let weight: Double
        /// The sum of their deviations in seconds, weighted alike.
        public let sum: Double
        /// When the last passage ended.
        public let seenAt: UnixSeconds

        /// Puts together what was stored.
        public init(segment: Segment, weight: Double, sum: Double, seenAt: UnixSeconds) {
            self.segment = segment
            self.weight = weight
            self.sum = sum
            self.seenAt = seenAt
        }
    }

    private let rules: PredictionRules
    private var means: [Segment: Mean] = [:]
    private var changed: Set<Segment> = []

    /// Knows nothing yet.
    public init(rules: PredictionRules) { self.rules = rules }

    /// Learns from one passage.
    ///
    /// - Parameters:
    ///   - deviation: Seconds longer than planned, negative for shorter.
    ///   - segment: The stretch.
    ///   - time: When the vehicle reached its end.
    public mutating func learn(
        _ deviation: Double,
        on segment: Segment,
        at time: UnixSeconds
    ) {
        guard deviation.isFinite else { return }
        if means[segment] == nil, means.count >= Self.limit { forget(at: time) }
        let deviation = min(max(deviation, -rules.largestDeviation), rules.largestDeviation)
        var mean = means[segment] ?? Mean()
        let kept = mean.kept(at: time, halfLife: rules.halfLifeSeconds)
        mean.weight = mean.weight * kept + 1
        mean.sum = mean.sum * kept + deviation
        mean.at = max(mean.at, time)
        means[segment] = mean
        changed.insert(segment)
    }

    /// What was learned since the last call.
    public mutating func takeChanges() -> [Learned] {
        defer { changed = [] }
        return changed.compactMap { segment in
            means[segment].map {
                Learned(segment: segment, weight: $0.weight, sum: $0.sum, seenAt: $0.at)
            }
        }
    }

    /// Goes on with what another learned; of two that know a stretch, who saw it later counts.
    public mutating func adopt(_ learned: [Learned]) {
        for other in learned where other.weight.isFinite && other.sum.isFinite {
            guard means[other.segment].map({ $0.at < other.seenAt }) ?? true,
                means[other.segment] != nil || means.count < Self.limit
            else { continue }
            means[other.segment] = Mean(weight: other.weight, sum: other.sum, at: other.seenAt)
        }
    }

    /// What to expect on a stretch.
    ///
    /// - Returns: The deviation in seconds, and how much of it was seen: 0 for nothing, towards 1 for much.
    public func expectation(
        on segment: Segment,
        at now: UnixSeconds
    ) -> (deviation: Double, known: Double) {
        guard let mean = means[segment] else { return (0, 0) }
        let kept = mean.kept(at: now, halfLife: rules.halfLifeSeconds)
        let weight = mean.weight * kept + rules.scheduleWeight
        guard weight > 0 else { return (0, 0) }
        return (
            rules.learnedShare * mean.sum * kept / weight,
            rules.learnedShare * mean.weight * kept / weight
        )
    }

    /// Drops what hardly counts any more; when that is nothing, everything.
    private mutating func forget(at now: UnixSeconds) {
        means = means.filter { now - $0.value.at < rules.memorySeconds }
        if means.count >= Self.limit { means = [:] }
        changed = changed.filter { means[$0] != nil }
    }
}
