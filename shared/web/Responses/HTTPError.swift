/// A refusal, thrown by handlers and answered as `{"error":"<message>","code":"<code>"}`.
public struct HTTPError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The HTTP status, 400-599.
    public let status: Int
    /// A stable identifier for programs, such as `body.too_large`.
    public let code: String
    /// A sentence for people; never internals, tokens or coordinates.
    public let message: String
    /// Seconds after which another try makes sense, sent as `Retry-After`.
    public let retryAfter: Int?
    /// By what a caller could be let in; sent with 401 alone.
    public let challenge: Challenge
    /// Further members of the answer's body, such as `end_reason`, in this order.
    public let details: [Detail]

    /// A member of an error's body beside `error` and `code`.
    public struct Detail: Sendable, Equatable {
        /// The member's name.
        public let name: String
        /// The member's text.
        public let value: String

        /// Makes a member.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Makes a refusal.
    public init(
        status: Int,
        code: String,
        message: String,
        retryAfter: Int? = nil,
        challenge: Challenge = .bearer,
        details: [Detail] = []
    ) {
        self.status = status
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
        self.challenge = challenge
        self.details = details
    }

    /// Status, code and message, for logs and test failures.
    public var description: String { "\(status) \(code): \(message)" }

    /// 400 with a sentence about what the caller sent.
    public static func badRequest(_ message: String, code: String = "request.invalid") -> HTTPError
    {
        HTTPError(status: 400, code: code, message: message)
    }

    /// 413 for a body over its limit, compressed or inflated.
    public static let bodyTooLarge = HTTPError(
        status: 413,
        code: "body.too_large",
        message: "request body too large"
    )

    /// 404 for a path that no endpoint has.
    public static let notFound = HTTPError(
        status: 404,
        code: "request.not_found",
        message: "not found"
    )

    /// 405 for a path that has endpoints, but none with this method.
    static let methodNotAllowed = HTTPError(
        status: 405,
        code: "request.method_not_allowed",
        message: "method not allowed"
    )

    /// 500 for everything that is our fault; what happened stands in the log alone.
    public static let failure = HTTPError(
        status: 500,
        code: "internal",
        message: "internal server error"
    )

    /// 503 when as many requests wait as the server admits.
    static let busy = HTTPError(
        status: 503,
        code: "server.busy",
        message: "too many requests are waiting, try again",
        retryAfter: 1
    )

    /// 503 when the handler did not answer within its deadline.
    static let deadlineExceeded = HTTPError(
        status: 503,
        code: "server.deadline",
        message: "the request took too long",
        retryAfter: 1
    )

    /// 503 while the server drains.
    static let stopping = HTTPError(
        status: 503,
        code: "server.stopping",
        message: "the service is stopping",
        retryAfter: 1
    )

    /// 403 for an unsafe request that a browser sent for another site.
    public static let crossOrigin = HTTPError(
        status: 403,
        code: "request.cross_origin",
        message: "cross-origin request refused"
    )
}
