internal import Foundation

/// Decides when a batch goes out and what its answer means; one upload is in flight at a time.
struct UploadSchedule: Sendable {
    /// What the ride does after an answer.
    enum Step: Equatable, Sendable {
        case proceed
        case progress(PositionsAnswer)
        case warn(RideWarning)
        /// The server's word: nothing more is sent.
        case endedByServer(RideEndReason)
        /// As ``endedByServer``, and the token is worthless.
        case unauthorized
        case giveUp
    }

    /// The server may slow uploads down, not stop them.
    static let intervalRangeSeconds = 1...60
    /// A larger batch would outgrow what a server reads, 64 KiB.
    static let batchSizeRange = 1...500
    /// Waits after one, two, … failures in a row; the last one repeats.
    static let backoffSeconds = [1, 2, 4, 8, 16, 30]
    /// A final flush outruns its ten seconds with more batches than this.
    static let finalBatches = 2

    let batchSize: Int
    let failureTimeout: Duration
    let honorsRetryAfter: Bool

    private(set) var buffer = SampleBuffer()
    private(set) var intervalSeconds: Int
    /// Seconds between positions once the interval is longer than the first; 0 takes all.
    private var spacing = 0.0
    let firstIntervalSeconds: Int
    private var latest: Int64?
    private var inFlight: [RiderPosition]?
    private var failures = 0
    private var firstFailureAt: Date?
    private var throttledFor: Duration?
    private var askedToWait = Duration.zero

    init(
        intervalSeconds: Int,
        batchSize: Int,
        failureTimeout: Duration,
        honorsRetryAfter: Bool = false
    ) {
        self.batchSize = Self.clamp(batchSize, to: Self.batchSizeRange)
        self.failureTimeout = failureTimeout
        self.honorsRetryAfter = honorsRetryAfter
        firstIntervalSeconds = Self.clamp(intervalSeconds, to: Self.intervalRangeSeconds)
        self.intervalSeconds = firstIntervalSeconds
    }

    /// What the server has not acknowledged, oldest first.
    var unacknowledged: [RiderPosition] { (inFlight ?? []) + buffer.positions }

    /// How long to wait until the next periodic flush.
    var nextTick: Duration {
        if failures > 0 {
            let backoff = Self.backoffSeconds[min(failures, Self.backoffSeconds.count) - 1]
            return max(.seconds(backoff), askedToWait)
        }
        return max(.seconds(intervalSeconds), throttledFor ?? .zero)
    }

    /// Goes on with the interval that the server names during the ride.
    mutating func follow(_ seconds: Int) {
        intervalSeconds = Self.clamp(seconds, to: Self.intervalRangeSeconds)
        spacing =
            intervalSeconds > firstIntervalSeconds
            ? Double(intervalSeconds) / Double(firstIntervalSeconds) : 0
    }

    /// Takes in a position.
    ///
    /// A server that lengthens the interval wants less: with three times the interval every third
    /// second counts, so that a report is as large as before. The position that ends the ride counts
    /// always.
    mutating func append(_ position: RiderPosition, now: Date, isLast: Bool = false) {
        // As numbers that cannot overflow: a journal may hold any time.
        if let latest, !isLast,
            (0..<spacing).contains(Double(position.timestamp) - Double(latest))
        {
            return
        }
        latest = position.timestamp
        buffer.append(position, now: now)
    }

    /// The batch of a periodic flush; nil while another is in flight or when there is nothing to send.
    mutating func takeOnTick() -> [RiderPosition]? {
        guard inFlight == nil, !buffer.isEmpty else { return nil }
        inFlight = buffer.take(batchSize)
        return inFlight
    }

    /// The batch that goes out at once because it is full; never while the server has trouble.
    mutating func takeIfFull() -> [RiderPosition]? {
        guard buffer.count >= batchSize, failures == 0, throttledFor == nil else { return nil }
        return takeOnTick()
    }

    /// Whether uploads have failed for so long that the ride is lost.
    func hasFailedTooLong(at now: Date) -> Bool {
        guard let firstFailureAt else { return false }
        return now.timeIntervalSince(firstFailureAt) >= failureTimeout.seconds
    }

    mutating func finish(_ outcome: UploadOutcome, now: Date) -> Step {
        let batch = inFlight ?? []
        inFlight = nil
        switch outcome {
        case .accepted(var answer):
            settle()
            if let seconds = answer.reportIntervalSeconds { follow(seconds) }
            // Counts are added up: a server's nonsense must not overflow.
            answer.accepted = Self.clamp(answer.accepted, to: 0...batch.count)
            return .progress(answer)
        case .rejected(let status):
            settle()
            return .warn(.batchRejected(status: status))
        case .gone(let reason):
            return .endedByServer(reason)
        case .unauthorized:
            return .unauthorized
        case .throttled(let retryAfter):
            buffer.restore(batch, now: now)
            failures = 0
            firstFailureAt = nil
            throttledFor = wait(retryAfter)
            return .proceed
        case .cancelled:
            buffer.restore(batch, now: now)
            return .proceed
        case .failed(let retryAfter):
            buffer.restore(batch, now: now)
            failures += 1
            // A clock that was set back would put the end off for as long.
            firstFailureAt = min(firstFailureAt ?? now, now)
            askedToWait = wait(retryAfter)
            return hasFailedTooLong(at: now) ? .giveUp : .warn(.uploadRetrying(attempt: failures))
        }
    }

    /// The batches of the final flush, the one in flight first.
    mutating func drain(now: Date) -> [[RiderPosition]] {
        if let batch = inFlight { buffer.restore(batch, now: now) }
        inFlight = nil
        var batches: [[RiderPosition]] = []
        while batches.count < Self.finalBatches, !buffer.isEmpty {
            batches.append(buffer.take(batchSize))
        }
        return batches
    }

    private mutating func settle() {
        failures = 0
        firstFailureAt = nil
        throttledFor = nil
    }

    /// How long to wait because the server said so.
    private func wait(_ retryAfter: Duration?) -> Duration {
        let longest = Duration.seconds(Self.intervalRangeSeconds.upperBound)
        return honorsRetryAfter ? min(retryAfter ?? .zero, longest) : .zero
    }

    private static func clamp(_ value: Int, to range: ClosedRange<Int>) -> Int {
        min(max(value, range.lowerBound), range.upperBound)
    }
}
