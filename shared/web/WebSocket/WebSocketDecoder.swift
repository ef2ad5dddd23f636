internal import CWslay

/// libwslay's receiving half around one stream of bytes.
///
/// The library unmasks, checks framing and UTF-8, answers pings and closes; messages are put together
/// here, so that one that is too long is drained without being kept and without ending the stream.
final class WebSocketDecoder {
    /// The library's own state, in bytes.
    private static let contextBytes = 9 * 1024
    /// A frame longer than this ends the stream instead of being drained.
    private static let frameLimit: UInt64 = 16 << 20
    /// Two bytes, a length of eight and a mask of four.
    private static let longestHead: UInt64 = 14

    private let context: OpaquePointer
    /// Leads the library's callbacks here.
    private let owner: UnsafeMutablePointer<Unmanaged<WebSocketDecoder>?>
    private var input = UnsafeRawBufferPointer(start: nil, count: 0)
    private var reading = WebSocketReader.Reading()
    private var messageLimit = 0
    private var message: [UInt8] = []
    private var isText = false
    private var isOversize = false
    private var isInMessage = false
    private var isControl = false
    /// Bytes given to the library, and bytes that the frames it has begun have altogether: they are equal
    /// exactly when it holds no part of a frame.
    private var given: UInt64 = 0
    private var announced: UInt64 = 0
    /// The bytes of a frame's head that the library has not told us about: it does with the first byte of the payload.
    private var head: [UInt8] = []

    init() {
        owner = .allocate(capacity: 1)
        owner.initialize(to: nil)
        var made: OpaquePointer?
        var callbacks = wslay_event_callbacks(
            recv_callback: giveInput,
            send_callback: takeReply,
            genmask_callback: nil,
            on_frame_recv_start_callback: frameBegan,
            on_frame_recv_chunk_callback: chunkCame,
            on_frame_recv_end_callback: nil,
            on_msg_recv_callback: messageEnded
        )
        let status = wslay_event_context_server_init(&made, &callbacks, owner)
        guard status == 0, let made else { fatalError("out of memory") }
        context = made
        wslay_event_config_set_no_buffering(context, 1)
        wslay_event_config_set_max_recv_msg_length(context, Self.frameLimit)
        owner.pointee = .passUnretained(self)
    }

    deinit {
        wslay_event_context_free(context)
        owner.deinitialize(count: 1)
        owner.deallocate()
    }

    /// True when nothing of what was read is missing its end.
    var isBetweenMessages: Bool { !isInMessage && given == announced }

    var heldBytes: Int { Self.contextBytes + message.capacity }

    func read(
        _ bytes: UnsafeRawBufferPointer,
        messageLimit: Int
    ) -> WebSocketReader.Reading {
        self.messageLimit = messageLimit
        input = bytes
        given += UInt64(bytes.count)
        defer {
            input = UnsafeRawBufferPointer(start: nil, count: 0)
            reading = WebSocketReader.Reading()
        }
        let status = wslay_event_recv(context)
        if wslay_event_want_write(context) != 0 { _ = wslay_event_send(context) }
        if reading.end == nil, status != 0 || wslay_event_get_read_enabled(context) == 0 {
            reading.end = .faulty
        }
        if reading.end == .faulty { giveCloseItsCode() }
        if reading.end == nil { judgeHead(bytes) }
        return reading
    }

    /// Ends the stream at the head of a frame that is longer than any may be.
    ///
    /// A client that says so and sends nothing more would otherwise be waited for.
    private func judgeHead(_ bytes: UnsafeRawBufferPointer) {
        guard given > announced, given - announced <= Self.longestHead else {
            head = []
            return
        }
        let count = Int(given - announced)
        head = Array((head + bytes.suffix(count)).suffix(count))
        // The length stands behind two bytes, in eight where it needs them.
        guard head.count >= 10, head[1] & 0x7F == 127 else { return }
        let length = head[2..<10].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        guard length > Self.frameLimit else { return }
        reading.end = .faulty
        let code = UInt16(WSLAY_CODE_MESSAGE_TOO_BIG.rawValue)
        reading.replies += WebSocketFrame.close(code: code, reason: "")
    }

    /// The library closes without a code where it cannot tell what a frame is; clients would hear of no fault.
    private func giveCloseItsCode() {
        guard wslay_event_get_close_sent(context) != 0,
            UInt32(wslay_event_get_status_code_sent(context)) == WSLAY_CODE_NO_STATUS_RCVD.rawValue
        else { return }
        // Its close frame of two bytes is the last that it says.
        reading.replies.removeLast(2)
        let code = UInt16(WSLAY_CODE_PROTOCOL_ERROR.rawValue)
        reading.replies += WebSocketFrame.close(code: code, reason: "")
    }

