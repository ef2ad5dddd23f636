import Foundation
import Glibc
import Synchronization

/// Answers one request per connection on a loopback port, from its own thread.
final class LoopbackServer: Sendable {
    let port: UInt16
    private let listener: Int32
    private let seen = Mutex<[String]>([])

    /// The head of every request so far.
    var heads: [String] { seen.withLock { $0 } }

    init(_ answer: @escaping @Sendable (_ head: String) -> String) throws {
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let socket = listener
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 && listen(socket, 8) == 0
                    && getsockname(socket, $0, &length) == 0
            }
        }
        guard bound else { throw POSIXError(.EADDRNOTAVAIL) }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [self] in serve(answer) }
    }

    private func serve(_ answer: (String) -> String) {
        while true {
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else { return }
            defer { close(connection) }
            var head = ""
            var buffer = [UInt8](repeating: 0, count: 4096)
            while !head.contains("\r\n\r\n") {
                let count = recv(connection, &buffer, buffer.count, 0)
                guard count > 0 else { break }
                head += String(decoding: buffer[..<count], as: UTF8.self)
            }
            guard !head.isEmpty else { continue }
            seen.withLock { $0.append(head) }
            let bytes = Array(answer(head).utf8)
            _ = send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        }
    }
}
