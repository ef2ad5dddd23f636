internal import CMicrohttpd
internal import Telemetry

/// The part of a server that libmicrohttpd's loop thread runs.
///
/// A request passes through ``begin(_:on:method:version:)`` once its head is there, through
/// ``collect(_:_:)`` for each piece of its body, and through ``dispatch(_:on:)`` when it is whole.
/// Handlers that may wait run while the connection is suspended; it is suspended before they
/// start, and resumed exactly once by whoever answers first: the handler, its deadline, or the end
/// of the server.
final class ServerCore: Sendable {
    /// Bytes of a refused body that are read and thrown away so that the caller sees the answer
    /// and keeps the connection; beyond it the connection is closed.
    static let discardLimit = 64 * 1024

    /// The same behind a gateway: it takes an answer in the middle of a body for a broken service.
    var discardLimit: Int {
        configuration.trustsProxyHeaders
            ? HTTPServerConfiguration.proxiedBodyLimit : Self.discardLimit
    }

    let endpoints: [Endpoint]
    let configuration: HTTPServerConfiguration
    let metrics: ServerMetrics
    let logger: Logger
    let registry: ConnectionRegistry
    let gate = ListenerGate()
    let bodies: UnfinishedBodies
    private let router: Router
    private let authorizer: any Authorizer

    init(
        endpoints: [Endpoint],
        configuration: HTTPServerConfiguration,
        authorizer: any Authorizer,
        logger: Logger,
        metrics: Metrics
    ) throws(HTTPServerError) {
        self.endpoints = endpoints
        self.configuration = configuration
        self.authorizer = authorizer
        self.logger = logger
        self.metrics = ServerMetrics(endpoints, metrics)
        router = try Router(endpoints)
        bodies = UnfinishedBodies(
            limit: configuration.maximumUnfinishedBodies ?? configuration.maximumConnections / 2
        )
        registry = ConnectionRegistry(
            maximumWaiting: configuration.maximumWaitingRequests,
            metrics: self.metrics
        )
    }

    // MARK: - Head

    /// Takes in a request's head: refuses it, answers it, or goes on to its body.
    func begin(
        _ exchange: Exchange,
        on connection: OpaquePointer,
        method: String,
        version: String
    ) -> MHD_Result {
        let head = RequestHead(connection)
        exchange.method = method
        exchange.trace =
            head.headers.first("traceparent").flatMap(TraceID.init(traceparent:)) ?? .random()
        if let fault = head.fault(version: version) {
            return answer(exchange, on: connection, .error(fault), closing: true)
        }
        exchange.announcedLength = head.announcedLength
        exchange.clientAddress = clientAddress(exchange, head.headers)
        if exchange.connection.isSurplus {
            return answer(exchange, on: connection, .error(.busy), closing: true)
        }
        do throws(Refusal) {
            let request = try admit(exchange, head.headers, method)
            exchange.request = request
        } catch {
            return refuse(exchange, on: connection, error.response, head.headers)
        }
        exchange.phase = .body
        // Answered at this point, the library would close the connection even without a body; it
        // calls once more when the request is whole.
        if exchange.announcedLength != 0 {
            awaitBody(exchange)
            exchange.body.reserveCapacity(min(exchange.announcedLength ?? 0, 64 * 1024))
        }
        return .YES
    }

    private struct Refusal: Error {
        let response: HTTPResponse

        init(_ error: HTTPError) { response = .error(error) }

        init(response: HTTPResponse) { self.response = response }
    }

    /// Everything that is decided before the body is read.
    private func admit(
        _ exchange: Exchange,
        _ headers: HTTPHeaders,
        _ methodName: String
    ) throws(Refusal) -> HTTPRequest {
        let target = exchange.target.withUnsafeBufferPointer { RequestTarget($0) }
        guard let target else {
            throw Refusal(.badRequest("malformed path or query", code: "request.malformed"))
        }
        let method = HTTPMethod(rawValue: methodName)
        let index: Int
        let parameters: [String: String]
        switch router.match(method, target.segments) {
        case .endpoint(let found, let values):
            index = found
            parameters = values
        case .methodNotAllowed(let allow):
            var response = HTTPResponse.error(.methodNotAllowed)
            let names = allow.map(\.rawValue).joined(separator: ", ")
            response.headers.append(("Allow", names))
            throw Refusal(response: response)
        case .notFound:
            throw Refusal(.notFound)
        }
        guard let method else { throw Refusal(.methodNotAllowed) }
        exchange.endpoint = index
        let endpoint = endpoints[index]
        if configuration.refusesCrossOriginRequests, CrossOrigin.refuses(method, headers) {
            throw Refusal(.crossOrigin)
        }
        let limit = endpoint.deadline ?? configuration.requestDeadline
        exchange.deadline = exchange.startedAt + limit.nanoseconds
        var request = HTTPRequest(
            method: method,
            path: target.segments,
            parameters: parameters,
            query: target.query,
            headers: headers,
            clientAddress: exchange.clientAddress,
            isSecure: configuration.trustsProxyHeaders
                && headers.last("X-Forwarded-Proto")?.lowercased() == "https",
            trace: exchange.trace ?? .random(),
            deadline: .now + limit,
            bodyLimit: endpoint.bodyLimit
        )
        if endpoint.access != .anyone {
            do throws(HTTPError) {
                request.principal = try authorizer.authorize(request, access: endpoint.access)
            } catch {
                throw Refusal(error)
            }
        }
        if let length = exchange.announcedLength, length > endpoint.bodyLimit {
            throw Refusal(.bodyTooLarge)
        }
        return request
    }

    private func clientAddress(_ exchange: Exchange, _ headers: HTTPHeaders) -> String {
        if configuration.trustsProxyHeaders, let address = ClientAddress.forwarded(headers) {
            return address
        }
        return exchange.connection.peerAddress
    }

    /// Answers a refusal, after a small body has been read so that the connection can stay.
    private func refuse(
        _ exchange: Exchange,
        on connection: OpaquePointer,
        _ response: HTTPResponse,
        _ headers: HTTPHeaders
    ) -> MHD_Result {
        // Who sent Expect waits for our word before the body, so the answer comes first.
        let waits = headers.contains("Expect") && !configuration.trustsProxyHeaders
        if (exchange.announcedLength ?? 0) > discardLimit || waits {
            return answer(exchange, on: connection, response, closing: true)
        }
        exchange.phase = .discarding(response)
        awaitBody(exchange)
        return .YES
    }

    // MARK: - End

    /// Counts and logs a request that is over.
    func end(_ exchange: Exchange, whole: Bool) {
        registry.ended()
        bodies.end(exchange)
        exchange.connection.cut(after: configuration.idleTimeLimit + configuration.headTimeLimit)
        guard whole, exchange.status > 0 else {
            metrics.abandonedRequests.add()
            return
        }
        let elapsed = Timestamps.monotonicNanoseconds() - exchange.startedAt
        metrics.record(
            endpoint: exchange.endpoint,
            status: exchange.status,
            seconds: Double(elapsed) / 1e9
        )
        let level = exchange.endpoint.map { endpoints[$0].logLevel } ?? .info
        guard level >= logger.level else { return }
        logger.log(
            level,
            "request",
            [
                "method": .text(exchange.method),
                "path": .text(exchange.endpoint.map { endpoints[$0].pattern } ?? "unmatched"),
                "status": .integer(exchange.status),
                "duration_ms": .number(Double(elapsed / 1000) / 1000),
                "trace.id": .text(exchange.trace?.description ?? ""),
            ]
        )
    }
}
