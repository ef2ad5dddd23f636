internal import FoundationEssentials

/// The opening of a WebSocket, the server's half (RFC 6455, section 4.2).
public enum WebSocketHandshake {
    /// The text that both sides append to the client's key.
    private static let suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

    /// Answers a request that wants to become a WebSocket; extensions and subprotocols are not spoken.
    ///
    /// - Parameters:
    ///   - request: The head of the request.
    ///   - accept: Takes the socket.
    /// - Returns: The 101 answer.
    /// - Throws: 400 for what is not such a request, 426 for another version of the protocol.
    public static func answer(
        _ request: HTTPRequest,
        accept: @escaping @Sendable (UpgradedSocket) -> Void
    ) throws(HTTPError) -> UpgradeAnswer {
        let headers = request.headers
        guard has("websocket", in: headers.values("Upgrade")),
            has("upgrade", in: headers.values("Connection"))
        else { throw .notWebSocket }
        guard headers.values("Sec-WebSocket-Version") == ["13"] else { throw .webSocketVersion }
        let keys = headers.values("Sec-WebSocket-Key")
        guard keys.count == 1, let key = keys.first, isKey(key) else { throw .notWebSocket }
        return UpgradeAnswer(
            headers: [("Upgrade", "websocket"), ("Sec-WebSocket-Accept", self.accept(of: key))],
            accept: accept
        )
    }

    /// What proves to a client that its key was read by a WebSocket server.
    static func accept(of key: String) -> String {
        Data(SHA1.digest(of: Array((key + suffix).utf8))).base64EncodedString()
    }

    /// Sixteen bytes in base64.
    private static func isKey(_ key: String) -> Bool {
        key.utf8.count == 24 && Data(base64Encoded: key)?.count == 16
    }

    private static func has(_ token: String, in lines: [String]) -> Bool {
        lines.contains { line in
            line.split(separator: ",").contains { part in
                part.drop { $0 == " " || $0 == "\t" }.lowercased()
                    .split(separator: " ").first.map { $0 == token } ?? false
            }
        }
    }
}

extension HTTPError {
    /// 400 for a request that does not open a WebSocket where one is needed.
    public static let notWebSocket = HTTPError(
        status: 400,
        code: "websocket.expected",
        message: "this address speaks WebSocket only"
    )

    /// 426 for another version of WebSocket than 13.
    public static let webSocketVersion = HTTPError(
        status: 426,
        code: "websocket.version",
        message: "only version 13 of WebSocket is spoken"
    )
}
