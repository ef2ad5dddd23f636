internal import CLinux
internal import Glibc

/// Blocking TCP connections to servers on this machine.
enum LoopbackSocket {
    /// Connects.
    ///
    /// - Parameters:
    ///   - port: The server's.
    ///   - receiveBuffer: Bytes that the system takes for a reader who does not read; nil for its own choice.
    /// - Returns: The descriptor, for the caller to close.
    /// - Throws: ``LoadFailure`` when nobody listens or there are no descriptors left.
    static func connect(port: Int, receiveBuffer: Int32? = nil) throws -> Int32 {
        let descriptor = socket(
            AF_INET,
            Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue),
            0
        )
        guard descriptor >= 0 else { throw LoadFailure("there is no socket: \(errno)") }
        if var size = receiveBuffer {
            setsockopt(
                descriptor,
                SOL_SOCKET,
                SO_RCVBUF,
                &size,
                socklen_t(MemoryLayout<Int32>.size)
            )
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else {
            let reason = errno
            close(descriptor)
            throw LoadFailure("port \(port) cannot be connected: \(reason)")
        }
        return descriptor
    }
}
