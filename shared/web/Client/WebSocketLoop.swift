internal import CCurl
internal import CWslay

/// The life of one client connection on its own thread: connect, upgrade, pass messages, close.
///
/// `@unchecked Sendable`: it is made and used on that thread alone.
final class WebSocketLoop: @unchecked Sendable {
    /// How long the thread sleeps without news before it looks at the clock.
    private static let pollMilliseconds: Int32 = 1000
    private static let readBytes = 16 << 10

    private let upgrade: WebSocketUpgrade
    private let mailbox: WebSocketMailbox
    private let clock = ContinuousClock()
    private var easy: UnsafeMutableRawPointer?
    private var socket: curl_socket_t = -1
    private var context: OpaquePointer?
    /// Bytes that came behind the head.
    private var rest: ArraySlice<UInt8> = []
    private var heardAt = ContinuousClock.now
    private var closure: WebSocketClientError?

    init(_ upgrade: WebSocketUpgrade, _ mailbox: WebSocketMailbox) {
        self.upgrade = upgrade
        self.mailbox = mailbox
    }

    /// Runs until the connection has ended.
    ///
    /// - Parameter opening: Hears once whether there is a connection.
    func run(opening: CheckedContinuation<Void, any Error>) {
        defer {
            wslay_event_context_free(context)
            curl_easy_cleanup(easy)
        }
        do throws(WebSocketClientError) {
            try connect()
            try shakeHands()
            try frame()
        } catch {
            mailbox.end(error)
            opening.resume(throwing: error)
            return
        }
        opening.resume()
        mailbox.end(pass())
    }

    // MARK: - Opening

    private func connect() throws(WebSocketClientError) {
        _ = globalInitialisation
        guard let easy = curl_easy_init() else { throw .failed("libcurl has no memory") }
        self.easy = easy
        let milliseconds = mailbox.limits.openTime / .milliseconds(1)
        // No signals: they would hit any thread of the process.
        alongside_curl_set_long(easy, CURLOPT_NOSIGNAL, 1)
        alongside_curl_set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https")
        alongside_curl_set_text(easy, CURLOPT_PROXY, "")
        // Over HTTP/2 there would be no upgrade.
        alongside_curl_set_long(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        alongside_curl_set_long(easy, CURLOPT_CONNECT_ONLY, 1)
        alongside_curl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, Int(milliseconds))
        guard alongside_curl_set_text(easy, CURLOPT_URL, upgrade.url) == CURLE_OK else {
            throw .invalidURL
        }
        let outcome = curl_easy_perform(easy)
        guard outcome == CURLE_OK else {
            throw outcome == CURLE_OPERATION_TIMEDOUT
                ? .timedOut : .cannotConnect(String(cString: curl_easy_strerror(outcome)))
        }
        alongside_curl_get_socket(easy, CURLINFO_ACTIVESOCKET, &socket)
    }

    private func shakeHands() throws(WebSocketClientError) {
        let deadline = clock.now + mailbox.limits.openTime
        var unsent = upgrade.request[...]
        while !unsent.isEmpty {
            let count = transmit(unsent)
            guard count >= 0 else { throw .failed("the connection broke") }
            unsent = unsent.dropFirst(count)
            if count == 0 { try wait(until: deadline, writing: true) }
        }
        var received: [UInt8] = []
        while true {
            if let end = received.firstRange(of: Array("\r\n\r\n".utf8)) {
                rest = received[end.upperBound...]
                let head = String(decoding: received[..<end.lowerBound], as: UTF8.self)
                return try upgrade.check(head: head)
            }
            guard received.count < WebSocketUpgrade.headLimit else { throw .notWebSocket }
            switch read(into: &received) {
            case 0: try wait(until: deadline, writing: false)
            case ..<0: throw .notWebSocket
            default: break
            }
        }
    }

    private func wait(
        until deadline: ContinuousClock.Instant,
        writing: Bool
    ) throws(WebSocketClientError) {
        guard clock.now < deadline else { throw .timedOut }
        mailbox.wake.wait(
            milliseconds: Self.pollMilliseconds,
            or: socket,
            reading: !writing,
            writing: writing
        )
    }

    private func frame() throws(WebSocketClientError) {
        var callbacks = wslay_event_callbacks(
            recv_callback: socketGaveBytes,
            send_callback: socketTakesBytes,
            genmask_callback: frameNeedsMask,
            on_frame_recv_start_callback: nil,
            on_frame_recv_chunk_callback: nil,
            on_frame_recv_end_callback: nil,
            on_msg_recv_callback: messageCame
        )
        let owner = Unmanaged.passUnretained(self).toOpaque()
        guard wslay_event_context_client_init(&context, &callbacks, owner) == 0 else {
            throw .failed("libwslay has no memory")
        }
        wslay_event_config_set_max_recv_msg_length(context, UInt64(mailbox.limits.messageBytes))
        heardAt = clock.now
    }

    // MARK: - Passing messages

