internal import Glibc

/// A TCP port of this machine, chosen by the kernel, that is nobody else's for as long as this lives.
///
/// A free port alone may be another test's a moment later.
public final class LoopbackListener: Sendable {
    /// The socket; closed with this value.
    public let descriptor: Int32
    /// Its port on 127.0.0.1.
    public let port: Int

    /// Binds a port.
    ///
    /// - Parameters:
    ///   - wanted: Which one; 0 leaves it to the kernel.
    ///   - listens: False for a port that refuses every connection.
    /// - Throws: `RawSocketError.refused` when there is none, or that one is not free.
    public init(port wanted: Int = 0, listens: Bool = true) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(wanted).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let socket = descriptor
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(socket, $0, length) == 0 && (!listens || listen(socket, 8) == 0)
                    && getsockname(socket, $0, &length) == 0
            }
        }
        port = Int(UInt16(bigEndian: address.sin_port))
        guard isBound else { throw RawSocketError.refused }
    }

    deinit { close(descriptor) }
}
