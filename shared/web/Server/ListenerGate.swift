internal import CMicrohttpd
internal import Synchronization

/// Takes a server's listening socket out of the library, on the library's own thread.
///
/// The loop of libmicrohttpd 0.9.75 takes a quiesced socket out of its epoll set a second time and
/// aborts the process when another thread was faster. So the gate asks for it and then calls its
/// own port: the callback of that connection is the loop thread, which cannot race with itself.
final class ListenerGate: Sendable {
    private struct Listening: @unchecked Sendable {
        // Set before anything is asked; the library frees it after the gate has closed.
        let daemon: OpaquePointer
        let descriptor: Int32
    }

    private enum State {
        case open
        case closing(Listening)
        case closed
    }

    /// How long the loop may take to see the knock.
    ///
    /// A server at its connection limit never does,
    /// but then the socket is not in the set either, and any thread may take it.
    private static let patience: Int32 = 1000

    private let state = Mutex(State.open)
    private let wake = WakeEvent()

    /// Accepts no more; new callers are refused by the kernel at once.
    func close(daemon: OpaquePointer, listener: Int32) {
        state.withLock { $0 = .closing(Listening(daemon: daemon, descriptor: listener)) }
        let knock = Self.connect(to: listener)
        if knock >= 0 { wake.wait(milliseconds: Self.patience) }
        closeNow()
        if knock >= 0 { _ = CMicrohttpd.close(knock) }
    }

    /// A connection has arrived; called on the loop thread.
    func connectionArrived() {
        if closeNow() { wake.signal() }
    }

    /// Closes what has been asked to be closed; false when there was nothing to do.
    @discardableResult
    private func closeNow() -> Bool {
        state.withLock { state in
            guard case .closing(let listening) = state else { return false }
            _ = MHD_quiesce_daemon(listening.daemon)
            // Instead of waiting in the backlog.
            _ = shutdown(listening.descriptor, Int32(SHUT_RDWR))
            state = .closed
            return true
        }
    }

    /// Begins to connect to where a socket listens; its own descriptor, or -1.
    private static func connect(to listener: Int32) -> Int32 {
        var address = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutableBytes(of: &address) { bytes in
            let address = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress
            guard getsockname(listener, address, &size) == 0, let address else { return -1 }
            let kind =
                Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
                | Int32(SOCK_NONBLOCK.rawValue)
            // The member belongs to whichever of two C modules the compiler reads first; it comes first.
            let knock = socket(Int32(bytes.load(as: sa_family_t.self)), kind, 0)
            guard knock >= 0 else { return -1 }
            guard
                CMicrohttpd.connect(knock, address, size) == 0
                    || alongside_mhd_errno() == EINPROGRESS
            else {
                _ = CMicrohttpd.close(knock)
                return -1
            }
            return knock
        }
    }
}
