public import Telemetry

/// A socket that has left HTTP; whoever takes it closes it.
public struct UpgradedSocket: Sendable {
    /// A file descriptor of our own, non-blocking; the HTTP library has closed its side.
    public let descriptor: Int32
    /// What the caller had sent already behind the request's head.
    public let receivedBytes: [UInt8]
}

/// How an upgrade is answered: 101 with these headers, then the socket goes to `accept`.
public struct UpgradeAnswer: Sendable {
    /// Headers of the 101 answer, among them `Upgrade`.
    public let headers: [(String, String)]
    /// Takes the socket; called on the server's loop thread, so it hands over and returns.
    public let accept: @Sendable (UpgradedSocket) -> Void

    /// Makes an answer.
    public init(
        headers: [(String, String)],
        accept: @escaping @Sendable (UpgradedSocket) -> Void
    ) {
        self.headers = headers
        self.accept = accept
    }
}

/// A method, a path and who may call it; what a service offers over HTTP.
public struct Endpoint: Sendable {
    /// 64 KiB, the rider API's limit.
    public static let defaultBodyLimit = 64 * 1024

    enum Handler: Sendable {
        case inline(@Sendable (HTTPRequest) throws -> HTTPResponse)
        case suspending(@Sendable (HTTPRequest) async throws -> HTTPResponse)
        case upgrade(@Sendable (HTTPRequest) throws -> UpgradeAnswer)
        case stream(@Sendable (HTTPRequest) throws -> StreamAnswer)
    }

    /// What is asked for; GET also answers HEAD.
    public let method: HTTPMethod
    /// The path, such as `/api/v1/rider/rides/{id}/positions` or `/console/{path...}`.
    public let pattern: String
    /// Who may call.
    public let access: Access
    /// The most bytes a body may have.
    public let bodyLimit: Int
    /// How long a handler may take; nil is the server's own limit.
    public let deadline: Duration?
    /// The level of the line that each request leaves in the log.
    public let logLevel: LogLevel
    let handler: Handler

    /// Makes an endpoint that answers at once, on the server's loop thread.
    ///
    /// - Parameters:
    ///   - method: What is asked for.
    ///   - pattern: Segments that are literal, `{name}` for one segment that is not empty, or at
    ///     the end `{name...}` for all the rest.
    ///   - access: Who may call.
    ///   - bodyLimit: The most bytes a body may have, compressed and inflated.
    ///   - logLevel: The level of the line that each request leaves in the log.
    ///   - inline: Makes the answer; it must not wait, for it holds up every other connection.
    public init(
        _ method: HTTPMethod,
        _ pattern: String,
        access: Access,
        bodyLimit: Int = Endpoint.defaultBodyLimit,
        logLevel: LogLevel = .info,
        inline: @escaping @Sendable (HTTPRequest) throws -> HTTPResponse
    ) {
        self.method = method
        self.pattern = pattern
        self.access = access
        self.bodyLimit = bodyLimit
        self.deadline = nil
        self.logLevel = logLevel
        handler = .inline(inline)
    }

    /// Makes an endpoint whose handler may wait; the connection is suspended meanwhile.
    ///
    /// - Parameters:
    ///   - method: What is asked for.
    ///   - pattern: As for the endpoint that answers at once.
    ///   - access: Who may call.
    ///   - bodyLimit: The most bytes a body may have, compressed and inflated.
    ///   - deadline: When the server answers 503 in its place and cancels the handler.
    ///   - logLevel: The level of the line that each request leaves in the log.
    ///   - handler: Makes the answer, on the cooperative pool; it must not block.
    public init(
        _ method: HTTPMethod,
        _ pattern: String,
        access: Access,
        bodyLimit: Int = Endpoint.defaultBodyLimit,
        deadline: Duration? = nil,
        logLevel: LogLevel = .info,
        handler: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse
    ) {
        self.method = method
        self.pattern = pattern
        self.access = access
        self.bodyLimit = bodyLimit
        self.deadline = deadline
        self.logLevel = logLevel
        self.handler = .suspending(handler)
    }

    /// Makes a GET endpoint whose answer goes on until the caller leaves.
    ///
    /// - Parameters:
    ///   - pattern: As for the endpoint that answers at once.
    ///   - access: Who may call.
    ///   - logLevel: The level of the line that each request leaves in the log at its end.
    ///   - stream: Decides on the loop thread and must not wait; throwing refuses.
    public init(
        streaming pattern: String,
        access: Access,
        logLevel: LogLevel = .info,
        stream: @escaping @Sendable (HTTPRequest) throws -> StreamAnswer
    ) {
        method = .get
        self.pattern = pattern
        self.access = access
        bodyLimit = 0
        deadline = nil
        self.logLevel = logLevel
        handler = .stream(stream)
    }

    /// Makes a GET endpoint that takes the connection over from HTTP.
    ///
    /// - Parameters:
    ///   - pattern: As for the endpoint that answers at once.
    ///   - access: Who may call.
    ///   - logLevel: The level of the line that each request leaves in the log.
    ///   - upgrade: Decides on the loop thread and must not wait; throwing refuses.
    public init(
        upgrading pattern: String,
        access: Access,
        logLevel: LogLevel = .info,
        upgrade: @escaping @Sendable (HTTPRequest) throws -> UpgradeAnswer
    ) {
        method = .get
        self.pattern = pattern
        self.access = access
        bodyLimit = 0
        deadline = nil
        self.logLevel = logLevel
        handler = .upgrade(upgrade)
    }
}
