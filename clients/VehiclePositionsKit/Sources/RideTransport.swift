public import Foundation

/// One call to the rider API.
public struct RiderRequest: Sendable, Equatable {
    /// `GET` or `POST`.
    public var method: String
    /// The path below the server's URL, percent-encoded already: a transport must not escape it again.
    public var path: String
    /// Query items, not yet encoded; sent sorted by name.
    public var query: [String: String]
    /// A JSON body, or nil.
    public var body: Data?
    /// The rider's token, for the `Authorization` header.
    public var bearerToken: String?
    /// `gzip` for a body that is packed so; only after a server said that it reads this.
    public var contentEncoding: String?

    /// Makes a request.
    public init(
        method: String,
        path: String,
        query: [String: String] = [:],
        body: Data? = nil,
        bearerToken: String? = nil,
        contentEncoding: String? = nil
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.body = body
        self.bearerToken = bearerToken
        self.contentEncoding = contentEncoding
    }
}

extension RiderRequest: CustomStringConvertible, CustomReflectable {
    /// The method and the path; token, positions and installation have no place in a log.
    public var description: String { "\(method) \(path)" }

    /// Nothing that ``description`` does not say.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The server's answer to a ``RiderRequest``.
public struct RiderResponse: Sendable, Equatable {
    /// The HTTP status.
    public var status: Int
    /// The body as received.
    public var body: Data
    /// The `Retry-After` header in seconds, if there was one.
    public var retryAfter: Duration?
    /// Whether the server reads gzip: its `Accept-Encoding` header names it (RFC 9110, 12.5.3).
    public var acceptsGzip: Bool

    /// Makes an answer.
    public init(
        status: Int,
        body: Data,
        retryAfter: Duration? = nil,
        acceptsGzip: Bool = false
    ) {
        self.status = status
        self.body = body
        self.retryAfter = retryAfter
        self.acceptsGzip = acceptsGzip
    }
}

/// Carries rider calls to the server.
public protocol RideTransport: Sendable {
    /// Sends one request and returns the answer, whatever its status.
    ///
    /// A call is told to stop, by cancellation, when nobody waits for it any more: after
    /// ``RideReporterConfiguration/callTimeout`` or when the ride ends before. An answer that comes
    /// later is not used.
    ///
    /// - Parameters:
    ///   - request: The call; its path is percent-encoded already.
    ///   - baseURL: The server; a path prefix is kept.
    /// - Returns: The server's answer.
    /// - Throws: When no answer came; thrown into a cancelled task, anything means that it stopped.
    func send(_ request: RiderRequest, baseURL: URL) async throws -> RiderResponse
}
