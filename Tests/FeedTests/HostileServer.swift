import Foundation
import Synchronization
import Web

/// An HTTP server that does to each caller what a closure says, over plain sockets.
final class HostileServer: Sendable {
    /// What a connection is given to; the socket is closed when it returns.
    typealias Behaviour = @Sendable (_ socket: Int32, _ port: Int) -> Void

    let port: Int
    private let listener: Int32
    private let heads = Mutex<[String]>([])

    /// The heads of all requests so far.
    var requests: [String] { heads.withLock { $0 } }

    /// Listens on a port of its own.
    ///
    /// - Parameter behaviour: What each caller gets after its request's head was read.
    init(_ behaviour: @escaping Behaviour) {
        let listener = socket(
            AF_INET,
            Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue),
            0
        )
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                precondition(bind(listener, pointer, size) == 0 && listen(listener, 16) == 0)
            }
        }
        var length = size
        withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                _ = getsockname(listener, pointer, &length)
            }
        }
        self.listener = listener
        port = Int(UInt16(bigEndian: address.sin_port))
        let port = port
        let heads = Heads(self)
        Thread.detachNewThread {
            while true {
                let socket = accept(listener, nil, nil)
                guard socket >= 0 else { return }
                Thread.detachNewThread {
                    heads.add(Self.head(socket))
                    behaviour(socket, port)
                    _ = close(socket)
                }
            }
        }
    }

    deinit {
        _ = shutdown(listener, Int32(SHUT_RDWR))
        _ = close(listener)
    }

    /// The address of the server.
    var url: String { "http://127.0.0.1:\(port)/feed" }

    /// Sends text and bytes.
    ///
    /// - Returns: False once the caller is gone.
    @discardableResult
    static func send(_ socket: Int32, _ text: String = "", _ bytes: [UInt8] = []) -> Bool {
        var rest = (Array(text.utf8) + bytes)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Foundation.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// A whole answer.
    static func answer(_ status: String, _ headers: String = "", _ body: [UInt8] = []) -> Behaviour
    {
        { socket, _ in
            let head = "HTTP/1.1 \(status)\r\nContent-Length: \(body.count)\r\n\(headers)\r\n"
            send(socket, head, body)
        }
    }

    private static func head(_ socket: Int32) -> String {
        var text = ""
        var byte: UInt8 = 0
        while !text.hasSuffix("\r\n\r\n"), text.utf8.count < 65_536,
            recv(socket, &byte, 1, 0) == 1
        {
            text.unicodeScalars.append(Unicode.Scalar(byte))
        }
        return text
    }

    /// Lets the accepting thread note requests without keeping the server alive.
    private final class Heads: @unchecked Sendable {
        // Set once before the thread starts.
        private weak var server: HostileServer?

        init(_ server: HostileServer) { self.server = server }

        func add(_ head: String) { server?.heads.withLock { $0.append(head) } }
    }
}
