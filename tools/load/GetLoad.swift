internal import CLinux
internal import Glibc

/// Asks for one path again and again over kept-open connections, as fast as answers come.
public struct GetLoad: Sendable {
    /// What came back.
    public struct Result: Sendable {
        /// Whole answers of the wanted status.
        public var answers = 0
        /// Their bytes, heads among them.
        public var bytes = 0
        /// Answers of another status.
        public var others = 0
    }

    private let port: Int
    private let path: String
    private let isConditional: Bool
    private let connections: Int

    /// Describes a load.
    ///
    /// - Parameters:
    ///   - port: Of a server on this machine.
    ///   - path: What is asked for.
    ///   - isConditional: Whether the last ETag is sent along, so that 304 is the wanted answer.
    ///   - connections: How many ask at once.
    public init(port: Int, path: String, isConditional: Bool = false, connections: Int = 16) {
        self.port = port
        self.path = path
        self.isConditional = isConditional
        self.connections = connections
    }

    /// One connection with what has come of its answer.
    private struct Asker {
        let descriptor: Int32
        var head: [UInt8] = []
        /// Bytes of the body that are still to come; nil while the head is read.
        var missing: Int?
    }

    /// Asks for some seconds.
    ///
    /// - Throws: ``LoadFailure`` when a connection breaks.
    public func run(for seconds: Double) throws -> Result {
        var askers = try (0..<connections).map { _ in Asker(descriptor: try connect()) }
        defer { for asker in askers { close(asker.descriptor) } }
        var result = Result()
        var etag = ""
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        for asker in askers { try ask(asker.descriptor, etag) }
        let end = LoadRunner.now + seconds
        while LoadRunner.now < end {
            var polled = askers.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
            guard poll(&polled, nfds_t(polled.count), 1000) > 0 else { continue }
            for index in polled.indices where polled[index].revents != 0 {
                let count = recv(askers[index].descriptor, &buffer, buffer.count, 0)
                guard count > 0 else { throw LoadFailure("a connection ended: \(errno)") }
                guard try take(buffer[..<count], &askers[index], &result, &etag) else { continue }
                try ask(askers[index].descriptor, etag)
            }
        }
        return result
    }

    /// Takes what has come.
    ///
    /// - Returns: Whether the answer is whole.
    private func take(
        _ bytes: ArraySlice<UInt8>,
        _ asker: inout Asker,
        _ result: inout Result,
        _ etag: inout String
    ) throws -> Bool {
        result.bytes += bytes.count
        if let missing = asker.missing {
            asker.missing = missing - bytes.count
        } else {
            asker.head += bytes
            guard let end = asker.head.firstRange(of: Array("\r\n\r\n".utf8)) else { return false }
            let lines = String(decoding: asker.head[..<end.lowerBound], as: UTF8.self)
                .split(separator: "\r\n")
            var length = 0
            for line in lines.dropFirst() {
                let parts = line.split(separator: ":", maxSplits: 1)
                guard parts.count == 2 else { continue }
                let value = parts[1].drop { $0 == " " }
                switch parts[0].lowercased() {
                case "content-length": length = Int(value) ?? 0
                case "etag": etag = String(value)
                default: break
                }
            }
            let status = lines.first?.split(separator: " ").dropFirst().first ?? ""
            if status == (isConditional ? "304" : "200") {
                result.answers += 1
            } else {
                result.others += 1
            }
            let body = status == "304" ? 0 : length
            asker.missing = body - (asker.head.count - end.upperBound)
        }
        guard asker.missing == 0 else { return false }
        asker.missing = nil
        asker.head.removeAll(keepingCapacity: true)
        return true
    }

    private func ask(_ descriptor: Int32, _ etag: String) throws {
        let condition = isConditional && !etag.isEmpty ? "If-None-Match: \(etag)\r\n" : ""
        let request = "GET \(path) HTTP/1.1\r\nHost: bench\r\n\(condition)\r\n"
        let bytes = Array(request.utf8)
        guard send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
        else { throw LoadFailure("a request cannot be sent: \(errno)") }
    }

    private func connect() throws -> Int32 {
        try LoopbackSocket.connect(port: port)
    }
}
