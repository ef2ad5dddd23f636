internal import ClientTransport
public import Foundation

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

/// Carries calls over `URLSession`, only to `https` servers.
///
/// Every call carries a token and many a position. A URL that is not `https` is therefore refused
/// before a request exists, and a redirect is followed only within the same scheme, host and port.
public final class URLSessionCompanionTransport: CompanionTransport {
    /// A request without an answer for this long fails.
    static let requestTimeoutSeconds = 15.0
    /// Larger answers are refused: 15 members with 50 places of 64 kB each would be the largest.
    static let responseLimitBytes = 64 << 20

    private let security: ServerSecurity
    private let exchange: SessionExchange
    private let session: URLSession

    /// Makes the transport for production: `https` only.
    public convenience init() {
        self.init(security: .httpsOnly)
    }

    /// Makes a transport that also reaches a plain `http` server on a developer's machine.
    ///
    /// - Returns: A transport that must not ship in an app.
    public static func insecureForDevelopment() -> URLSessionCompanionTransport {
        URLSessionCompanionTransport(security: .anyForDevelopment)
    }

    private init(security: ServerSecurity) {
        self.security = security
        exchange = SessionExchange(bodyLimitBytes: Self.responseLimitBytes)
        session = exchange.makeSession(timeoutSeconds: Self.requestTimeoutSeconds)
    }

    deinit {
        // A session holds its delegate until it is told that no more requests come.
        session.finishTasksAndInvalidate()
    }

    /// Sends one request and returns the answer, whatever its status.
    ///
    /// - Parameters:
    ///   - request: The call.
    ///   - serverURL: The server; a path prefix is kept.
    /// - Returns: The server's answer.
    /// - Throws: `CompanionError.transport` for a URL that is refused, or what `URLSession` throws.
    public func send(
        _ request: CompanionRequest,
        serverURL: URL
    ) async throws -> CompanionResponse {
        let (body, response) = try await exchange.run(
            try urlRequest(for: request, serverURL: serverURL),
            on: session
        )
        guard let response = response as? HTTPURLResponse else {
            throw CompanionError.transport("the answer was not HTTP")
        }
        let retryAfter = response.value(forHTTPHeaderField: "Retry-After").flatMap { Int64($0) }
        return CompanionResponse(
            status: response.statusCode,
            body: body,
            retryAfter: retryAfter.flatMap { $0 >= 0 ? .seconds($0) : nil }
        )
    }

    func urlRequest(for request: CompanionRequest, serverURL: URL) throws -> URLRequest {
        let url: URL
        do {
            url = try security.url(serverURL, path: request.path, query: request.query)
        } catch {
            throw CompanionError.transport(error.reason)
        }
        var result = URLRequest(url: url, timeoutInterval: Self.requestTimeoutSeconds)
        result.httpMethod = request.method
        result.httpBody = request.body
        result.setValue("application/json", forHTTPHeaderField: "Accept")
        if request.body != nil {
            result.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        if let token = request.bearerToken {
            result.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization")
        }
        return result
    }
}
