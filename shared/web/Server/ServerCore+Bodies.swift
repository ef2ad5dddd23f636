internal import CMicrohttpd
internal import Telemetry

// What comes after a head, and what becomes of callers who send it too slowly or too long.
extension ServerCore {
    /// Waits for the body that a head announces, and ends the slowest ones where too many are waited for.
    func awaitBody(_ exchange: Exchange) {
        exchange.connection.cut(after: configuration.bodyTimeLimit)
        guard exchange.announcedLength != 0 else { return }
        for slow in bodies.begin(exchange) {
            slow.phase = .cut
            slow.body = []
            metrics.cutConnections.add()
            answerPastLibrary(.error(.busy), slow.connection.descriptor)
            _ = shutdown(slow.connection.descriptor, Int32(SHUT_RDWR))
        }
    }

    /// Takes in a piece of the body.
    func collect(
        _ exchange: Exchange,
        _ piece: UnsafeBufferPointer<UInt8>,
        on connection: OpaquePointer
    ) -> MHD_Result {
        if case .discarding(let response) = exchange.phase {
            exchange.discarded += piece.count
            guard exchange.discarded <= discardLimit else {
                return cutOff(exchange, on: connection, response)
            }
            return .YES
        }
        let limit = exchange.request?.bodyLimit ?? 0
        guard exchange.body.count + piece.count <= limit else {
            exchange.body = []
            exchange.discarded = piece.count
            exchange.phase = .discarding(.error(.bodyTooLarge))
            return .YES
        }
        exchange.body.append(contentsOf: piece)
        return .YES
    }

    /// Answers in the middle of a body and closes.
    private func cutOff(
        _ exchange: Exchange,
        on connection: OpaquePointer,
        _ response: HTTPResponse
    ) -> MHD_Result {
        exchange.status = response.status
        exchange.phase = .answered
        let socket = alongside_mhd_socket(connection)
        answerPastLibrary(response, socket)
        _ = shutdown(socket, Int32(SHUT_WR))
        return .NO
    }

    /// Sends an answer in the middle of a body, where the library cannot: it has written nothing on this request but
    /// perhaps a 100.
    private func answerPastLibrary(_ response: HTTPResponse, _ socket: Int32) {
        let body = response.body.bytes
        var text = "HTTP/1.1 \(response.status) Refused\r\nConnection: close\r\n"
        text += "Content-Length: \(body.count)\r\n"
        for (name, value) in response.headers { text += "\(name): \(value)\r\n" }
        let bytes = Array((text + "\r\n").utf8) + body
        _ = send(socket, bytes, bytes.count, Int32(MSG_NOSIGNAL))
    }
}
