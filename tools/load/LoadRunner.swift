internal import Dispatch
internal import Glibc
internal import Synchronization
internal import Telemetry
internal import Transit

/// What a run of the generator saw.
public struct LoadResult: Sendable {
    /// One batch that was acknowledged.
    public struct Acknowledgement: Sendable {
        /// When it was sent first, in monotonic seconds.
        public let sentAt: Double
        /// Seconds from the first sending to the acknowledgement.
        public let seconds: Double
    }

    /// The batches in the order of their acknowledgements.
    public var acknowledgements: [Acknowledgement] = []
    /// Acknowledged points.
    public var points = 0
    /// Answers that were no acknowledgement, by status; 0 is no answer at all.
    public var others: [Int: Int] = [:]
    /// What such an answer said, the first of each status.
    public var samples: [Int: String] = [:]
    /// Requests that had no answer yet when the run was given up.
    public var unanswered = 0
    /// How long the run took, in seconds.
    public var duration = 0.0

    /// The batch latency at a share of all, in seconds.
    public func latency(_ share: Double) -> Double {
        let sorted = acknowledgements.map(\.seconds).sorted()
        guard !sorted.isEmpty else { return .nan }
        return sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
    }
}

/// Drives many simulated phones over many connections from one thread.
public final class LoadRunner: @unchecked Sendable {
    // Sendable: whatever runs holds `running`; riders are read between runs.

    /// How a rider reports.
    public enum Pace: Sendable {
        /// Each rider reports what it measured since the last report, this many seconds apart.
        case live(secondsBetweenReports: Double)
        /// Each rider reports twelve points of the past, as often as its allowance lets it.
        case backlog(secondsBetweenReports: Double)

        /// Seconds that the service's allowance asks for between two reports (spec 2.4).
        static let allowance = 2.0

        var interval: Double {
            switch self {
            case .live(let seconds), .backlog(let seconds): seconds
            }
        }

        /// When a rider reports next.
        ///
        /// The service counts from when it judges a report, which is after it was sent: whoever reports
        /// as often as it may waits from the answer on.
        func next(after sent: Double, answeredAt now: Double) -> Double {
            switch self {
            case .live: max(sent + interval, now)
            case .backlog: max(sent + interval, now + Self.allowance)
            }
        }
    }

    /// The riders with what was acknowledged to them.
    public private(set) var riders: [LoadRider]

    private let schedule: LoadSchedule
    private var connections: [LoadConnection]
    /// The rider whose request a connection carries.
    private var carries: [Int?]
    /// When a rider's allowance lets it report again, also in the next run.
    private var allowedAt: [Double]
    private var queue = DueQueue()
    private let isStopped = Atomic<Bool>(false)

    /// Makes a runner.
    ///
    /// - Parameters:
    ///   - riders: The phones.
    ///   - schedule: What their trips run on.
    ///   - host: The numeric address of rider-ingest or of a gateway before it.
    ///   - port: Where it listens there.
    ///   - connections: Requests that may be under way at once.
    public init(
        riders: [LoadRider],
        schedule: LoadSchedule,
        host: String = "127.0.0.1",
        port: Int,
        connections: Int
    ) {
        self.riders = riders
        self.schedule = schedule
        self.connections = Array(
            repeating: LoadConnection(host: host, port: port),
            count: connections
        )
        carries = Array(repeating: nil, count: connections)
        allowedAt = Array(repeating: 0, count: riders.count)
    }

    /// Seconds of the clock in which results are given.
    public static var now: Double { Double(Timestamps.monotonicNanoseconds()) / 1e9 }