    private func pass() -> WebSocketClientError {
        while true {
            for text in mailbox.takeOutgoing() { queue(text) }
            if mailbox.isClosing { wslay_event_queue_close(context, 1000, nil, 0) }
            let hasRoom = mailbox.hasRoom
            let isIntact = !hasRoom || wslay_event_recv(context) == 0
            // What it still has to say, its own close among it.
            guard wslay_event_send(context) == 0, isIntact else {
                return closure ?? .closed(code: 1006, reason: "")
            }
            if let closure { return closure }
            // It reads no further after a broken frame or a message that is too long.
            guard wslay_event_get_read_enabled(context) != 0 else {
                return .failed("the server broke the protocol")
            }
            if mailbox.isClosing { return .closed(code: 1000, reason: "") }
            guard clock.now - heardAt < mailbox.limits.silence else { return .timedOut }
            let isWaiting = wslay_event_want_write(context) != 0
            mailbox.wake.wait(
                milliseconds: Self.pollMilliseconds,
                or: socket,
                reading: hasRoom,
                writing: isWaiting
            )
        }
    }

    private func queue(_ text: String) {
        let bytes = Array(text.utf8)
        bytes.withUnsafeBufferPointer { bytes in
            var message = wslay_event_msg(
                opcode: UInt8(WSLAY_TEXT_FRAME.rawValue),
                msg: bytes.baseAddress,
                msg_length: bytes.count
            )
            // libwslay copies.
            _ = wslay_event_queue_msg(context, &message)
        }
    }

    fileprivate func take(_ message: wslay_event_on_msg_recv_arg) {
        let bytes = UnsafeBufferPointer(start: message.msg, count: message.msg_length)
        switch UInt32(message.opcode) {
        case WSLAY_TEXT_FRAME.rawValue:
            mailbox.deliver(String(decoding: bytes, as: UTF8.self))
        case WSLAY_CONNECTION_CLOSE.rawValue:
            closure = .closed(
                code: message.status_code == 0 ? 1005 : Int(message.status_code),
                // The first two bytes are the code.
                reason: String(decoding: bytes.dropFirst(2), as: UTF8.self)
            )
        default:
            break
        }
    }

    // MARK: - Bytes

    /// Reads what is there.
    ///
    /// - Returns: How many bytes; 0 when there are none now, -1 at the end.
    private func read(into bytes: inout [UInt8]) -> Int {
        var chunk = [UInt8](repeating: 0, count: Self.readBytes)
        let count = chunk.withUnsafeMutableBytes { receive($0) }
        if count > 0 { bytes += chunk[..<count] }
        return count
    }

    fileprivate func receive(_ buffer: UnsafeMutableRawBufferPointer) -> Int {
        if !rest.isEmpty {
            let count = min(rest.count, buffer.count)
            buffer.copyBytes(from: rest.prefix(count))
            rest = rest.dropFirst(count)
            return count
        }
        var count = 0
        switch curl_easy_recv(easy, buffer.baseAddress, buffer.count, &count) {
        case CURLE_OK where count > 0:
            heardAt = clock.now
            return count
        case CURLE_AGAIN: return 0
        default: return -1
        }
    }

    /// Hands bytes over to the socket.
    ///
    /// - Returns: How many it took; -1 when it is broken.
    fileprivate func transmit(_ bytes: some Collection<UInt8>) -> Int {
        let sent = bytes.withContiguousStorageIfAvailable { bytes -> Int in
            var count = 0
            return switch curl_easy_send(easy, bytes.baseAddress, bytes.count, &count) {
            case CURLE_OK: count
            case CURLE_AGAIN: 0
            default: -1
            }
        }
        return sent ?? -1
    }
}

// C calls these, so they stand at file scope and belong to no actor.

private func loop(_ owner: UnsafeMutableRawPointer?) -> WebSocketLoop? {
    owner.map { Unmanaged<WebSocketLoop>.fromOpaque($0).takeUnretainedValue() }
}

/// What libwslay is told: how many bytes, or why none.
private func answer(_ count: Int, _ context: OpaquePointer?) -> Int {
    guard count <= 0 else { return count }
    let code = count == 0 ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE
    wslay_event_set_error(context, Int32(code.rawValue))
    return -1
}

private func socketGaveBytes(
    _ context: OpaquePointer?,
    _ buffer: UnsafeMutablePointer<UInt8>?,
    _ capacity: Int,
    _ flags: Int32,
    _ owner: UnsafeMutableRawPointer?
) -> Int {
    let buffer = UnsafeMutableRawBufferPointer(start: buffer, count: capacity)
    return answer(loop(owner)?.receive(buffer) ?? -1, context)
}

private func socketTakesBytes(
    _ context: OpaquePointer?,
    _ bytes: UnsafePointer<UInt8>?,
    _ count: Int,
    _ flags: Int32,
    _ owner: UnsafeMutableRawPointer?
) -> Int {
    let bytes = UnsafeBufferPointer(start: bytes, count: count)
    return answer(loop(owner)?.transmit(bytes) ?? -1, context)
}

/// RFC 6455, section 5.3: a mask that nobody can foresee.
private func frameNeedsMask(
    _ context: OpaquePointer?,
    _ buffer: UnsafeMutablePointer<UInt8>?,
    _ count: Int,
    _ owner: UnsafeMutableRawPointer?
) -> Int32 {
    for index in 0..<count { buffer?[index] = UInt8.random(in: .min ... .max) }
    return 0
}

private func messageCame(
    _ context: OpaquePointer?,
    _ message: UnsafePointer<wslay_event_on_msg_recv_arg>?,
    _ owner: UnsafeMutableRawPointer?
) {
    guard let message else { return }
    loop(owner)?.take(message.pointee)
}
