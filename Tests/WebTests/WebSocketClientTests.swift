import Testing

@testable import Web

@Suite(.timeLimit(.minutes(1))) struct WebSocketClientTests {
    let peer: ClientSocketPeer

    init() throws { peer = try ClientSocketPeer() }

    /// Both ends of an open connection.
    func pair(
        _ limits: WebSocketClientLimits = WebSocketClientLimits()
    ) async throws -> (WebSocketClient, ClientSocket, head: String) {
        async let accepted = peer.accept()
        let client = try await WebSocketClient.open(
            peer.url,
            headers: [("Authorization", "Bearer t")],
            limits: limits
        )
        let (socket, head) = try await accepted
        return (client, socket, head)
    }

    @Test func `upgrades with its headers and exchanges texts`() async throws {
        let (client, socket, head) = try await pair()
        #expect(head.hasPrefix("GET /api/live?x=1 HTTP/1.1\r\nHost: 127.0.0.1:\(peer.port)\r\n"))
        #expect(head.contains("\r\nAuthorization: Bearer t\r\n"))
        for number in 0..<3 { try client.send("hello \(number) č") }
        for number in 0..<3 {
            let frame = try await socket.next()
            #expect(frame.opcode == 1 && frame.isMasked)
            #expect(String(decoding: frame.payload, as: UTF8.self) == "hello \(number) č")
        }
        socket.text("one")
        socket.frame(1, Array("tw".utf8), isLast: false)
        socket.frame(9, [7])
        socket.frame(0, Array("o".utf8))
        socket.frame(2, [1, 2, 3])
        socket.text(String(repeating: "x", count: 70_000))
        #expect(try await client.receive() == "one")
        #expect(try await client.receive() == "two")
        #expect(try await client.receive().count == 70_000)
        let pong = try await socket.next()
        #expect(pong.opcode == 10 && pong.payload == [7])
    }

    @Test(arguments: [200, 400, 401, 403, 503])
    func `tells the status of a refusal`(status: Int) async throws {
        async let accepted = peer.accept { _, _ in
            "HTTP/1.1 \(status) No\r\nContent-Length: 0\r\n\r\n"
        }
        await #expect(throws: WebSocketClientError.refused(status: status)) {
            try await WebSocketClient.open(peer.url)
        }
        _ = try await accepted
    }

    @Test(
        arguments: [
            "HTTP/1.1 101 Yes\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Accept: wrong\r\n\r\n",
            "HTTP/1.1 101 Yes\r\nConnection: Upgrade\r\n\r\n", "SSH-2.0-x\r\n\r\n",
        ]
    )
    func `does not take another protocol for WebSocket`(answer: String) async throws {
        async let accepted = peer.accept { _, _ in answer }
        await #expect(throws: WebSocketClientError.notWebSocket) {
            try await WebSocketClient.open(peer.url)
        }
        _ = try await accepted
    }

    @Test(arguments: ["", "ftp://127.0.0.1", "127.0.0.1:80", "http://"])
    func `refuses what is no address of a web server`(url: String) async {
        await #expect(throws: WebSocketClientError.invalidURL) {
            try await WebSocketClient.open(url)
        }
    }

    @Test func `lets no header begin another one`() async {
        await #expect(throws: WebSocketClientError.invalidURL) {
            try await WebSocketClient.open(peer.url, headers: [("A", "b\r\nC: d")])
        }
    }

    @Test func `says that nobody listens`() async throws {
        let port = try ClientSocketPeer().port
        await #expect {
            try await WebSocketClient.open("http://127.0.0.1:\(port)")
        } throws: { error in
            if case .cannotConnect = error as? WebSocketClientError { true } else { false }
        }
    }

    @Test func `gives up an upgrade without an answer`() async throws {
        var limits = WebSocketClientLimits()
        limits.openTime = .milliseconds(100)
        await #expect(throws: WebSocketClientError.timedOut) {
            try await WebSocketClient.open(peer.url, limits: limits)
        }
    }

    @Test func `hands over what came before a close, then its code and reason`() async throws {
        let (client, socket, _) = try await pair()
        socket.text("last")
        socket.frame(8, [0x0F, 0xA1] + Array("session ended".utf8))
        #expect(try await client.receive() == "last")
        let end = WebSocketClientError.closed(code: 4001, reason: "session ended")
        await #expect(throws: end) { try await client.receive() }
        await #expect(throws: end) { try await client.receive() }
        #expect(throws: end) { try client.send("x") }
        let reply = try await socket.next()
        #expect(reply.opcode == 8 && reply.payload.prefix(2) == [0x0F, 0xA1])
    }

    @Test func `notices a server that is gone without a word`() async throws {
        let (client, socket, _) = try await pair()
        let waiting = Task { try await client.receive() }
        socket.abort()
        await #expect {
            _ = try await waiting.value
        } throws: { error in
            if case .closed(code: 1006, _) = error as? WebSocketClientError { true } else { false }
        }
    }

    @Test func `notices a server that says nothing for too long`() async throws {
        var limits = WebSocketClientLimits()
        limits.silence = .milliseconds(50)
        let (client, socket, _) = try await pair(limits)
        await #expect(throws: WebSocketClientError.timedOut) { try await client.receive() }
        _ = socket
    }

    @Test func `ends by a message that is too long`() async throws {
        var limits = WebSocketClientLimits()
        limits.messageBytes = 100
        let (client, socket, _) = try await pair(limits)
        socket.frame(1, [UInt8](repeating: 97, count: 101))
        await #expect(throws: WebSocketClientError.self) { try await client.receive() }
        _ = socket
    }

    @Test func `closes politely`() async throws {
        let (client, socket, _) = try await pair()
        client.close()
        let frame = try await socket.next()
        #expect(frame.opcode == 8 && frame.payload.prefix(2) == [0x03, 0xE8])
        await #expect(throws: WebSocketClientError.self) { try await client.receive() }
    }

    @Test func `stops waiting with its task, and can wait again`() async throws {
        let (client, socket, _) = try await pair()
        let waiting = Task { try await client.receive() }
        waiting.cancel()
        await #expect(throws: WebSocketClientError.cancelled) { try await waiting.value }
        socket.text("still here")
        #expect(try await client.receive() == "still here")
    }
}
