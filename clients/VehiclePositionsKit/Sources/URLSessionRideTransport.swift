internal import ClientTransport
public import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Carries rider calls over `URLSession`, only to `https` servers.
///
/// Every call carries a token, the installation id or a precise position. A URL that is not `https`
/// is therefore refused before a request exists, and a redirect is followed only within the same
/// scheme, host and port.
public final class URLSessionRideTransport: RideTransport {
    /// A request without an answer for this long fails; the upload cadence is a few seconds.
    static let requestTimeoutSeconds = 10.0
    /// Larger answers are refused: the largest real one is a few hundred bytes.
    static let responseLimitBytes = 1 << 16

    private let allowsInsecure: Bool
    private let close: @Sendable () -> Void
    private let exchange: @Sendable (URLRequest) async throws -> (Data, URLResponse)

    /// Makes the transport for production: `https` only.
    public convenience init() {
        self.init(allowsInsecure: false)
    }

    /// Makes a transport that also reaches a plain `http` server on a developer's machine.
    ///
    /// - Returns: A transport that must not ship in an app.
    public static func insecureForDevelopment() -> URLSessionRideTransport {
        URLSessionRideTransport(allowsInsecure: true)
    }

    private convenience init(allowsInsecure: Bool) {
        let exchange = SessionExchange(bodyLimitBytes: Self.responseLimitBytes)
        let session = exchange.makeSession(timeoutSeconds: Self.requestTimeoutSeconds)
        self.init(
            allowsInsecure: allowsInsecure,
            close: { session.finishTasksAndInvalidate() },
            exchange: { try await exchange.run($0, on: session) }
        )
    }

    deinit {
        // A session holds its delegate until it is told that no more requests come.
        close()
    }

    init(
        allowsInsecure: Bool,
        close: @escaping @Sendable () -> Void = {},
        exchange: @escaping @Sendable (URLRequest) async throws -> (Data, URLResponse)
    ) {
        self.allowsInsecure = allowsInsecure
        self.close = close
        self.exchange = exchange
    }

    /// Sends one request and returns the answer, whatever its status.
    ///
    /// - Parameters:
    ///   - request: The call; its path is percent-encoded already.
    ///   - baseURL: The server; a path prefix is kept.
    /// - Returns: The server's answer.
    /// - Throws: `RideError.transport` for a URL that is refused, or what `URLSession` throws.
    public func send(_ request: RiderRequest, baseURL: URL) async throws -> RiderResponse {
        let (body, response) = try await exchange(urlRequest(for: request, baseURL: baseURL))
        guard let response = response as? HTTPURLResponse else {
            throw RideError.transport("the answer was not HTTP")
        }
        let retryAfter = response.value(forHTTPHeaderField: "Retry-After").flatMap { Int64($0) }
        return RiderResponse(
            status: response.statusCode,
            body: body,
            retryAfter: retryAfter.flatMap { $0 >= 0 ? .seconds($0) : nil },
            acceptsGzip: Self.namesGzip(response.value(forHTTPHeaderField: "Accept-Encoding") ?? "")
        )
    }

    /// Whether a list of content codings has gzip, and not with the weight that excludes it.
    static func namesGzip(_ list: String) -> Bool {
        list.lowercased().split(separator: ",").contains { item in
            let parts = item.split(separator: ";").map { $0.filter { !$0.isWhitespace } }
            let weight = parts.dropFirst().first { $0.hasPrefix("q=") }
                .map { Double($0.dropFirst(2)) ?? 0 }
            return parts.first == "gzip" && weight ?? 1 > 0
        }
    }

    func urlRequest(for request: RiderRequest, baseURL: URL) throws -> URLRequest {
        let security = allowsInsecure ? ServerSecurity.anyForDevelopment : .httpsOnly
        let url: URL
        do {
            url = try security.url(baseURL, path: request.path, query: request.query)
        } catch {
            throw RideError.transport(error.reason)
        }
        var result = URLRequest(url: url, timeoutInterval: Self.requestTimeoutSeconds)
        result.httpMethod = request.method
        result.httpBody = request.body
        result.setValue("application/json", forHTTPHeaderField: "Accept")
        if request.body != nil {
            result.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        if let coding = request.contentEncoding {
            result.setValue(coding, forHTTPHeaderField: "Content-Encoding")
        }
        if let token = request.bearerToken {
            result.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        }
        return result
    }
}
