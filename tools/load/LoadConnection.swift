internal import CLinux
internal import Glibc

/// One kept-open connection to a server on this machine that carries one request at a time.
///
/// Never blocks; ``events`` says what to wait for and ``advance()`` does what can be done.
struct LoadConnection {
    /// What became of a request.
    enum Outcome {
        /// The status and the body.
        case answered(Int, ArraySlice<UInt8>)
        /// No whole answer came, for the reason given.
        case failed(String)
    }

    private(set) var descriptor: Int32 = -1
    private let address: in_addr_t
    private let port: UInt16
    private var output: ArraySlice<UInt8> = []
    private var input: [UInt8] = []
    private(set) var isBusy = false
    /// Why the connection was given up while it was made or written to.
    private var fault = ""

    /// Names the server.
    ///
    /// - Parameters:
    ///   - host: A numeric IPv4 address.
    ///   - port: Where it listens there.
    init(host: String, port: Int) {
        address = inet_addr(host)
        self.port = UInt16(port)
    }

    /// What to poll for while a request is under way.
    var events: Int16 { Int16(output.isEmpty ? POLLIN : POLLOUT) }

    /// Begins a request, on a new connection when there is none.
    mutating func send(_ request: [UInt8]) {
        if descriptor < 0 { connect() }
        output = request[...]
        input.removeAll(keepingCapacity: true)
        isBusy = true
        // An idle connection takes it at once; a new one when it stands.
        write()
    }

    /// Writes and reads what can be written and read.
    ///
    /// - Returns: The outcome once there is one.
    mutating func advance() -> Outcome? {
        guard descriptor >= 0 else { return fail(fault) }
        if !output.isEmpty {
            write()
            return descriptor < 0 ? fail(fault) : nil
        }
        var buffer = [UInt8](repeating: 0, count: 8192)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count < 0, errno == EAGAIN || errno == EINTR { return nil }
        guard count > 0 else { return fail(count == 0 ? "closed" : "cannot be read: \(errno)") }
        input += buffer[..<count]
        return answer()
    }

    /// Ends the connection.
    mutating func close() {
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }

    private mutating func fail(_ reason: String) -> Outcome {
        close()
        isBusy = false
        return .failed(reason)
    }

    private mutating func connect() {
        let flags = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        descriptor = socket(AF_INET, flags | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return giveUp("socket") }
        var yes: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, size)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = self.address
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                Glibc.connect(descriptor, generic, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        if result < 0, errno != EINPROGRESS { giveUp("connect") }
    }

    private mutating func write() {
        guard descriptor >= 0 else { return }
        let sent = output.withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        if sent > 0 {
            output = output.dropFirst(sent)
        } else if errno != EAGAIN, errno != EINTR, errno != ENOTCONN {
            giveUp("send")
        }
    }

    private mutating func giveUp(_ operation: String) {
        fault = "\(operation) failed: \(errno)"
        close()
    }

    /// The answer, once all of it is there.
    private mutating func answer() -> Outcome? {
        guard let head = LoadAnswer.range(of: "\r\n\r\n", in: input[...]) else { return nil }
        let text = String(decoding: input[..<head.lowerBound], as: UTF8.self).lowercased()
        let lines = text.split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count > 1, let status = Int(words[1]) else {
            return fail("no status")
        }
        let length = lines.first { $0.hasPrefix("content-length:") }
            .flatMap { Int($0.dropFirst(15).drop { $0 == " " }) }
        guard let length else { return fail("no length") }
        guard input.count >= head.upperBound + length else { return nil }
        isBusy = false
        if lines.contains("connection: close") { close() }
        return .answered(status, input[head.upperBound..<(head.upperBound + length)])
    }
}
