import Glibc
import TestKit

@testable import Web

/// The server's side of one WebSocket, byte by byte, on threads of its own.
final class ClientSocketPeer: Sendable {
    private let listener: LoopbackListener
    var port: Int { listener.port }

    init() throws {
        listener = try LoopbackListener()
    }

    var url: String { "http://127.0.0.1:\(port)/api/live?x=1" }

    /// Takes one connection and answers its upgrade.
    ///
    /// - Parameter answer: Makes the answer from the client's head and the right key; nil is the
    ///   right answer.
    /// - Returns: The open connection and the client's head.
    /// - Throws: When nobody comes, or leaves before the end of the head.
    func accept(
        _ answer: (@Sendable (_ head: String, _ key: String) -> String)? = nil
    ) async throws -> (ClientSocket, String) {
        let listener = listener
        return try await offPool {
            let descriptor = Glibc.accept(listener.descriptor, nil, nil)
            guard descriptor >= 0 else { throw RawSocketError.refused }
            let socket = ClientSocket(descriptor)
            var head = ""
            while !head.hasSuffix("\r\n\r\n") {
                head += String(decoding: try socket.read(1), as: UTF8.self)
            }
            let key = head.split(separator: "\r\n").first { $0.hasPrefix("Sec-WebSocket-Key: ") }
            let accepted = WebSocketUpgrade.accept(of: String((key ?? "").dropFirst(19)))
            socket.write(
                answer?(head, accepted) ?? """
                    HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r
                    Connection: Upgrade\r\nSec-WebSocket-Accept: \(accepted)\r\n\r\n
                    """
            )
            return (socket, head)
        }
    }
}

/// One accepted connection.
final class ClientSocket: Sendable {
    private let descriptor: Int32

    init(_ descriptor: Int32) {
        self.descriptor = descriptor
        var timeout = timeval(tv_sec: 20, tv_usec: 0)
        setsockopt(
            descriptor,
            SOL_SOCKET,
            SO_RCVTIMEO,
            &timeout,
            socklen_t(MemoryLayout<timeval>.size)
        )
    }

    deinit { _ = Glibc.close(descriptor) }

    func read(_ count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let got = bytes.withUnsafeMutableBytes {
                recv(descriptor, $0.baseAddress.map { $0 + filled }, count - filled, 0)
            }
            guard got > 0 else { throw RawSocketError.closed("") }
            filled += got
        }
        return bytes
    }

    func write(_ text: String) { write(Array(text.utf8)) }

    func write(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let sent = rest.withUnsafeBytes {
                send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard sent > 0 else { return }
            rest = rest.dropFirst(sent)
        }
    }

    /// Sends a frame without a mask, as servers do.
    func frame(_ opcode: UInt8, _ payload: [UInt8], isLast: Bool = true) {
        var bytes = [(isLast ? 0x80 : 0) | opcode]
        switch payload.count {
        case ..<126: bytes.append(UInt8(payload.count))
        case ..<65_536: bytes += [126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
        default:
            bytes += [127, 0, 0, 0, 0] + [24, 16, 8, 0].map { UInt8(payload.count >> $0 & 0xFF) }
        }
        write(bytes + payload)
    }

    /// Ends the connection without a word.
    func abort() { shutdown(descriptor, Int32(SHUT_RDWR)) }

    func text(_ text: String) { frame(1, Array(text.utf8)) }

    /// The next frame of the client, which must have a mask.
    func next() async throws -> (opcode: UInt8, payload: [UInt8], isMasked: Bool) {
        try await offPool { [self] in
            let head = try read(2)
            var length = Int(head[1] & 0x7F)
            if length == 126 { length = try read(2).reduce(0) { $0 << 8 | Int($1) } }
            if length == 127 { length = try read(8).reduce(0) { $0 << 8 | Int($1) } }
            let mask = try read(4)
            let payload = try read(length).enumerated().map { $1 ^ mask[$0 % 4] }
            return (head[0] & 0x0F, payload, head[1] & 0x80 != 0)
        }
    }
}

/// Runs calls that block on a thread of their own.
private func offPool<Value: Sendable>(
    _ work: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        BackgroundThread.start { continuation.resume(with: Result { try work() }) }
    }
}
