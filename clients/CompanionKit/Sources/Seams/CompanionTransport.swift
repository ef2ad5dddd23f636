public import Foundation

/// One call to the server.
public struct CompanionRequest: Sendable, Equatable {
    /// `GET`, `POST`, `PUT` or `DELETE`.
    public var method: String
    /// The path below the server's URL.
    public var path: String
    /// Query items, not yet encoded; sent sorted by name.
    public var query: [String: String]
    /// A JSON body, or nil.
    public var body: Data?
    /// The session's token, for the `Authorization` header.
    public var bearerToken: String?

    /// Makes a request.
    public init(
        method: String,
        path: String,
        query: [String: String] = [:],
        body: Data? = nil,
        bearerToken: String? = nil
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.body = body
        self.bearerToken = bearerToken
    }
}

extension CompanionRequest: CustomStringConvertible, CustomReflectable {
    /// The method and the path; token, password and positions have no place in a log.
    public var description: String { "\(method) \(path)" }

    /// Nothing that ``description`` does not say.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The server's answer to a ``CompanionRequest``.
public struct CompanionResponse: Sendable, Equatable {
    /// The HTTP status.
    public var status: Int
    /// The body as received.
    public var body: Data
    /// The `Retry-After` header in seconds, if there was one.
    public var retryAfter: Duration?

    /// Makes an answer.
    public init(status: Int, body: Data = Data(), retryAfter: Duration? = nil) {
        self.status = status
        self.body = body
        self.retryAfter = retryAfter
    }
}

/// Carries calls to the server.
public protocol CompanionTransport: Sendable {
    /// Sends one request and returns the answer, whatever its status.
    ///
    /// A call is told to stop, by cancellation, when nobody waits for it any more: after 20 s, or
    /// when the caller was cancelled. An answer that comes later is not used.
    ///
    /// - Parameters:
    ///   - request: The call.
    ///   - serverURL: The server; a path prefix is kept.
    /// - Returns: The server's answer.
    /// - Throws: When no answer came; thrown into a cancelled task, anything means that it stopped.
    func send(_ request: CompanionRequest, serverURL: URL) async throws -> CompanionResponse
}
