internal import CLinux
internal import Glibc

/// TCP ports of this machine.
enum LoopbackPort {
    /// Ports that nobody uses at the moment, all different.
    static func free(_ count: Int) throws(OperationError) -> [Int] {
        var sockets: [Int32] = []
        defer { for descriptor in sockets { close(descriptor) } }
        var ports: [Int] = []
        for _ in 0..<count {
            guard let bound = bind("127.0.0.1", 0) else {
                throw OperationError("there is no free port on 127.0.0.1: \(lastErrorText())")
            }
            sockets.append(bound.descriptor)
            ports.append(bound.port)
        }
        return ports
    }

    /// Why no server could listen on an address now.
    ///
    /// - Parameters:
    ///   - port: The port.
    ///   - host: A numeric address.
    ///   - setting: What the port is set by.
    /// - Returns: A sentence with what to do; nil when one could listen.
    static func obstacle(to port: Int, on host: String, setting: String = "PORT") -> String? {
        let answer: String?? = withSocket(host, port) { descriptor, address in
            var yes: Int32 = 1
            let size = socklen_t(MemoryLayout<Int32>.size)
            setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, size)
            guard Glibc.bind(descriptor, address.ai_addr, address.ai_addrlen) != 0 else {
                return nil
            }
            return sentence(alongside_errno(), port, host, setting)
        }
        return answer ?? "BIND = \"\(host)\" is no numeric address; 127.0.0.1, ::1 and 0.0.0.0 are"
    }

    /// Whether a server takes connections on an address.
    static func isAnswering(_ port: Int, on host: String) -> Bool {
        withSocket(host, port) { descriptor, address in
            connect(descriptor, address.ai_addr, address.ai_addrlen) == 0
        } ?? false
    }

    private static func sentence(
        _ code: Int32,
        _ port: Int,
        _ host: String,
        _ setting: String
    ) -> String {
        switch code {
        case EADDRINUSE:
            "port \(port) on \(host) is in use; stop what uses it or set \(setting) to another port"
        case EACCES:
            "port \(port) needs more rights than this user has; set \(setting) to 1024 or more"
        case EADDRNOTAVAIL:
            "\(host) is no address of this machine; set BIND to one that is"
        default:
            "cannot listen on \(host), port \(port): \(lastErrorText())"
        }
    }

    /// Makes a TCP socket for a numeric address of either family.
    ///
    /// - Returns: What the body returns; nil when the host is no numeric address.
    private static func withSocket<Value>(
        _ host: String,
        _ port: Int,
        _ body: (_ descriptor: Int32, _ address: addrinfo) -> Value
    ) -> Value? {
        var hints = addrinfo()
        hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var list: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, String(port), &hints, &list) == 0, let address = list?.pointee
        else {
            return nil
        }
        defer { freeaddrinfo(list) }
        let descriptor = socket(
            address.ai_family,
            address.ai_socktype | Int32(SOCK_CLOEXEC.rawValue),
            0
        )
        defer { close(descriptor) }
        return body(descriptor, address)
    }

    private static func bind(_ host: String, _ port: Int) -> (descriptor: Int32, port: Int)? {
        let descriptor = socket(
            AF_INET,
            Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue),
            0
        )
        guard descriptor >= 0 else { return nil }
        var yes: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port).bigEndian)
        guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else {
            close(descriptor)
            return nil
        }
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                Glibc.bind(descriptor, generic, length) == 0
                    && getsockname(descriptor, generic, &length) == 0
            }
        }
        guard bound else {
            close(descriptor)
            return nil
        }
        return (descriptor, Int(UInt16(bigEndian: address.sin_port)))
    }
}
