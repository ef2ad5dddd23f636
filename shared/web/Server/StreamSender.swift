internal import CMicrohttpd
internal import Synchronization

/// One streamed answer while its caller reads.
///
/// `@unchecked Sendable`: `piece` and `offset` belong to the loop thread; everything else is constant or
/// locked. The connection is valid until ``free()``, and the library frees none that is suspended.
final class StreamSender: @unchecked Sendable {
    /// Bytes of one call of the library; its own buffer is not larger.
    static let blockBytes = 16 * 1024
    /// Kernel memory for what is on its way to a caller.
    static let sendBufferBytes: Int32 = 256 * 1024
    /// Bytes that the kernel takes beyond what the caller has room for.
    ///
    /// One that stops reading is found at once and sent nothing more, instead of being served like the others
    /// until its buffer is full.
    static let unsentBytes: Int32 = 32 * 1024

    private struct Wait {
        var isSuspended = false
        var hasNews = false
        var isFinished = false
        var isGone = false
    }

    private let source: any StreamSource
    private let connection: OpaquePointer
    private let state: ConnectionState
    private let stallLimit: Duration
    private let wait = Mutex(Wait())
    private let freed: @Sendable (StreamSender) -> Void
    private var piece: SharedBytes?
    private var offset = 0

    init(
        _ source: any StreamSource,
        on connection: OpaquePointer,
        _ state: ConnectionState,
        stallLimit: Duration,
        freed: @escaping @Sendable (StreamSender) -> Void
    ) {
        self.source = source
        self.connection = connection
        self.state = state
        self.stallLimit = stallLimit
        self.freed = freed
        var (size, unsent) = (Self.sendBufferBytes, Self.unsentBytes)
        let length = socklen_t(MemoryLayout<Int32>.size)
        _ = setsockopt(state.descriptor, SOL_SOCKET, SO_SNDBUF, &size, length)
        _ = setsockopt(
            state.descriptor,
            Int32(IPPROTO_TCP),
            TCP_NOTSENT_LOWAT,
            &unsent,
            length
        )
        source.begin { [weak self] in self?.wake() }
    }

    /// The library's form of the answer, which owns this sender from now on.
    func response(_ headers: [(String, String)]) -> PreparedResponse? {
        let owner = Unmanaged.passRetained(self).toOpaque()
        let pointer = MHD_create_response_from_callback(
            UInt64.max,
            Self.blockBytes,
            streamIsRead,
            owner,
            streamIsFreed
        )
        guard let pointer else {
            streamIsFreed(owner)
            return nil
        }
        let response = PreparedResponse(adopting: pointer)
        for (name, value) in headers
        where MHD_add_response_header(pointer, name, value).rawValue == 0 {
            return nil
        }
        return response
    }

    /// Fills the library's buffer; the caller has taken what was in it before.
    ///
    /// - Returns: The number of bytes, 0 for a connection that now sleeps, or the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        state.cut(after: stallLimit)
        while true {
            if let piece, offset < piece.count {
                let count = min(buffer.count, piece.count - offset)
                buffer.copyMemory(
                    from: UnsafeRawBufferPointer(
                        rebasing: piece.memory[offset..<(offset + count)]
                    )
                )
                offset += count
                if offset == piece.count { self.piece = nil }
                return count
            }
            wait.withLock { $0.hasNews = false }
            if wait.withLock({ $0.isFinished }) { return -1 }
            switch source.next() {
            case .bytes(let bytes):
                piece = bytes
                offset = 0
            case .end: return -1
            case .wait: if sleep() { return 0 }
            }
        }
    }

    /// Suspends the connection unless there are news already.
    private func sleep() -> Bool {
        wait.withLock { wait in
            if wait.hasNews || wait.isFinished { return false }
            wait.isSuspended = true
            state.keep()
            MHD_suspend_connection(connection)
            return true
        }
    }

    /// There is more to send.
    func wake() {
        let isAsleep = wait.withLock { wait in
            wait.hasNews = true
            guard wait.isSuspended, !wait.isGone else { return false }
            wait.isSuspended = false
            return true
        }
        guard isAsleep else { return }
        state.cut(after: stallLimit)
        MHD_resume_connection(connection)
    }

    /// Ends the answer, for a server that stops.
    func finish() {
        wait.withLock { $0.isFinished = true }
        wake()
    }

    func free() {
        wait.withLock { $0.isGone = true }
        source.end()
        freed(self)
    }
}

private func streamIsRead(
    _ context: UnsafeMutableRawPointer?,
    _ position: UInt64,
    _ buffer: UnsafeMutablePointer<CChar>?,
    _ size: Int
) -> Int {
    guard let context, let buffer, size > 0 else { return -1 }
    let sender = Unmanaged<StreamSender>.fromOpaque(context).takeUnretainedValue()
    return sender.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: size))
}

private func streamIsFreed(_ context: UnsafeMutableRawPointer?) {
    guard let context else { return }
    Unmanaged<StreamSender>.fromOpaque(context).takeRetainedValue().free()
}
