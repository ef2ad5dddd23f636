import Foundation
import Glibc
import Synchronization
import TestKit

/// Promises an answer and sends a byte of it each tenth of a second.
final class DrippingServer: Sendable {
    private let listener: LoopbackListener
    private let isStopped = Mutex(false)

    var port: Int { listener.port }

    init() throws {
        listener = try LoopbackListener()
        Thread.detachNewThread { [self] in
            let connection = accept(listener.descriptor, nil, nil)
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
        _ = shutdown(listener.descriptor, Int32(SHUT_RDWR))
    }
}
