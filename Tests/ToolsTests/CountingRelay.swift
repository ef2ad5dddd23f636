import Foundation
import Glibc
import Synchronization
import TestKit

/// A wire between a client and a server of this machine that counts what passes, both ways.
final class CountingRelay: Sendable {
    private let target: Int
    private let listener: LoopbackListener
    private let counts = Mutex((up: 0, down: 0, connections: 0))

    var port: Int { listener.port }

    init(to target: Int) throws {
        self.target = target
        listener = try LoopbackListener()
        Thread.detachNewThread { [self] in
            while case let client = accept(listener.descriptor, nil, nil), client >= 0 {
                Thread.detachNewThread { self.serve(client) }
            }
        }
    }

    /// Bytes of the connections' streams, TLS and all, without the headers of TCP and IP.
    var bytes: Int { counts.withLock { $0.up + $0.down } }
    var connections: Int { counts.withLock { $0.connections } }

    func stop() { _ = shutdown(listener.descriptor, Int32(SHUT_RDWR)) }

    private func serve(_ client: Int32) {
        let server = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer {
            close(client)
            close(server)
        }
        var address = Self.loopback(target)
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { return }
        counts.withLock { $0.connections += 1 }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            var ends = [
                pollfd(fd: client, events: Int16(POLLIN), revents: 0),
                pollfd(fd: server, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&ends, 2, -1) > 0 else { return }
            for (end, from, to) in [(ends[0], client, server), (ends[1], server, client)]
            where end.revents != 0 {
                let count = recv(from, &buffer, buffer.count, 0)
                guard count > 0 else { return }
                counts.withLock { counts in
                    if from == client { counts.up += count } else { counts.down += count }
                }
                guard send(to, buffer, count, Int32(MSG_NOSIGNAL)) == count else { return }
            }
        }
    }

    private static func loopback(_ port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        return address
    }
}
