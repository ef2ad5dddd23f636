internal import Glibc
internal import Synchronization

/// A proxy before a test database that cuts a connection exactly at a COMMIT.
///
/// That is the one moment at which a client cannot know whether its work was stored; no signal to
/// the server hits it reliably.
public final class SeveringProxy: Sendable {
    /// On which side of the server's work the connection is cut.
    public enum Moment: Sendable, CaseIterable {
        /// The server never sees the COMMIT: nothing is stored.
        case beforeServer
        /// The server has committed and its answer is dropped: everything is stored.
        case afterServer
    }

    /// The database's URL through the proxy.
    public let url: String
    private let target: String
    private let listener: Int32
    private let armed = Mutex<Moment?>(nil)

    /// Opens the proxy's socket beside the cluster's.
    ///
    /// - Parameter database: Where connections lead to.
    /// - Throws: ``ThrowawayPostgresError`` when the socket cannot be made.
    public init(_ database: TestDatabase) throws {
        let folder = database.folder + "/p\(UInt16.random(in: 0...UInt16.max))"
        guard mkdir(folder, 0o700) == 0 else {
            throw ThrowawayPostgresError(reason: "\(folder) cannot be made")
        }
        target = database.folder + "/.s.PGSQL.5432"
        url = "postgresql:///\(database.name)?host=\(folder)&user=postgres"
        listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        let bound = withUnixAddress(folder + "/.s.PGSQL.5432") { bind(listener, $0, $1) }
        guard bound == 0, listen(listener, 16) == 0 else {
            throw ThrowawayPostgresError(reason: "the proxy's socket cannot be made")
        }
        detachThread { [listener, weak self] in
            while true {
                let client = accept(listener, nil, nil)
                guard client >= 0, let self else { return }
                detachThread { self.serve(client) }
            }
        }
    }

    deinit {
        _ = shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    /// Cuts the connection that sends the next COMMIT.
    public func severNextCommit(_ moment: Moment) { armed.withLock { $0 = moment } }

    private func serve(_ client: Int32) {
        let server = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer {
            close(client)
            close(server)
        }
        guard withUnixAddress(target, { connect(server, $0, $1) }) == 0 else { return }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            var ends = [
                pollfd(fd: client, events: Int16(POLLIN), revents: 0),
                pollfd(fd: server, events: Int16(POLLIN), revents: 0),
            ]
            guard poll(&ends, 2, -1) > 0 else { return }
            if ends[0].revents != 0 {
                let count = recv(client, &buffer, buffer.count, 0)
                guard count > 0 else { return }
                let moment = buffer[..<count].contains(Array("COMMIT\0".utf8)) ? disarm() : nil
                if moment == .beforeServer { return }
                guard send(server, buffer, count, Int32(MSG_NOSIGNAL)) == count else {
                    return
                }
                if moment == .afterServer {
                    _ = recv(server, &buffer, buffer.count, 0)
                    return
                }
            }
            if ends[1].revents != 0 {
                let count = recv(server, &buffer, buffer.count, 0)
                guard count > 0 else { return }
                guard send(client, buffer, count, Int32(MSG_NOSIGNAL)) == count else {
                    return
                }
            }
        }
    }

    private func disarm() -> Moment? {
        armed.withLock { armed in
            defer { armed = nil }
            return armed
        }
    }
}

private func withUnixAddress(
    _ path: String,
    _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
) -> Int32 {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix(107)) }
    return withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
    }
}
