import Foundation
import Glibc
import Synchronization

/// Promises an answer and sends a byte of it each tenth of a second.
final class DrippingServer: Sendable {
    let port: UInt16
    private let listener: Int32
    private let isStopped = Mutex(false)

    init() throws {
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
        Thread.detachNewThread { [self] in
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else { return }
            defer { close(connection) }
            let head = Array("HTTP/1.1 200 OK\r\nContent-Length: 600\r\n\r\n".utf8)
            _ = send(connection, head, head.count, Int32(MSG_NOSIGNAL))
            for _ in 0..<600 where !isStopped.withLock({ $0 }) {
                usleep(100_000)
                guard send(connection, " ", 1, Int32(MSG_NOSIGNAL)) == 1 else { return }
            }
        }
    }

    func stop() {
        isStopped.withLock { $0 = true }
        _ = shutdown(listener, Int32(SHUT_RDWR))
    }
}
