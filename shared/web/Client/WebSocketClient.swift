internal import Synchronization

/// How much a connection of a ``WebSocketClient`` may take.
public struct WebSocketClientLimits: Sendable {
    /// How long connecting and the upgrade may take, each.
    public var openTime: Duration
    /// A server that says nothing for this long, pings included, is gone.
    public var silence: Duration
    /// A longer message ends the connection.
    public var messageBytes: Int
    /// Messages that wait to be sent; more are refused.
    public var waitingMessages: Int

    /// Makes limits.
    public init(
        openTime: Duration = .seconds(10),
        silence: Duration = .seconds(60),
        messageBytes: Int = 1 << 20,
        waitingMessages: Int = 256
    ) {
        self.openTime = openTime
        self.silence = silence
        self.messageBytes = messageBytes
        self.waitingMessages = waitingMessages
    }
}

/// Why there is no WebSocket, or none any more.
public enum WebSocketClientError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The URL cannot be read or is neither `http` nor `https`.
    case invalidURL
    /// The name is unknown, or nobody listens there.
    case cannotConnect(String)
    /// The server answered the upgrade with this status.
    case refused(status: Int)
    /// What answered does not speak WebSocket.
    case notWebSocket
    /// The server said nothing for too long.
    case timedOut
    /// The server closed, with a code of RFC 6455; 1006 when it was gone without a word.
    case closed(code: Int, reason: String)
    /// More messages wait to be sent than the limit.
    case busy
    /// The task that waited was cancelled.
    case cancelled
    /// Everything else, in words.
    case failed(String)

    /// One sentence.
    public var description: String {
        switch self {
        case .invalidURL: "not an http or https URL"
        case .cannotConnect(let reason): "cannot connect: \(reason)"
        case .refused(let status): "the server answered \(status)"
        case .notWebSocket: "the server does not speak WebSocket"
        case .timedOut: "no answer in time"
        case .closed(let code, let reason):
            reason.isEmpty ? "closed with \(code)" : "closed with \(code): \(reason)"
        case .busy: "too many messages are waiting"
        case .cancelled: "cancelled"
        case .failed(let reason): reason
        }
    }
}

/// A WebSocket of a client, for tools and simulators.
///
/// libcurl connects, over TLS where the URL says so, and carries bytes; libwslay frames them. Each
/// connection has a thread of its own. Text messages alone are passed on; pings are answered.
public final class WebSocketClient: Sendable {
    private let mailbox: WebSocketMailbox

    private init(_ mailbox: WebSocketMailbox) { self.mailbox = mailbox }

    deinit { mailbox.close() }

    /// Opens a connection.
    ///
    /// - Parameters:
    ///   - url: An `http` or `https` URL; a redirect is a refusal.
    ///   - headers: More headers of the upgrade.
    ///   - limits: How much the connection may take.
    /// - Returns: An open connection.
    /// - Throws: ``WebSocketClientError``.
    public static func open(
        _ url: String,
        headers: [(String, String)] = [],
        limits: WebSocketClientLimits = WebSocketClientLimits()
    ) async throws(WebSocketClientError) -> WebSocketClient {
        guard let upgrade = WebSocketUpgrade(url: url, headers: headers) else { throw .invalidURL }
        let mailbox = WebSocketMailbox(limits)
        do {
            try await withCheckedThrowingContinuation { continuation in
                BackgroundThread.start {
                    WebSocketLoop(upgrade, mailbox).run(opening: continuation)
                }
            }
        } catch {
            throw error as? WebSocketClientError ?? .failed(String(describing: error))
        }
        return WebSocketClient(mailbox)
    }

    /// Sends a text message; messages leave in the order of these calls.
    ///
    /// - Throws: ``WebSocketClientError/busy``, or why the connection has ended.
    public func send(_ text: String) throws(WebSocketClientError) {
        try mailbox.post(text)
    }

    /// Waits for the next text message; one caller at a time.
    ///
    /// - Throws: ``WebSocketClientError`` once the connection has ended and all is read.
    public func receive() async throws(WebSocketClientError) -> String {
        do {
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { mailbox.take($0) }
            } onCancel: {
                mailbox.cancelReader()
            }
        } catch {
            throw error as? WebSocketClientError ?? .failed(String(describing: error))
        }
    }

    /// Closes the connection.
    public func close() { mailbox.close() }
}

/// What passes between the callers of a connection and its thread.
final class WebSocketMailbox: Sendable {
    private struct State {
        var outgoing: [String] = []
        var incoming: [String] = []
        var reader: CheckedContinuation<String, any Error>?
        var end: WebSocketClientError?
        var isClosing = false
    }

    let limits: WebSocketClientLimits
    let wake = WakeEvent()
    private let state = Mutex(State())

    init(_ limits: WebSocketClientLimits) { self.limits = limits }

    // MARK: - Callers

    func post(_ text: String) throws(WebSocketClientError) {
        let refusal = state.withLock { state -> WebSocketClientError? in
            if let end = state.end { return end }
            if state.isClosing { return .closed(code: 1000, reason: "") }
            guard state.outgoing.count < limits.waitingMessages else { return .busy }
            state.outgoing.append(text)
            return nil
        }
        if let refusal { throw refusal }
        wake.signal()
    }

    func take(_ reader: CheckedContinuation<String, any Error>) {
        let outcome = state.withLock { state -> Result<String, any Error>? in
            if !state.incoming.isEmpty { return .success(state.incoming.removeFirst()) }
            if let end = state.end { return .failure(end) }
            if Task.isCancelled { return .failure(WebSocketClientError.cancelled) }
            precondition(state.reader == nil, "two callers wait for one message")
            state.reader = reader
            return nil
        }
        guard let outcome else { return }
        reader.resume(with: outcome)
        // The thread reads on once there is room.
        wake.signal()
    }

    func cancelReader() {
        takeReader()?.resume(throwing: WebSocketClientError.cancelled)
    }

    func close() {
        state.withLock { $0.isClosing = true }
        wake.signal()
    }

    // MARK: - The thread

    var isClosing: Bool { state.withLock { $0.isClosing } }

    var hasRoom: Bool { state.withLock { $0.incoming.count < limits.waitingMessages } }

    func takeOutgoing() -> [String] {
        state.withLock { state in
            defer { state.outgoing = [] }
            return state.outgoing
        }
    }

    func deliver(_ text: String) {
        let reader = state.withLock { state in
            defer { state.reader = nil }
            if state.reader == nil { state.incoming.append(text) }
            return state.reader
        }
        reader?.resume(returning: text)
    }

    func end(_ error: WebSocketClientError) {
        state.withLock { $0.end = $0.end ?? error }
        takeReader()?.resume(throwing: error)
    }

    private func takeReader() -> CheckedContinuation<String, any Error>? {
        state.withLock { state in
            defer { state.reader = nil }
            return state.reader
        }
    }
}
