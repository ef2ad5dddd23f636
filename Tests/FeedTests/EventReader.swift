import Foundation

/// Reads server-sent events of a chunked answer.
final class EventReader {
    struct Event {
        let name: String
        let object: [String: Any]

        /// The ids of a snapshot's entities.
        var ids: [String] {
            (object["entity"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String }
        }
    }

    private struct Closed: Error {}

    private let socket: Int32
    private var received: [UInt8] = []
    private var text: [UInt8] = []
    private var headText: String?

    /// Connects and asks.
    ///
    /// - Parameters:
    ///   - port: The server's.
    ///   - path: What is asked for.
    ///   - headers: Lines with their ends.
    ///   - receiveBuffer: Bytes that the kernel keeps for it, about; nil for what is usual.
    /// - Throws: When nobody is there.
    init(port: Int, path: String, headers: String = "", receiveBuffer: Int32? = nil) throws {
        socket = Foundation.socket(
            AF_INET,
            Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue),
            0
        )
        if var receiveBuffer {
            let size = socklen_t(MemoryLayout<Int32>.size)
            setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, size)
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(socket, $0, size) }
        }
        guard status == 0 else { throw Closed() }
        HostileServer.send(socket, "GET \(path) HTTP/1.1\r\nHost: t\r\n\(headers)\r\n")
    }

    deinit { _ = close(socket) }

    /// What has come, at least one byte; waits off the cooperative pool.
    private func receive() async throws -> [UInt8] {
        let socket = socket
        let bytes: [UInt8] = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                var buffer = [UInt8](repeating: 0, count: 65_536)
                let count = recv(socket, &buffer, buffer.count, 0)
                continuation.resume(returning: Array(buffer.prefix(max(0, count))))
            }
        }
        guard !bytes.isEmpty else { throw Closed() }
        return bytes
    }

    /// Takes a little of what has come, and looks at none of it yet.
    func trickle() async throws { received += try await receive() }

    func head() async throws -> String {
        if let headText { return headText }
        let end = Array("\r\n\r\n".utf8)
        while true {
            if let range = received.firstRange(of: end) {
                let head = String(decoding: received[..<range.lowerBound], as: UTF8.self)
                received.removeSubrange(..<range.upperBound)
                headText = head
                return head
            }
            received += try await receive()
        }
    }

    /// Whether the server has said that nothing more comes; waits for it.
    func isOver() async throws -> Bool {
        let end = Array("0\r\n\r\n".utf8)
        while !received.starts(with: end) {
            if received.isEmpty { received += try await receive() } else { try await readChunk() }
        }
        return true
    }

    /// The next event; comments are passed over.
    func next() async throws -> Event {
        _ = try await head()
        let end = Array("\n\n".utf8)
        while true {
            if let range = text.firstRange(of: end) {
                let block = String(decoding: text[..<range.lowerBound], as: UTF8.self)
                text.removeSubrange(..<range.upperBound)
                if let event = Self.event(block) { return event }
                continue
            }
            try await readChunk()
        }
    }

    private func readChunk() async throws {
        while true {
            if let line = received.firstRange(of: Array("\r\n".utf8)),
                let size = Int(
                    String(decoding: received[..<line.lowerBound], as: UTF8.self),
                    radix: 16
                ),
                received.count >= line.upperBound + size + 2
            {
                text += received[line.upperBound..<(line.upperBound + size)]
                received.removeSubrange(..<(line.upperBound + size + 2))
                return
            }
            received += try await receive()
        }
    }

    /// The event that a text is; nil for a comment.
    static func event(_ block: String) -> Event? {
        var name = ""
        var data = ""
        for line in block.split(separator: "\n") {
            if line.hasPrefix("event: ") { name = String(line.dropFirst(7)) }
            if line.hasPrefix("data: ") { data = String(line.dropFirst(6)) }
        }
        guard !name.isEmpty,
            let object = try? JSONSerialization.jsonObject(with: Data(data.utf8)) as? [String: Any]
        else { return nil }
        return Event(name: name, object: object)
    }
}
