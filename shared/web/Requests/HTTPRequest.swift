public import Telemetry

/// One request as handlers see it.
public struct HTTPRequest: Sendable {
    /// What is asked for.
    public var method: HTTPMethod
    /// The path's segments, split on the raw `/` and each decoded once.
    public var path: [String]
    /// What stands where the endpoint's pattern has `{name}`.
    public var parameters: [String: String]
    /// What follows the `?`.
    public var query: QueryItems
    /// The header lines.
    public var headers: HTTPHeaders
    /// The body as it was sent; ``jsonObject(limit:)`` inflates and checks it.
    public var body: [UInt8]
    /// The caller's IP address; behind a trusted proxy the one that the proxy saw.
    public var clientAddress: String
    /// True when a trusted proxy says that the caller came over TLS; servers here end none.
    public var isSecure: Bool
    /// Who is calling, where the endpoint demands someone.
    public var principal: Principal?
    /// The id that follows this request through logs and the bus.
    public var trace: TraceID
    /// When the server answers in the handler's place.
    public var deadline: ContinuousClock.Instant
    /// The most bytes a body may have, compressed and inflated.
    public var bodyLimit: Int

    /// Makes a request, for tests of handlers without a server.
    public init(
        method: HTTPMethod = .get,
        path: [String] = [],
        parameters: [String: String] = [:],
        query: QueryItems = QueryItems(),
        headers: HTTPHeaders = HTTPHeaders(),
        body: [UInt8] = [],
        clientAddress: String = "127.0.0.1",
        isSecure: Bool = false,
        principal: Principal? = nil,
        trace: TraceID = .random(),
        deadline: ContinuousClock.Instant = .now + .seconds(10),
        bodyLimit: Int = Endpoint.defaultBodyLimit
    ) {
        self.method = method
        self.path = path
        self.parameters = parameters
        self.query = query
        self.headers = headers
        self.body = body
        self.clientAddress = clientAddress
        self.isSecure = isSecure
        self.principal = principal
        self.trace = trace
        self.deadline = deadline
        self.bodyLimit = bodyLimit
    }

    /// How long the handler may still take; never negative.
    public var remainingTime: Duration { max(.zero, deadline - .now) }

    /// The parameter of the endpoint's pattern with this name.
    ///
    /// - Parameter name: A name that stands in the pattern; another is a mistake in our code.
    /// - Returns: What stands there, decoded.
    public func parameter(_ name: String) -> String {
        guard let value = parameters[name] else {
            preconditionFailure("the endpoint's pattern has no parameter \(name)")
        }
        return value
    }
}
