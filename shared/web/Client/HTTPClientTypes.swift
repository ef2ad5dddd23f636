/// How an ``HTTPClient`` works.
public struct HTTPClientConfiguration: Sendable {
    /// What stands in `User-Agent`.
    public var userAgent = "alongside"
    /// Requests on the wire at once; more wait in the queue.
    public var maximumConcurrent = 64
    /// Requests that may wait; more fail at once with `.busy`.
    public var maximumQueued = 1024
    /// How long a connection may take to open.
    public var connectTimeout: Duration = .seconds(5)
    /// A proxy's URL; the environment's `http_proxy` and the like are never read.
    public var proxy: String?

    /// Makes a configuration with the default limits.
    public init() {}
}

/// How much one request of an ``HTTPClient`` may take.
public struct HTTPClientLimits: Sendable {
    /// The most bytes a body may have, counted after inflating.
    public var bodyBytes: Int
    /// How long the whole request may take, redirects included.
    public var time: Duration
    /// How many redirects are followed, to `http` and `https` alone.
    public var redirects: Int

    /// Makes limits.
    public init(bodyBytes: Int = 16 << 20, time: Duration = .seconds(30), redirects: Int = 0) {
        self.bodyBytes = bodyBytes
        self.time = time
        self.redirects = redirects
    }
}

/// What a server answered to an ``HTTPClient``.
public struct HTTPClientResponse: Sendable {
    /// The HTTP status of the last answer.
    public let status: Int
    /// The headers of the last answer.
    public let headers: HTTPHeaders
    /// The body, inflated.
    public let body: [UInt8]
}

/// Why a request got no answer.
public enum HTTPClientError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The URL cannot be read or is neither `http` nor `https`.
    case invalidURL
    /// The name is unknown, or nobody listens there.
    case cannotConnect(String)
    /// It took longer than the limit.
    case timedOut
    /// The body has more bytes than the limit.
    case tooLarge(limit: Int)
    /// More redirects than the limit.
    case tooManyRedirects
    /// The task that asked was cancelled.
    case cancelled
    /// Too many requests wait already.
    case busy
    /// The client has been closed.
    case closed
    /// Everything else, in libcurl's words.
    case failed(String)

    /// One sentence without the URL.
    public var description: String {
        switch self {
        case .invalidURL: "not an http or https URL"
        case .cannotConnect(let reason): "cannot connect: \(reason)"
        case .timedOut: "no answer in time"
        case .tooLarge(let limit): "the answer has more than \(limit) bytes"
        case .tooManyRedirects: "too many redirects"
        case .cancelled: "cancelled"
        case .busy: "too many requests are waiting"
        case .closed: "the client is closed"
        case .failed(let reason): reason
        }
    }
}
