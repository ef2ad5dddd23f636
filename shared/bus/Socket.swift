internal import CZeroMQ

/// The libzmq context of one bus.
final class SocketContext {
    let raw: UnsafeMutableRawPointer

    init() throws(BusError) {
        guard let raw = zmq_ctx_new() else { throw .last("zmq_ctx_new") }
        self.raw = raw
    }

    /// Waits for lingering messages and ends the I/O thread; every socket must be closed before.
    func end() { while zmq_ctx_term(raw) != 0, zmq_errno() == CInt(4) {} }
}

/// One libzmq socket; used by one thread at a time, closed once.
final class Socket {
    let raw: UnsafeMutableRawPointer
    private var isOpen = true

    init(_ context: SocketContext, _ type: Int32) throws(BusError) {
        guard let raw = zmq_socket(context.raw, type) else { throw .last("zmq_socket") }
        self.raw = raw
    }

    deinit { close() }

    func close() {
        guard isOpen else { return }
        isOpen = false
        zmq_close(raw)
    }

    func set(_ option: Int32, _ value: Int32) throws(BusError) {
        var value = value
        guard zmq_setsockopt(raw, option, &value, MemoryLayout<Int32>.size) == 0 else {
            throw .last("zmq_setsockopt \(option)")
        }
    }

    func set(_ option: Int32, large value: Int64) throws(BusError) {
        var value = value
        guard zmq_setsockopt(raw, option, &value, MemoryLayout<Int64>.size) == 0 else {
            throw .last("zmq_setsockopt \(option)")
        }
    }

    func set(_ option: Int32, _ text: String) throws(BusError) {
        guard zmq_setsockopt(raw, option, text, text.utf8.count) == 0 else {
            throw .last("zmq_setsockopt \(option)")
        }
    }

    func set(_ option: Int32, bytes: [UInt8]) throws(BusError) {
        guard zmq_setsockopt(raw, option, bytes, bytes.count) == 0 else {
            throw .last("zmq_setsockopt \(option)")
        }
    }

    /// Binds and tells where, wildcards resolved.
    func bind(_ endpoint: String) throws(BusError) -> String {
        guard zmq_bind(raw, endpoint) == 0 else { throw .last("bind \(endpoint)") }
        var text = [UInt8](repeating: 0, count: 256)
        var length = text.count
        guard zmq_getsockopt(raw, ZMQ_LAST_ENDPOINT, &text, &length) == 0 else {
            throw .last("zmq_getsockopt last_endpoint")
        }
        return String(decoding: text.prefix(max(0, length - 1)), as: UTF8.self)
    }

    func connect(_ endpoint: String) throws(BusError) {
        guard zmq_connect(raw, endpoint) == 0 else { throw .last("connect \(endpoint)") }
    }

    /// Takes one message without waiting, or nil when there is none.
    func receive() -> [[UInt8]]? {
        var frames: [[UInt8]] = []
        var more = true
        while more {
            let frame = withUnsafeTemporaryAllocation(of: zmq_msg_t.self, capacity: 1) {
                buffer -> [UInt8]? in
                guard let message = buffer.baseAddress else { return nil }
                zmq_msg_init(message)
                defer { zmq_msg_close(message) }
                guard zmq_msg_recv(message, raw, ZMQ_DONTWAIT) >= 0 else { return nil }
                more = zmq_msg_more(message) != 0
                return Array(
                    UnsafeRawBufferPointer(
                        start: zmq_msg_data(message),
                        count: zmq_msg_size(message)
                    )
                )
            }
            guard let frame else { return nil }
            frames.append(frame)
        }
        return frames
    }

    /// Sends one message without waiting.
    ///
    /// - Returns: 0, or the error number; after an error nothing of the message was sent.
    func send(_ frames: [UInt8]...) -> Int32 {
        for (index, frame) in frames.enumerated() {
            let flags = ZMQ_DONTWAIT | (index + 1 < frames.count ? ZMQ_SNDMORE : 0)
            guard zmq_send(raw, frame, frame.count, flags) >= 0 else { return zmq_errno() }
        }
        return 0
    }
}

extension BusError {
    /// The last failure of libzmq on this thread.
    static func last(_ operation: String) -> BusError {
        let code = zmq_errno()
        let sentence = zmq_strerror(code).map { String(cString: $0) } ?? "unknown"
        return .system(operation: operation, code: code, sentence: sentence)
    }
}
