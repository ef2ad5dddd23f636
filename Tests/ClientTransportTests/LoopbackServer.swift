import Foundation
import Glibc
import Synchronization
import TestKit

/// Answers one request per connection on a loopback port, from its own thread.
final class LoopbackServer: Sendable {
    private let listener: LoopbackListener
    private let seen = Mutex<[String]>([])

    /// The head of every request so far.
    var heads: [String] { seen.withLock { $0 } }

    var port: Int { listener.port }

    init(_ answer: @escaping @Sendable (_ head: String) -> String) throws {
        listener = try LoopbackListener()
        Thread.detachNewThread { [self] in serve(answer) }
    }

    private func serve(_ answer: (String) -> String) {
        while true {
            let connection = accept(listener.descriptor, nil, nil)
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
