internal import CLinux
internal import Glibc

/// Thousands of WebSocket clients of one server on this machine, on the caller's thread.
///
/// They count what they get. What they read is looked at only as far as counting needs.
public final class LiveSockets {
    /// One client.
    private struct Client {
        let descriptor: Int32
        /// A frame that has not come whole.
        var rest: [UInt8] = []
        var isOpen = false
    }

    private let poll: Int32
    private var clients: [Client] = []
    private var indices: [Int32: Int] = [:]
    private var buffer = [UInt8](repeating: 0, count: 256 * 1024)
    /// Frames that came.
    public private(set) var frames = 0
    /// Objects with a `ts` that came: positions, or messages of a peer.
    public private(set) var positions = 0
    /// When the last position with each `ts` came, in seconds; kept when ``followsTimestamps``.
    public private(set) var arrivals: [Int: Double] = [:]
    /// Whether arrivals are kept.
    public var followsTimestamps = false

    /// How many descriptors this process may have.
    public let descriptorLimit: Int

    /// Makes an empty set.
    public init() {
        poll = epoll_create1(Int32(EPOLL_CLOEXEC))
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            limit.rlim_cur = limit.rlim_max
            _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        }
        descriptorLimit = Int(clamping: limit.rlim_max)
    }

    deinit { closeAll() }

    /// How many clients there are.
    public var count: Int { clients.count }

    /// Connects clients, some hundred at a time.
    ///
    /// - Parameters:
    ///   - port: The server's port.
    ///   - requests: The path and the token of each.
    /// - Throws: ``LoadFailure`` when one is refused.
    public func open(port: Int, _ requests: [(path: String, token: String)]) throws {
        for start in stride(from: 0, to: requests.count, by: 200) {
            let part = requests[start..<min(requests.count, start + 200)]
            let first = clients.count
            for request in part { try connect(port, request.path, request.token) }
            let deadline = LoadRunner.now + 30
            while clients[first...].contains(where: { !$0.isOpen }) {
                guard LoadRunner.now < deadline else { throw LoadFailure("a client is not let in") }
                try work(milliseconds: 50)
            }
        }
    }

    /// Sends a text message.
    public func send(_ client: Int, _ text: String) {
        let payload = Array(text.utf8)
        var frame: [UInt8] = [0x81]
        if payload.count < 126 {
            frame.append(0x80 | UInt8(payload.count))
        } else {
            frame += [0xFE, UInt8(payload.count >> 8), UInt8(truncatingIfNeeded: payload.count)]
        }
        // A mask of zeros is a mask.
        frame += [0, 0, 0, 0]
        frame += payload
        _ = frame.withUnsafeBytes {
            Glibc.send(clients[client].descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
    }

    /// Reads what has come.
    ///
    /// - Throws: ``LoadFailure`` when the server closes a client.
    public func work(milliseconds: Int32) throws {
        var events = [epoll_event](repeating: epoll_event(), count: 1024)
        let count = epoll_wait(poll, &events, 1024, milliseconds)
        for index in 0..<max(0, Int(count)) {
            guard let client = indices[events[index].data.fd] else { continue }
            try read(client)
        }
    }

    /// Reads until so many positions have come altogether.
    ///
    /// - Returns: false when they do not come in 20 s.
    public func work(untilPositions wanted: Int) throws -> Bool {
        let deadline = LoadRunner.now + 20
        while positions < wanted {
            guard LoadRunner.now < deadline else { return false }
            try work(milliseconds: 100)
        }
        return true
    }

    /// Ends every client.
    public func closeAll() {
        for client in clients { Glibc.close(client.descriptor) }
        clients = []
        indices = [:]
    }

    // MARK: - Details

    private func connect(_ port: Int, _ path: String, _ token: String) throws {
        let descriptor = socket(
            AF_INET,
            Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue),
            0
        )
        guard descriptor >= 0 else { throw LoadFailure("there is no socket") }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let failed = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard failed == 0 else { throw LoadFailure("a client cannot connect: \(errno)") }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        let request = """
            GET \(path) HTTP/1.1\r
            Host: 127.0.0.1\r
            Connection: Upgrade\r
            Upgrade: websocket\r
            Sec-WebSocket-Version: 13\r
            Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r
            Authorization: Bearer \(token)\r
            \r

            """
        _ = Array(request.utf8).withUnsafeBytes {
            Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        indices[descriptor] = clients.count
        clients.append(Client(descriptor: descriptor))
        var event = epoll_event()
        event.events = EPOLLIN.rawValue
        event.data.fd = descriptor
        _ = epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event)
    }

    private func read(_ index: Int) throws {
        let held = clients[index].rest.count
        if held > 0 {
            buffer.replaceSubrange(0..<held, with: clients[index].rest)
            clients[index].rest = []
        }
        let count = buffer.withUnsafeMutableBytes {
            recv(clients[index].descriptor, $0.baseAddress?.advanced(by: held), $0.count - held, 0)
        }
        guard count > 0 else {
            if count < 0, errno == EAGAIN { return }
            throw LoadFailure("the server closed a client")
        }
        let end = held + count
        var position = 0
        if !clients[index].isOpen {
            let mark: [UInt8] = [13, 10, 13, 10]
            guard let head = buffer[..<end].firstRange(of: mark) else {
                clients[index].rest = Array(buffer[..<end])
                return
            }
            guard buffer.prefix(12).elementsEqual(Array("HTTP/1.1 101".utf8)) else {
                throw LoadFailure(String(decoding: buffer[..<head.lowerBound], as: UTF8.self))
            }
            clients[index].isOpen = true
            position = head.upperBound
        }
        while let frame = nextFrame(position, end) {
            if frame.opcode == 1 { note(frame.payload) }
            if frame.opcode == 9 { pong(index, Array(buffer[frame.payload])) }
            position = frame.payload.upperBound
        }
        if position < end { clients[index].rest = Array(buffer[position..<end]) }
    }

    private func nextFrame(_ start: Int, _ end: Int) -> (opcode: UInt8, payload: Range<Int>)? {
        guard end - start >= 2 else { return nil }
        var length = Int(buffer[start + 1] & 0x7F)
        var head = 2
        if length >= 126 {
            head = length == 126 ? 4 : 10
            guard end - start >= head else { return nil }
            length = buffer[(start + 2)..<(start + head)].reduce(0) { $0 << 8 | Int($1) }
        }
        guard end - start >= head + length else { return nil }
        return (buffer[start] & 0x0F, (start + head)..<(start + head + length))
    }

    private func note(_ payload: Range<Int>) {
        frames += 1
        let open = buffer[payload].reduce(0) { $0 + ($1 == 0x7B ? 1 : 0) }
        // A peer's message is one object, a relay's frame is one around its rows.
        positions += max(1, open - 1)
        guard followsTimestamps else { return }
        let now = LoadRunner.now
        let mark = Array("\"ts\":".utf8)
        var rest = buffer[payload]
        while let found = rest.firstRange(of: mark) {
            rest = rest[found.upperBound...]
            var stamp = 0
            while let digit = rest.first, (0x30...0x39).contains(digit) {
                stamp = stamp * 10 + Int(digit - 0x30)
                rest = rest.dropFirst()
            }
            arrivals[stamp] = now
        }
    }

    private func pong(_ index: Int, _ payload: [UInt8]) {
        let frame: [UInt8] = [0x8A, 0x80 | UInt8(payload.count), 0, 0, 0, 0] + payload
        _ = frame.withUnsafeBytes {
            Glibc.send(clients[index].descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
    }
}