    // MARK: - From the library

    fileprivate func fill(_ buffer: UnsafeMutablePointer<UInt8>, _ capacity: Int) -> Int {
        let count = min(capacity, input.count)
        guard count > 0 else {
            wslay_event_set_error(context, Int32(WSLAY_ERR_WOULDBLOCK.rawValue))
            return -1
        }
        UnsafeMutableRawBufferPointer(start: buffer, count: count)
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: input[..<count]))
        input = UnsafeRawBufferPointer(rebasing: input[count...])
        return count
    }

    fileprivate func reply(_ bytes: UnsafeBufferPointer<UInt8>) {
        reading.replies.append(contentsOf: bytes)
    }

    fileprivate func began(_ frame: wslay_event_on_frame_recv_start_arg) {
        let extended: UInt64 =
            frame.payload_length < 126 ? 0 : frame.payload_length <= 0xFFFF ? 2 : 8
        announced += 2 + extended + 4 + frame.payload_length
        isControl = frame.opcode & 0x8 != 0
        guard !isControl, UInt32(frame.opcode) != WSLAY_CONTINUATION_FRAME.rawValue else { return }
        isInMessage = true
        isText = UInt32(frame.opcode) == WSLAY_TEXT_FRAME.rawValue
        isOversize = false
    }

    fileprivate func came(_ chunk: UnsafeBufferPointer<UInt8>) {
        guard !isControl, isText, !isOversize else { return }
        guard message.count + chunk.count <= messageLimit else {
            isOversize = true
            message = []
            return
        }
        message.append(contentsOf: chunk)
    }

    fileprivate func ended(_ opcode: UInt8, _ length: Int) {
        switch UInt32(opcode) {
        case WSLAY_TEXT_FRAME.rawValue:
            isInMessage = false
            if isOversize { reading.oversize += 1 } else { reading.messages.append(message) }
            message = []
        case WSLAY_BINARY_FRAME.rawValue:
            isInMessage = false
            reading.binaries += 1
        case WSLAY_PONG.rawValue: reading.pongs += 1
        // Half of a code is none.
        case WSLAY_CONNECTION_CLOSE.rawValue: reading.end = length == 1 ? .faulty : .closed
        default: break
        }
    }
}

// C calls these, so they stand at file scope and belong to no actor.

private func decoder(_ owner: UnsafeMutableRawPointer?) -> WebSocketDecoder? {
    owner?.assumingMemoryBound(to: Unmanaged<WebSocketDecoder>?.self).pointee?
        .takeUnretainedValue()
}

private func giveInput(
    _ context: OpaquePointer?,
    _ buffer: UnsafeMutablePointer<UInt8>?,
    _ capacity: Int,
    _ flags: Int32,
    _ owner: UnsafeMutableRawPointer?
) -> Int {
    guard let decoder = decoder(owner), let buffer else { return -1 }
    return decoder.fill(buffer, capacity)
}

private func takeReply(
    _ context: OpaquePointer?,
    _ bytes: UnsafePointer<UInt8>?,
    _ count: Int,
    _ flags: Int32,
    _ owner: UnsafeMutableRawPointer?
) -> Int {
    decoder(owner)?.reply(UnsafeBufferPointer(start: bytes, count: count))
    return count
}

private func frameBegan(
    _ context: OpaquePointer?,
    _ frame: UnsafePointer<wslay_event_on_frame_recv_start_arg>?,
    _ owner: UnsafeMutableRawPointer?
) {
    guard let frame else { return }
    decoder(owner)?.began(frame.pointee)
}

private func chunkCame(
    _ context: OpaquePointer?,
    _ chunk: UnsafePointer<wslay_event_on_frame_recv_chunk_arg>?,
    _ owner: UnsafeMutableRawPointer?
) {
    guard let chunk = chunk?.pointee else { return }
    decoder(owner)?.came(UnsafeBufferPointer(start: chunk.data, count: chunk.data_length))
}

private func messageEnded(
    _ context: OpaquePointer?,
    _ message: UnsafePointer<wslay_event_on_msg_recv_arg>?,
    _ owner: UnsafeMutableRawPointer?
) {
    guard let message else { return }
    decoder(owner)?.ended(message.pointee.opcode, message.pointee.msg_length)
}
