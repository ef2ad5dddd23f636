/// Where a server listens and how much it admits.
public struct HTTPServerConfiguration: Sendable {
    /// The largest body that our gateway lets through, in bytes.
    public static let proxiedBodyLimit = 1 << 20

    /// The address to bind, numeric IPv4 or IPv6.
    public var host: String
    /// The port to bind; 0 lets the system choose.
    public var port: Int
    /// Open connections beyond which requests are answered 503; each may hold ``memoryPerConnection``.
    public var maximumConnections = 1024
    /// Suspended requests beyond which more are answered 503, so that a slow peer fills no memory.
    public var maximumWaitingRequests = 512
    /// Bodies that may be on their way at once; nil for half of the connections.
    ///
    /// Beyond it the slowest is answered 503, so that callers who send drop by drop never have all connections.
    public var maximumUnfinishedBodies: Int?
    /// How long a handler may take before the server answers 503 and cancels it.
    public var requestDeadline: Duration = .seconds(10)
    /// How long a request's head may take from its first line on.
    public var headTimeLimit: Duration = .seconds(15)
    /// How long a request's body may take.
    public var bodyTimeLimit: Duration = .seconds(15)
    /// How long a caller may take to read an answer.
    public var answerTimeLimit: Duration = .seconds(60)
    /// How long the caller of a streamed answer may take to read one block before it is cut.
    public var streamStallLimit: Duration = .seconds(15)
    /// How long a connection may stay open without a request.
    public var idleTimeLimit: Duration = .seconds(60)
    /// Bytes for the head and the buffers of one connection; 4 kB refuse a 2.5 kB cookie, and the library
    /// clears all of it after each request, which for 32 kB takes longer than a check of a token's signature.
    public var memoryPerConnection = 16 * 1024
    /// True when the last hop of `X-Forwarded-For` is the caller, because only a proxy reaches us.
    public var trustsProxyHeaders = false
    /// True when unsafe requests that a browser sends for another site are refused.
    public var refusesCrossOriginRequests = true

    /// Makes a configuration with the default limits.
    public init(host: String = "127.0.0.1", port: Int = 0) {
        self.host = host
        self.port = port
    }
}

/// Why a server cannot be made or started.
public enum HTTPServerError: Error, Sendable, Equatable, CustomStringConvertible {
    /// An endpoint's pattern cannot be read.
    case invalidPattern(String, String)
    /// Two endpoints answer the same method and path.
    case duplicateEndpoint(String)
    /// The host is no numeric address, or the port none of 0-65535.
    case invalidAddress(String)
    /// Another process listens there.
    case addressInUse(String)
    /// The system refuses to listen there.
    case cannotListen(String, reason: String)
    /// The server was started before.
    case alreadyStarted

    /// One sentence that says what to do next.
    public var description: String {
        switch self {
        case .invalidPattern(let pattern, let reason): "endpoint pattern \(pattern): \(reason)"
        case .duplicateEndpoint(let endpoint): "two endpoints answer \(endpoint)"
        case .invalidAddress(let address): "\(address) is no numeric address and port"
        case .addressInUse(let address):
            "\(address) is in use: stop what listens there or choose another port"
        case .cannotListen(let address, let reason): "cannot listen on \(address): \(reason)"
        case .alreadyStarted: "the server was started before"
        }
    }
}
