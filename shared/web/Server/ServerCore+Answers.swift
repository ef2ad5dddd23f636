internal import CMicrohttpd
internal import Telemetry

// From a whole request to its answer: one at once, one that is waited for, a stream or an upgrade.
extension ServerCore {
    /// Runs the handler of a request that is whole.
    func dispatch(_ exchange: Exchange, on connection: OpaquePointer) -> MHD_Result {
        bodies.end(exchange)
        guard let index = exchange.endpoint, var request = exchange.request else { return .NO }
        request.body = exchange.body
        exchange.body = []
        exchange.request = nil
        switch endpoints[index].handler {
        case .inline(let handler):
            return answer(exchange, on: connection, inline(handler, request))
        case .upgrade(let handler):
            return upgrade(exchange, on: connection, handler, request)
        case .stream(let handler):
            return stream(exchange, on: connection, handler, request)
        case .suspending(let handler):
            exchange.phase = .waiting
            exchange.connection.keep()
            if let error = registry.suspend(exchange, connection) {
                return answer(exchange, on: connection, .error(error))
            }
            start(handler, request, exchange)
            return .YES
        }
    }

    /// Sends the answer of a request whose connection has been resumed.
    func resumed(_ exchange: Exchange, on connection: OpaquePointer) -> MHD_Result {
        // The library may call once more between suspending and resuming; then there is none.
        guard let response = exchange.response else { return .YES }
        return answer(exchange, on: connection, response)
    }

    /// Hands an answer to the library.
    func answer(
        _ exchange: Exchange,
        on connection: OpaquePointer,
        _ response: HTTPResponse,
        closing: Bool = false
    ) -> MHD_Result {
        let closing = closing || registry.isDraining
        bodies.end(exchange)
        exchange.phase = .answered
        exchange.status = response.status
        exchange.connection.cut(after: configuration.answerTimeLimit)
        if !closing, let prepared = response.prepared {
            return MHD_queue_response(connection, UInt32(response.status), prepared.pointer)
        }
        guard let made = PreparedResponse(response, closing: closing) else { return .NO }
        return MHD_queue_response(connection, UInt32(response.status), made.pointer)
    }

    private func inline(
        _ handler: @Sendable (HTTPRequest) throws -> HTTPResponse,
        _ request: HTTPRequest
    ) -> HTTPResponse {
        do {
            return try handler(request)
        } catch {
            return failure(error, request.trace)
        }
    }

    private func start(
        _ handler: @escaping @Sendable (HTTPRequest) async throws -> HTTPResponse,
        _ request: HTTPRequest,
        _ exchange: Exchange
    ) {
        let task = Task { [self] in
            let response: HTTPResponse
            do {
                response = try await handler(request)
            } catch {
                response = failure(error, request.trace)
            }
            registry.complete(exchange, response)
        }
        exchange.attach(task)
    }

    private func stream(
        _ exchange: Exchange,
        on connection: OpaquePointer,
        _ handler: @Sendable (HTTPRequest) throws -> StreamAnswer,
        _ request: HTTPRequest
    ) -> MHD_Result {
        do {
            let answer = try handler(request)
            let sender = StreamSender(
                answer.source,
                on: connection,
                exchange.connection,
                stallLimit: configuration.streamStallLimit
            ) { [registry] in registry.remove($0) }
            guard registry.add(sender) else {
                sender.free()
                return self.answer(exchange, on: connection, .error(.stopping))
            }
            guard let made = sender.response(answer.headers) else { return .NO }
            exchange.phase = .answered
            exchange.status = 200
            exchange.connection.cut(after: configuration.streamStallLimit)
            return MHD_queue_response(connection, 200, made.pointer)
        } catch {
            return self.answer(exchange, on: connection, failure(error, request.trace))
        }
    }

    private func upgrade(
        _ exchange: Exchange,
        on connection: OpaquePointer,
        _ handler: @Sendable (HTTPRequest) throws -> UpgradeAnswer,
        _ request: HTTPRequest
    ) -> MHD_Result {
        do {
            let answer = try handler(request)
            guard let made = makeUpgradeResponse(answer) else { return .NO }
            exchange.acceptUpgrade = answer.accept
            exchange.phase = .answered
            exchange.status = 101
            exchange.connection.cut(after: configuration.answerTimeLimit)
            return MHD_queue_response(connection, 101, made.pointer)
        } catch {
            return self.answer(exchange, on: connection, failure(error, request.trace))
        }
    }

    /// The answer for what a handler threw.
    ///
    /// The text of an unknown error goes to the log alone.
    private func failure(_ error: any Error, _ trace: TraceID) -> HTTPResponse {
        if let error = error as? HTTPError { return .error(error) }
        if error is CancellationError { return .error(.deadlineExceeded) }
        logger.error(
            "a request handler failed",
            ["trace.id": .text(trace.description), "error": .text(String(describing: error))]
        )
        return .error(.failure)
    }
}
