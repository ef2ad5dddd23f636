internal import Foundation

/// Positions waiting for their upload, oldest first.
struct SampleBuffer: Sendable {
    /// Older positions are useless to the server, which refuses them by age.
    static let retentionSeconds: Int64 = 600
    /// Two fixes a second for the whole retention; beyond that the oldest go first.
    static let limit = 1200

    private(set) var positions: [RiderPosition] = []

    var count: Int { positions.count }
    var isEmpty: Bool { positions.isEmpty }

    mutating func append(_ position: RiderPosition, now: Date) {
        positions.append(position)
        prune(now)
    }

    /// The oldest positions, at most as many as asked for.
    mutating func take(_ limit: Int) -> [RiderPosition] {
        let batch = Array(positions.prefix(limit))
        positions.removeFirst(batch.count)
        return batch
    }

    /// Puts a batch back where it came from.
    mutating func restore(_ batch: [RiderPosition], now: Date) {
        positions.insert(contentsOf: batch, at: 0)
        prune(now)
    }

    private mutating func prune(_ now: Date) {
        let oldest = Int64(now.timeIntervalSince1970) - Self.retentionSeconds
        let expired = positions.prefix { $0.timestamp < oldest }.count
        positions.removeFirst(max(expired, positions.count - Self.limit))
    }
}
