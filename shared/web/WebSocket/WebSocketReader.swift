/// Reads what one client sends over a WebSocket: messages put together, control frames answered.
///
/// Holds nothing between messages; in the middle of one it holds a decoder of about nine kilobytes and
/// what came of the message. To be used from one thread.
public struct WebSocketReader {
    /// What bytes came to.
    public struct Reading {
        /// Whole text messages in UTF-8.
        public var messages: [[UInt8]] = []
        /// Bytes to send back as they are: pongs, and at the end a close frame.
        public var replies: [UInt8] = []
        /// Text messages that were longer than the limit.
        public var oversize = 0
        /// Binary messages, which are not kept.
        public var binaries = 0
        /// Pongs.
        public var pongs = 0
        /// How it ended, when it did: nothing is read any more, and the socket closes behind the replies.
        public var end: End?

        init() {}
    }

    /// Why nothing more is read.
    public enum End: Sendable, Equatable {
        /// The client closes.
        case closed
        /// The client broke the protocol (1002), sent text that is no UTF-8 (1007) or a frame that is said to be
        /// longer than 16 MiB (1009).
        case faulty
    }

    /// Decoders that are between two messages, for all readers of a thread.
    public final class Spares {
        fileprivate var decoder: WebSocketDecoder?

        /// Makes an empty store.
        public init() {}
    }

    private var unfinished: WebSocketDecoder?
    private let messageLimit: Int

    /// Makes a reader.
    ///
    /// - Parameter messageLimit: Bytes beyond which a message is thrown away as it comes.
    public init(messageLimit: Int) { self.messageLimit = messageLimit }

    /// Bytes that an unfinished message holds.
    public var heldBytes: Int { unfinished?.heldBytes ?? 0 }

    /// Reads bytes as they came from the socket, cut anywhere.
    ///
    /// - Parameters:
    ///   - bytes: What was received; nothing after an end.
    ///   - spares: The thread's decoders.
    /// - Returns: What they came to.
    public mutating func read(
        _ bytes: UnsafeRawBufferPointer,
        with spares: Spares
    ) -> Reading {
        let decoder: WebSocketDecoder
        if let unfinished {
            decoder = unfinished
        } else if let spare = spares.decoder {
            spares.decoder = nil
            decoder = spare
        } else {
            decoder = WebSocketDecoder()
        }
        let reading = decoder.read(bytes, messageLimit: messageLimit)
        if reading.end != nil {
            unfinished = nil
        } else if decoder.isBetweenMessages {
            unfinished = nil
            spares.decoder = decoder
        } else {
            unfinished = decoder
        }
        return reading
    }
}
