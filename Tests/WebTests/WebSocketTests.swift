import Testing

@testable import Web

/// What clients may send over a WebSocket, cut anywhere (RFC 6455).
@Suite struct WebSocketTests {
    /// A frame as clients send it, masked.
    static func frame(
        _ opcode: UInt8,
        _ payload: [UInt8],
        fin: Bool = true,
        mask: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]
    ) -> [UInt8] {
        var frame: [UInt8] = [(fin ? 0x80 : 0) | opcode]
        switch payload.count {
        case ..<126: frame.append(0x80 | UInt8(payload.count))
        case ...0xFFFF:
            frame += [0xFE, UInt8(payload.count >> 8), UInt8(truncatingIfNeeded: payload.count)]
        default:
            frame.append(0xFF)
            for shift in stride(from: 56, through: 0, by: -8) {
                frame.append(UInt8(truncatingIfNeeded: payload.count >> shift))
            }
        }
        return frame + mask + payload.enumerated().map { $1 ^ mask[$0 % 4] }
    }

    /// Reads bytes in pieces of so many.
    static func read(
        _ bytes: [UInt8],
        by size: Int = .max,
        limit: Int = 32_768
    ) -> (reading: WebSocketReader.Reading, held: Int) {
        var reader = WebSocketReader(messageLimit: limit)
        let spares = WebSocketReader.Spares()
        var whole = WebSocketReader.Reading()
        var rest = bytes[...]
        while !rest.isEmpty, whole.end == nil {
            let piece = rest.prefix(size)
            rest = rest.dropFirst(size)
            let reading = piece.withUnsafeBytes { reader.read($0, with: spares) }
            whole.messages += reading.messages
            whole.replies += reading.replies
            whole.oversize += reading.oversize
            whole.binaries += reading.binaries
            whole.pongs += reading.pongs
            whole.end = reading.end
        }
        return (whole, reader.heldBytes)
    }

    static let stream: [UInt8] =
        frame(1, Array("one".utf8))
        + frame(1, Array("tw".utf8), fin: false) + frame(9, Array("hi".utf8))
        + frame(0, Array("o".utf8)) + frame(2, [0, 255, 0]) + frame(10, [])
        + frame(1, [UInt8](repeating: 0x61, count: 300)) + frame(1, [])
        + frame(1, [UInt8](repeating: 0x62, count: 70_000))
        + frame(1, Array("last".utf8))

    @Test(arguments: [1, 2, 3, 5, 7, 64, 4096, 4097, .max])
    func `messages come whole however they are cut`(size: Int) {
        let (reading, held) = Self.read(Self.stream, by: size)
        let texts = reading.messages.map { String(decoding: $0, as: UTF8.self) }
        #expect(texts == ["one", "two", String(repeating: "a", count: 300), "", "last"])
        #expect([reading.oversize, reading.binaries, reading.pongs] == [1, 1, 1])
        #expect(reading.replies == [0x8A, 2, 0x68, 0x69])
        #expect(reading.end == nil)
        #expect(held == 0)
    }

    @Test(arguments: 1..<12) func `an unfinished message holds a decoder, a finished one nothing`(
        length: Int
    ) {
        let bytes = Self.frame(1, Array("hello".utf8))
        #expect((Self.read(Array(bytes.prefix(length)), by: 1).held > 9000) == (length < 11))
    }

    @Test(arguments: [32_767, 32_768, 32_769]) func `the limit is inclusive`(count: Int) {
        let (reading, _) = Self.read(Self.frame(1, [UInt8](repeating: 0x61, count: count)))
        #expect(reading.messages.count == (count <= 32_768 ? 1 : 0))
        #expect(reading.oversize == (count <= 32_768 ? 0 : 1))
        #expect(reading.end == nil)
    }

    @Test func `a long message in fragments is drained`() {
        var bytes = Self.frame(1, [UInt8](repeating: 0x61, count: 30_000), fin: false)
        bytes += Self.frame(0, [UInt8](repeating: 0x61, count: 30_000), fin: false)
        bytes += Self.frame(0, [UInt8](repeating: 0x61, count: 10))
        bytes += Self.frame(1, Array("next".utf8))
        let (reading, held) = Self.read(bytes, by: 1000)
        #expect(reading.oversize == 1)
        #expect(reading.messages == [Array("next".utf8)])
        #expect(held == 0)
    }

    @Test(arguments: [0, 1], [1, 3, .max])
    func `a frame that is too long is refused at its head`(more: Int, size: Int) {
        let length: [UInt8] = [0, 0, 0, 0, 1, 0, 0, UInt8(more)]
        let before = Self.frame(1, Array("before".utf8)) + Self.frame(9, [])
        for mask in [[], [1, 2, 3, 4]] as [[UInt8]] {
            let (reading, held) = Self.read(before + [0x81, 0xFF] + length + mask, by: size)
            #expect(reading.messages == [Array("before".utf8)])
            #expect(reading.end == (more > 0 ? .faulty : nil))
            #expect(reading.replies == [0x8A, 0] + (more > 0 ? [0x88, 2, 0x03, 0xF1] : []))
            #expect((held > 0) == (more == 0))
        }
    }

    /// What breaks the protocol, and the code of our close frame.
    struct Fault: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: [UInt8]
        let code: UInt16
    }

    static let faults: [Fault] = [
        Fault(testDescription: "no mask", bytes: [0x81, 1, 0x61], code: 1002),
        Fault(testDescription: "reserved bit", bytes: [0xC1, 0x81, 0, 0, 0, 0, 1], code: 1002),
        Fault(testDescription: "stray continuation", bytes: frame(0, [1]), code: 1002),
        Fault(
            testDescription: "a message inside a message",
            bytes: frame(1, [0x61], fin: false) + frame(1, [0x61]),
            code: 1002
        ),
        Fault(testDescription: "no UTF-8", bytes: frame(1, [0xC3, 0x28]), code: 1007),
        Fault(testDescription: "half a character", bytes: frame(1, [0xC3]), code: 1007),
        Fault(testDescription: "unknown opcode", bytes: [0x83, 0x80, 0, 0, 0, 0], code: 1002),
        Fault(
            testDescription: "a ping that is too long",
            bytes: [0x89, 0xFE, 0, 126, 0, 0, 0, 0],
            code: 1002
        ),
        Fault(testDescription: "a ping in fragments", bytes: [0x09, 0x80, 0, 0, 0, 0], code: 1002),
        Fault(
            testDescription: "a length that is not the shortest",
            bytes: [0x81, 0xFE, 0, 1, 0, 0, 0, 0, 1],
            code: 1002
        ),
        Fault(
            testDescription: "a length that no number has",
            bytes: [0x81, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            code: 1002
        ),
        Fault(testDescription: "half a close code", bytes: frame(8, [0x03]), code: 1002),
        Fault(testDescription: "a code that nobody has", bytes: frame(8, [3, 0xE7]), code: 1002),
        Fault(
            testDescription: "a frame longer than 16 MiB",
            bytes: [0x81, 0xFF, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0],
            code: 1009
        ),
    ]

    @Test(arguments: faults) func `a fault is told with its code`(fault: Fault) {
        for size in [1, .max] {
            let (reading, held) = Self.read(fault.bytes + Self.frame(1, [0x61]), by: size)
            #expect(reading.end == .faulty)
            #expect(reading.messages.isEmpty)
            #expect(reading.replies.prefix(2) == [0x88, 2])
            #expect(
                reading.replies.dropFirst(2) == [UInt8(fault.code >> 8), UInt8(fault.code & 0xFF)]
            )
            #expect(held == 0)
        }
    }

    @Test func `a frame of 16 MiB is drained`() {
        let (reading, _) = Self.read([0x81, 0xFF, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0x61])
        #expect(reading.end == nil)
    }

    @Test func `a close is answered with its code`() {
        let (reading, _) = Self.read(
            Self.frame(8, [0x03, 0xE8] + "bye".utf8) + Self.frame(1, [0x61])
        )
        #expect(reading.end == .closed)
        #expect(reading.messages.isEmpty)
        #expect(reading.replies == [0x88, 5, 0x03, 0xE8] + Array("bye".utf8))
    }

    @Test(
        arguments: [
            (0, [0x81, 0]), (125, [0x81, 125]), (126, [0x81, 126, 0, 126]),
            (65_535, [0x81, 126, 255, 255]), (65_536, [0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] as [(Int, [UInt8])]
    )
    func `frames to clients have the shortest head`(count: Int, head: [UInt8]) {
        let payload = [UInt8](repeating: 0x61, count: count)
        #expect(WebSocketFrame.text(payload) == head + payload)
    }

    @Test func `control frames to clients are short`() {
        #expect(WebSocketFrame.ping == [0x89, 0])
        #expect(WebSocketFrame.close(code: 4001, reason: "x") == [0x88, 3, 0x0F, 0xA1, 0x78])
        let long = WebSocketFrame.close(code: 1000, reason: String(repeating: "é", count: 100))
        #expect(long.count <= 127)
    }

    @Test func `the handshake is that of the RFC's example`() throws {
        #expect(
            WebSocketHandshake.accept(of: "dGhlIHNhbXBsZSBub25jZQ==")
                == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
        )
        #expect(SHA1.digest(of: Array("abc".utf8)).prefix(4) == [0xA9, 0x99, 0x3E, 0x36])
        #expect(SHA1.digest(of: []).prefix(4) == [0xDA, 0x39, 0xA3, 0xEE])
    }

    static let headers = [
        ("Host", "t"), ("Connection", "keep-alive, Upgrade"), ("Upgrade", "WebSocket"),
        ("Sec-WebSocket-Version", "13"), ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ]

    private func answer(_ headers: [(String, String)]) throws(HTTPError) -> UpgradeAnswer {
        var request = HTTPRequest(method: .get, path: ["live"])
        request.headers = HTTPHeaders(headers)
        return try WebSocketHandshake.answer(request) { _ in }
    }

    @Test func `a whole request is answered 101`() throws {
        let answer = try answer(Self.headers)
        #expect(answer.headers.map(\.0) == ["Upgrade", "Sec-WebSocket-Accept"])
    }

    @Test(arguments: 1..<5) func `what lacks a header is no WebSocket`(index: Int) {
        var headers = Self.headers
        headers.remove(at: index)
        let error = #expect(throws: HTTPError.self) { try answer(headers) }
        #expect(error?.status == (index == 3 ? 426 : 400))
    }

    @Test(arguments: [
        ("Sec-WebSocket-Key", "short"), ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ!="),
        ("Connection", "close"), ("Upgrade", "h2c"),
    ])
    func `a wrong header is 400`(name: String, value: String) {
        let headers = Self.headers.map { $0.0 == name ? (name, value) : $0 }
        #expect(throws: HTTPError.notWebSocket) { try answer(headers) }
    }
}
