internal import FoundationEssentials

/// The opening of a WebSocket, the client's half (RFC 6455, section 4.1).
struct WebSocketUpgrade: Sendable {
    /// Bytes of the server's head.
    static let headLimit = 16 << 10
    /// The text that both sides append to the client's key.
    private static let suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

    /// Where libcurl connects to.
    let url: String
    /// The request as it goes out.
    let request: [UInt8]
    private let accept: String

    /// Builds the request; nil for another URL than `http` and `https`, or for a header that would
    /// begin another one.
    init?(url text: String, headers: [(String, String)]) {
        guard let url = URL(string: text), let scheme = url.scheme?.lowercased(),
            ["http", "https"].contains(scheme), let host = url.host(), !host.isEmpty
        else { return nil }
        let key = Data((0..<16).map { _ in UInt8.random(in: .min ... .max) })
            .base64EncodedString()
        let path = url.path(percentEncoded: true)
        let query = url.query(percentEncoded: true).map { "?\($0)" } ?? ""
        let name = host.contains(":") ? "[\(host)]" : host
        var lines = [
            "GET \(path.isEmpty ? "/" : path)\(query) HTTP/1.1",
            "Host: \(name)\(url.port.map { ":\($0)" } ?? "")",
            "Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: \(key)",
        ]
        for (name, value) in headers { lines.append("\(name): \(value)") }
        guard !lines.contains(where: { $0.utf8.contains { $0 == 13 || $0 == 10 || $0 == 0 } })
        else {
            return nil
        }
        self.url = text
        request = Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
        accept = Self.accept(of: key)
    }

    /// What a WebSocket server makes of a key.
    static func accept(of key: String) -> String {
        Data(SHA1.digest(of: Array((key + suffix).utf8))).base64EncodedString()
    }

    /// Whether the server has become a WebSocket by its answer.
    ///
    /// - Parameter head: The status line and the headers, as text.
    /// - Throws: ``WebSocketClientError/refused(status:)`` for another status,
    ///   ``WebSocketClientError/notWebSocket`` for an answer that does not know the key.
    func check(head: String) throws(WebSocketClientError) {
        let lines = head.split(separator: "\r\n", omittingEmptySubsequences: false)
        let words = (lines.first ?? "").split(separator: " ")
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
            throw .notWebSocket
        }
        guard status == 101 else { throw .refused(status: status) }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            headers[line[..<colon].lowercased()] = String(value)
        }
        guard headers["upgrade"]?.lowercased() == "websocket",
            headers["connection"]?.lowercased() == "upgrade",
            headers["sec-websocket-accept"]?.split(separator: " ").first.map({ $0 == accept })
                == true
        else { throw .notWebSocket }
    }
}
