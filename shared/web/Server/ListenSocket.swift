internal import CMicrohttpd

/// The socket that a server listens on; ours, so that a failure can say why.
struct ListenSocket {
    /// Connections that wait to be accepted; the kernel caps it at `net.core.somaxconn`.
    private static let backlog: Int32 = 1024

    let descriptor: Int32
    let port: Int
    let isIPv6: Bool

    /// Binds and listens.
    init(host: String, port: Int) throws(HTTPServerError) {
        let name = host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
        guard (0...65_535).contains(port) else { throw .invalidAddress(name) }
        var hints = addrinfo()
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_PASSIVE | AI_NUMERICHOST | AI_NUMERICSERV
        var found: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &found) == 0, let found else {
            throw .invalidAddress(name)
        }
        defer { freeaddrinfo(found) }
        isIPv6 = found.pointee.ai_family == AF_INET6
        descriptor = socket(
            found.pointee.ai_family,
            Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
                | Int32(SOCK_NONBLOCK.rawValue),
            0
        )
        guard descriptor >= 0 else { throw Self.failure(name) }
        // A restart must not wait for the connections of the process before it.
        var yes: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        _ = setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, size)
        guard bind(descriptor, found.pointee.ai_addr, found.pointee.ai_addrlen) == 0,
            listen(descriptor, Self.backlog) == 0
        else {
            let failure = Self.failure(name)
            _ = close(descriptor)
            throw failure
        }
        self.port = Self.boundPort(descriptor) ?? port
    }

    private static func failure(_ name: String) -> HTTPServerError {
        let code = alongside_mhd_errno()
        if code == EADDRINUSE { return .addressInUse(name) }
        return .cannotListen(name, reason: String(cString: strerror(code)))
    }

    private static func boundPort(_ descriptor: Int32) -> Int? {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let failed = withUnsafeMutableBytes(of: &storage) { bytes in
            getsockname(descriptor, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress, &size)
        }
        guard failed == 0 else { return nil }
        // The port lies at the same place in both families (RFC 3493 section 3.3).
        return withUnsafeBytes(of: &storage) { bytes in
            Int(UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)))
        }
    }
}
