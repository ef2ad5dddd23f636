internal import Telemetry

/// A request that another process sent to this one.
struct ReceivedRequest {
    /// The routing id under which libzmq knows the connection.
    let route: [UInt8]
    let correlation: UInt64
    let sender: String
    let trace: TraceID
    /// Monotonic nanoseconds.
    let deadline: UInt64
    let body: [UInt8]
}

/// Decides which received request runs when: so many at once, so many waiting, none past its deadline.
struct ServingQueue {
    let runningLimit: Int
    let waitingLimit: Int
    private(set) var running = 0
    private var waiting: [ReceivedRequest] = []
    private var head = 0

    init(runningLimit: Int, waitingLimit: Int) {
        self.runningLimit = runningLimit
        self.waitingLimit = waitingLimit
    }

    /// How many were accepted and wait for a handler.
    var waitingCount: Int { waiting.count - head }
    /// Whether nothing runs and nothing waits.
    var isIdle: Bool { running == 0 && waitingCount == 0 }

    /// Accepts a request.
    ///
    /// - Returns: false when too many wait already; the request was not taken.
    mutating func accept(_ request: ReceivedRequest) -> Bool {
        guard waitingCount < waitingLimit || running < runningLimit else { return false }
        waiting.append(request)
        return true
    }

    /// A handler finished.
    mutating func finished() { running -= 1 }

    /// What happens to the oldest waiting request.
    enum Next {
        case run(ReceivedRequest)
        case expired(ReceivedRequest)
    }

    /// The oldest waiting request, if it may leave the queue now.
    mutating func next(now: UInt64) -> Next? {
        guard waitingCount > 0 else { return nil }
        let request = waiting[head]
        let isLate = request.deadline <= now
        guard isLate || running < runningLimit else { return nil }
        head += 1
        if head == waiting.count {
            waiting.removeAll(keepingCapacity: head <= 64)
            head = 0
        } else if head >= 512 {
            waiting.removeFirst(head)
            head = 0
        }
        guard !isLate else { return .expired(request) }
        running += 1
        return .run(request)
    }
}
