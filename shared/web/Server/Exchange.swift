internal import CMicrohttpd
internal import Synchronization
internal import Telemetry

/// One request and its answer, from the request line to the last byte sent.
///
/// `@unchecked Sendable`: the loop thread alone touches everything but `outcome`, which is locked.
final class Exchange: @unchecked Sendable {
    /// What the loop thread does when the library calls again.
    enum Phase {
        /// The head has not been seen.
        case head
        /// The body is being collected.
        case body
        /// The body is thrown away, then this is answered.
        case discarding(HTTPResponse)
        /// A handler is running; the connection is suspended until it answers.
        case waiting
        /// An answer is queued.
        case answered
        /// Ended before its body was whole; the library is to close.
        case cut
    }

    private struct Outcome {
        var response: HTTPResponse?
        var task: Task<Void, Never>?
    }

    let target: [UInt8]
    let connection: ConnectionState
    /// Monotonic nanoseconds.
    let startedAt: UInt64
    var phase = Phase.head
    var endpoint: Int?
    var request: HTTPRequest?
    var trace: TraceID?
    var announcedLength: Int?
    var body: [UInt8] = []
    var discarded = 0
    /// The caller's numeric address, as the proxy next to us or the socket says.
    var clientAddress = ""
    /// True while ``UnfinishedBodies`` holds it.
    var isUnfinished = false
    var status = 0
    /// Monotonic nanoseconds; written before the exchange is shared.
    var deadline: UInt64 = 0
    var method = ""
    /// Takes the socket after a 101.
    var acceptUpgrade: (@Sendable (UpgradedSocket) -> Void)?
    private let outcome = Mutex(Outcome())

    init(target: [UInt8], connection: ConnectionState) {
        self.target = target
        self.connection = connection
        startedAt = Timestamps.monotonicNanoseconds()
    }

    /// Records the answer if there is none yet.
    ///
    /// - Returns: True for the first caller, who must then resume the connection.
    func complete(_ response: HTTPResponse) -> Bool {
        outcome.withLock { outcome in
            guard outcome.response == nil else { return false }
            outcome.response = response
            return true
        }
    }

    /// The recorded answer.
    var response: HTTPResponse? { outcome.withLock { $0.response } }

    /// Remembers the handler's task, or cancels it when the answer is there already.
    func attach(_ task: Task<Void, Never>) {
        let late = outcome.withLock { outcome in
            outcome.task = task
            return outcome.response != nil
        }
        if late { task.cancel() }
    }

    /// Tells the handler that its answer is no longer wanted.
    func cancelHandler() { outcome.withLock { $0.task }?.cancel() }
}