    /// Lets the riders ride for some time, then waits for all answers that are under way.
    ///
    /// - Parameters:
    ///   - pace: How they report.
    ///   - seconds: How long new batches are begun.
    ///   - drain: How long to wait for the last ones.
    /// - Returns: What was seen.
    public func run(_ pace: Pace, for seconds: Double, drain: Double = 20) async -> LoadResult {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "load").async {
                continuation.resume(returning: self.drive(pace, seconds, drain))
            }
        }
    }

    /// Ends a run under way as if its time were over.
    public func stop() { isStopped.store(true, ordering: .relaxed) }

    // MARK: - On the thread

    private func drive(_ pace: Pace, _ seconds: Double, _ drain: Double) -> LoadResult {
        var result = LoadResult()
        let start = Self.now
        var end = start + seconds
        let interval = pace.interval
        queue = DueQueue()
        for index in riders.indices {
            // Evenly over the first interval.
            let due = start + interval * Double(index) / Double(riders.count)
            queue.add(index, at: max(due, allowedAt[index]))
        }
        var free = Array(connections.indices)
        var busy = 0
        while true {
            let now = Self.now
            if isStopped.load(ordering: .relaxed) { end = min(end, now) }
            let isOver = now >= end
            if isOver, busy == 0, !hasUnacknowledged { break }
            if now >= end + drain { break }
            while let connection = free.last, let rider = queue.next(at: now) {
                guard let request = request(of: rider, pace, isOver: isOver, now: now) else {
                    if !isOver { queue.add(rider, at: now + 0.25) }
                    continue
                }
                free.removeLast()
                busy += 1
                carries[connection] = rider
                connections[connection].send(request)
            }
            // Who is due waits for a free connection, and that for an answer.
            let due = free.isEmpty ? .infinity : queue.nextTime ?? .infinity
            for connection in wait(until: min(due, now + 0.02), now) {
                guard let outcome = connections[connection].advance(),
                    let rider = carries[connection]
                else { continue }
                carries[connection] = nil
                free.append(connection)
                busy -= 1
                settle(rider, outcome, pace, &result)
            }
        }
        result.duration = Self.now - start
        result.unanswered = busy
        for index in connections.indices {
            connections[index].close()
            carries[index] = nil
        }
        return result
    }

    private var hasUnacknowledged: Bool { riders.contains { $0.batch != nil } }

    /// What a rider sends now; nil when there is nothing yet.
    private func request(
        of index: Int,
        _ pace: Pace,
        isOver: Bool,
        now: Double
    ) -> [UInt8]? {
        if riders[index].ride == nil {
            guard !isOver else { return nil }
            riders[index].firstSent = now
            return riders[index].start(on: schedule)
        }
        if riders[index].batch == nil {
            guard !isOver, let batch = batch(of: riders[index], pace) else { return nil }
            riders[index].batch = batch
            riders[index].firstSent = now
        }
        return riders[index].report(on: schedule)
    }

    private func batch(of rider: LoadRider, _ pace: Pace) -> ClosedRange<UnixSeconds>? {
        let clock = Timestamps.nowMilliseconds() / 1000
        switch pace {
        case .live:
            guard rider.next <= clock else { return nil }
            return rider.next...min(clock, rider.next + 11)
        case .backlog:
            // No further ahead of our clock than a point may be.
            guard rider.next + 11 <= clock + 25 else { return nil }
            return rider.next...(rider.next + 11)
        }
    }

    private func settle(
        _ index: Int,
        _ outcome: LoadConnection.Outcome,
        _ pace: Pace,
        _ result: inout LoadResult
    ) {
        let now = Self.now
        let sent = riders[index].firstSent
        switch outcome {
        case .answered(201, let body) where riders[index].ride == nil:
            riders[index].ride = LoadAnswer.rideID(in: body)
            queue.add(index, at: sent + pace.interval)
        case .answered(200, let body) where riders[index].batch != nil:
            guard let batch = riders[index].batch, LoadAnswer.accepted(in: body) == batch.count
            else {
                // Not what it should have said: a run that sees this has failed.
                note(-1, body, &result)
                riders[index].batch = nil
                return
            }
            riders[index].acknowledged += Array(batch)
            riders[index].next = batch.upperBound + 1
            riders[index].batch = nil
            result.points += batch.count
            result.acknowledgements.append(.init(sentAt: sent, seconds: now - sent))
            allowedAt[index] = now + Pace.allowance
            queue.add(index, at: pace.next(after: sent, answeredAt: now))
        case .answered(let status, let body):
            note(status, body, &result)
            // As Retry-After says.
            queue.add(index, at: now + 2)
        case .failed(let reason):
            note(0, Array("\(reason), \(now - sent) s after it was sent".utf8)[...], &result)
            queue.add(index, at: now + 0.2)
        }
    }

    private func note(_ status: Int, _ body: ArraySlice<UInt8>, _ result: inout LoadResult) {
        result.others[status, default: 0] += 1
        if result.samples[status] == nil {
            result.samples[status] = String(decoding: body, as: UTF8.self)
        }
    }

    /// The connections on which something can be done.
    private func wait(until time: Double, _ now: Double) -> [Int] {
        var polled: [pollfd] = []
        var indices: [Int] = []
        for index in connections.indices where carries[index] != nil {
            // One that could not be opened fails at once.
            if connections[index].descriptor < 0 { return [index] }
            polled.append(
                pollfd(
                    fd: connections[index].descriptor,
                    events: connections[index].events,
                    revents: 0
                )
            )
            indices.append(index)
        }
        let milliseconds = Int32(max(0, min(20, ((time - now) * 1000).rounded(.up))))
        guard poll(&polled, nfds_t(polled.count), milliseconds) > 0 else { return [] }
        return zip(indices, polled).filter { $1.revents != 0 }.map { $0.0 }
    }
}

/// Riders by the time at which they send next: a binary heap.
struct DueQueue {
    private var heap: [(time: Double, rider: Int)] = []

    /// When the first one is due.
    var nextTime: Double? { heap.first?.time }

    mutating func add(_ rider: Int, at time: Double) {
        heap.append((time, rider))
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].time < heap[parent].time else { return }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    /// Takes a rider who is due.
    mutating func next(at now: Double) -> Int? {
        guard let first = heap.first, first.time <= now else { return nil }
        let last = heap.removeLast()
        guard !heap.isEmpty else { return first.rider }
        heap[0] = last
        var parent = 0
        while true {
            let left = 2 * parent + 1
            guard left < heap.count else { return first.rider }
            let right = left + 1
            let child = right < heap.count && heap[right].time < heap[left].time ? right : left
            guard heap[child].time < heap[parent].time else { return first.rider }
            heap.swapAt(child, parent)
            parent = child
        }
    }
}
