internal import ClientTransport
public import Foundation
internal import Synchronization

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Opens relay connections over `URLSession`, only to `https` servers.
///
/// On Linux it needs a libcurl with WebSockets; Debian 12's has none, and every connection fails.
public final class URLSessionRelaySocket: RelaySocket {
    /// An upgrade without an answer for this long fails.
    static let upgradeTimeout = Duration.seconds(15)
    /// A connection on which nothing comes for this long fails; the answers to pings come before.
    static let idleTimeoutSeconds = 70.0
    /// Between two pings; a connection that misses two answers is closed.
    static let pingInterval = Duration.seconds(20)
    static let missedPongLimit = 2
    /// A larger frame ends the connection; the largest real one is a few kilobytes.
    static let frameLimitBytes = 1 << 20

    private let serverURL: URL
    private let security: ServerSecurity

    /// Makes the socket for production: `https` only.
    ///
    /// - Parameter serverURL: The server; a path prefix is kept.
    public convenience init(serverURL: URL) {
        self.init(serverURL: serverURL, security: .httpsOnly)
    }

    /// Makes a socket that also reaches a plain `http` server on a developer's machine.
    ///
    /// - Parameter serverURL: The server; a path prefix is kept.
    /// - Returns: A socket that must not ship in an app.
    public static func insecureForDevelopment(serverURL: URL) -> URLSessionRelaySocket {
        URLSessionRelaySocket(serverURL: serverURL, security: .anyForDevelopment)
    }

    private init(serverURL: URL, security: ServerSecurity) {
        self.serverURL = serverURL
        self.security = security
    }

    /// Opens a connection.
    ///
    /// - Parameter bearer: The token.
    /// - Returns: A connection whose upgrade succeeded.
    /// - Throws: ``RelayError``.
    public func open(bearer: String) async throws -> any RelayConnection {
        let connection = URLSessionRelayConnection(try upgrade(bearer: bearer))
        try await connection.open()
        return connection
    }

    func upgrade(bearer: String) throws -> URLRequest {
        let url: URL
        do {
            url = try security.url(serverURL, path: "/api/live")
        } catch {
            throw RelayError.failed(error.reason)
        }
        var components = URLComponents(url: url, resolvingAgainstBaseURL: true)
        components?.scheme = url.scheme?.lowercased() == "https" ? "wss" : "ws"
        guard let url = components?.url else {
            throw RelayError.failed("the server URL cannot be completed")
        }
        var request = URLRequest(url: url, timeoutInterval: Self.idleTimeoutSeconds)
        request.setValue("Bearer \(bearer)", forHTTPHeaderField: "Authorization")
        return request
    }
}

/// One `URLSessionWebSocketTask` with the session and the delegate that belong to it.
private final class URLSessionRelayConnection: NSObject, RelayConnection, Sendable,
    URLSessionWebSocketDelegate
{
    private struct State {
        var task: URLSessionWebSocketTask?
        var session: URLSession?
        var opening: CheckedContinuation<Void, any Error>?
        var closure: RelayError?
        var unansweredPings = 0
    }

    private let request: URLRequest
    private let state = Mutex(State())

    init(_ request: URLRequest) { self.request = request }

    func open() async throws {
        try Task.checkCancellation()
        let session = URLSession(configuration: .ephemeral, delegate: self, delegateQueue: nil)
        let task = session.webSocketTask(with: request)
        task.maximumMessageSize = URLSessionRelaySocket.frameLimitBytes
        // The request's own timeout would count on while the connection is quiet.
        let deadline = Task {
            try await Task.sleep(for: URLSessionRelaySocket.upgradeTimeout)
            giveUp(because: RelayError.failed("The server does not answer"))
        }
        defer { deadline.cancel() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                state.withLock { state in
                    state.task = task
                    state.session = session
                    state.opening = continuation
                }
                task.resume()
                // A cancellation that came before had nothing to give up yet.
                if Task.isCancelled { giveUp(because: CancellationError()) }
            }
        } onCancel: {
            giveUp(because: CancellationError())
        }
        Task { [weak self] in
            while true {
                try? await Task.sleep(for: URLSessionRelaySocket.pingInterval)
                guard let self, self.ping() else { return }
            }
        }
    }

    /// Ends an upgrade that is under way, without waiting for the session's word.
    private func giveUp(because error: any Error) {
        guard let opening = takeOpening() else { return }
        let (task, session) = state.withLock { ($0.task, $0.session) }
        task?.cancel()
        // It holds this object as its delegate until it is told that no call follows.
        session?.finishTasksAndInvalidate()
        opening.resume(throwing: error)
    }

    /// Notices a network that is gone without a word.
    ///
    /// - Returns: Whether the connection lives on.
    private func ping() -> Bool {
        let (task, unanswered) = state.withLock { state in
            state.unansweredPings += 1
            return (state.task, state.unansweredPings - 1)
        }
        guard let task else { return false }
        guard unanswered < URLSessionRelaySocket.missedPongLimit else {
            task.cancel(with: .goingAway, reason: nil)
            return false
        }
        task.sendPing { [weak self] error in
            if error == nil { self?.state.withLock { $0.unansweredPings = 0 } }
        }
        return true
    }

    func send(_ text: String) async throws {
        guard let task = state.withLock({ $0.task }) else { throw RelayError.failed("closed") }
        try await task.send(.string(text))
    }

    func receive() async throws -> String? {
        while let task = state.withLock({ $0.task }) {
            do {
                // The relay sends text alone; what else comes is none of ours.
                if case .string(let text) = try await task.receive() { return text }
            } catch {
                let (closure, isOurs) = state.withLock { ($0.closure, $0.task == nil) }
                if isOurs { return nil }
                throw closure ?? Self.closure(of: task) ?? error
            }
        }
        return nil
    }

    /// Why the server closed, when the delegate is still to hear of it.
    private static func closure(of task: URLSessionWebSocketTask) -> RelayError? {
        guard task.closeCode != .invalid else { return nil }
        let text = task.closeReason.map { String(decoding: $0, as: UTF8.self) } ?? ""
        return .closed(code: task.closeCode.rawValue, reason: text)
    }

    func close() async {
        let (task, session) = state.withLock { state in
            defer { state.task = nil }
            return (state.task, state.session)
        }
        task?.cancel(with: .normalClosure, reason: nil)
        session?.finishTasksAndInvalidate()
    }

    // MARK: - URLSessionWebSocketDelegate

    func urlSession(
        _ session: URLSession,
        webSocketTask: URLSessionWebSocketTask,
        didOpenWithProtocol protocol: String?
    ) {
        takeOpening()?.resume()
    }

    func urlSession(
        _ session: URLSession,
        webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode,
        reason: Data?
    ) {
        let text = reason.map { String(decoding: $0, as: UTF8.self) } ?? ""
        state.withLock { $0.closure = .closed(code: closeCode.rawValue, reason: text) }
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        let isSame = ServerSecurity.isSameOrigin(task.originalRequest?.url, request.url)
        completionHandler(isSame ? request : nil)
    }

    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didCompleteWithError error: (any Error)?
    ) {
        let status = (task.response as? HTTPURLResponse)?.statusCode ?? 101
        let refusal = status == 101 ? nil : RelayError.refused(status: status)
        takeOpening()?.resume(
            throwing: refusal ?? RelayError.failed(error?.localizedDescription ?? "")
        )
        session.finishTasksAndInvalidate()
    }

    private func takeOpening() -> CheckedContinuation<Void, any Error>? {
        state.withLock { state in
            defer { state.opening = nil }
            return state.opening
        }
    }
}
