internal import Glibc
public import Web

/// One answer as it came over the wire.
public struct RawResponse: Sendable {
    /// The status code.
    public let status: Int
    /// All headers in their order.
    public let headers: HTTPHeaders
    /// The body as text.
    public let body: String
}

/// A TCP client that sends exactly the bytes it is given.
///
/// Its calls block threads of its own, never the pool that handlers run on.
public final class RawSocket: Sendable {
    /// How long a test waits for bytes before it fails.
    private static let timeoutSeconds = 20

    /// The socket; it is closed with this value.
    public let descriptor: Int32

    /// Connects to a port of this machine.
    ///
    /// - Parameters:
    ///   - port: The port.
    ///   - receiveBuffer: Bytes that the system takes while nobody reads; nil for its own choice.
    /// - Throws: ``RawSocketError`` when nobody listens there.
    public init(port: Int, receiveBuffer: Int32? = nil) async throws {
        descriptor = try await Self.offPool {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = in_port_t(port).bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let descriptor = socket(
                AF_INET,
                Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue),
                0
            )
            var timeout = timeval(tv_sec: Self.timeoutSeconds, tv_usec: 0)
            let size = socklen_t(MemoryLayout<timeval>.size)
            setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, size)
            if var bytes = receiveBuffer {
                let size = socklen_t(MemoryLayout<Int32>.size)
                setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, size)
            }
            let failed = withUnsafeBytes(of: &address) { bytes in
                connect(
                    descriptor,
                    bytes.assumingMemoryBound(to: sockaddr.self).baseAddress,
                    socklen_t(bytes.count)
                )
            }
            guard failed == 0 else {
                _ = Glibc.close(descriptor)
                throw RawSocketError.refused
            }
            return descriptor
        }
    }

    /// Takes over a socket that has left the server, waiting for bytes like the others.
    public init(adopting descriptor: Int32) {
        self.descriptor = descriptor
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK)
    }

    deinit { _ = Glibc.close(descriptor) }

    /// Sends a text as UTF-8.
    public func send(_ text: String) async throws { try await send(Array(text.utf8)) }

    /// Sends all bytes; a peer that closes early is no failure here, its answer tells.
    public func send(_ bytes: [UInt8]) async throws {
        try await Self.offPool { [descriptor] in
            var rest = bytes[...]
            while !rest.isEmpty {
                let sent = rest.withUnsafeBytes {
                    Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard sent > 0 else { return }
                rest = rest.dropFirst(sent)
            }
        }
    }

    /// Reads one answer with a `Content-Length`; interim 100 answers are passed over.
    public func response(hasBody: Bool = true) async throws -> RawResponse {
        try await Self.offPool { [descriptor] in
            while true {
                var head: [UInt8] = []
                while !head.suffix(4).elementsEqual([13, 10, 13, 10]) {
                    var byte: UInt8 = 0
                    guard recv(descriptor, &byte, 1, 0) == 1 else {
                        throw RawSocketError.closed(String(decoding: head, as: UTF8.self))
                    }
                    head.append(byte)
                }
                let lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
                let status = lines[0].split(separator: " ")[1]
                if status == "100" { continue }
                let headers = HTTPHeaders(
                    lines.dropFirst().map { line in
                        let parts = line.split(separator: ":", maxSplits: 1)
                        return (String(parts[0]), String(parts[1].drop { $0 == " " }))
                    }
                )
                let count = hasBody ? Int(headers.first("Content-Length") ?? "0") ?? 0 : 0
                let body = try Self.read(descriptor, count)
                return RawResponse(
                    status: Int(status) ?? 0,
                    headers: headers,
                    body: String(decoding: body, as: UTF8.self)
                )
            }
        }
    }

    /// Reads exactly so many bytes.
    public func bytes(_ count: Int) async throws -> [UInt8] {
        try await Self.offPool { [descriptor] in try Self.read(descriptor, count) }
    }

    /// Reads what has come, at least one byte.
    public func someBytes() async throws -> [UInt8] {
        try await Self.offPool { [descriptor] in
            var bytes = [UInt8](repeating: 0, count: 65_536)
            let received = recv(descriptor, &bytes, bytes.count, 0)
            guard received > 0 else { throw RawSocketError.closed("before a byte came") }
            return Array(bytes[..<received])
        }
    }

    /// True when the peer closes, after what it still sends.
    ///
    /// The library's own refusals (0.9.75) carry their head twice, so some bytes may be left over.
    public func isClosedByPeer() async throws -> Bool {
        try await Self.offPool { [descriptor] in
            var bytes = [UInt8](repeating: 0, count: 1024)
            while true {
                let count = recv(descriptor, &bytes, bytes.count, 0)
                if count > 0 { continue }
                return count == 0 || errno == ECONNRESET
            }
        }
    }

    private static func read(_ descriptor: Int32, _ count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let received = bytes[filled...].withUnsafeMutableBytes {
                recv(descriptor, $0.baseAddress, $0.count, 0)
            }
            guard received > 0 else { throw RawSocketError.closed("after \(filled) bytes") }
            filled += received
        }
        return bytes
    }

    private static func offPool<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            detachThread { continuation.resume(with: Result { try body() }) }
        }
    }
}

/// Why a raw exchange came to nothing.
public enum RawSocketError: Error {
    /// Nobody listens.
    case refused
    /// The peer closed, or was silent for too long, after what is told.
    case closed(String)
}
