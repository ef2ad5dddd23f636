/// Frames as a server sends them: whole, unmasked, with two to ten bytes of head (RFC 6455, section 5.2).
public enum WebSocketFrame {
    private enum Opcode: UInt8 {
        case text = 0x1
        case close = 0x8
        case ping = 0x9
    }

    /// A text frame.
    ///
    /// - Parameter payload: UTF-8, which is not checked.
    /// - Returns: The frame's bytes.
    public static func text(_ payload: [UInt8]) -> [UInt8] { frame(.text, payload) }

    /// A text frame whose content is written in place.
    ///
    /// - Parameters:
    ///   - count: How many bytes that will be.
    ///   - write: Appends as many bytes of UTF-8, which is not checked.
    /// - Returns: The frame's bytes.
    public static func text(bytes count: Int, _ write: (inout [UInt8]) -> Void) -> [UInt8] {
        var frame = head(.text, count)
        let start = frame.count
        write(&frame)
        precondition(frame.count - start == count, "the frame is as long as its head says")
        return frame
    }

    /// A close frame.
    ///
    /// - Parameters:
    ///   - code: The reason as a number (RFC 6455, section 7.4).
    ///   - reason: The reason in at most 123 bytes; what is longer is cut.
    /// - Returns: The frame's bytes.
    public static func close(code: UInt16, reason: String) -> [UInt8] {
        let text = reason.utf8.prefix(123)
        return frame(
            .close,
            [UInt8(code >> 8), UInt8(truncatingIfNeeded: code)] + (String(text) ?? "").utf8
        )
    }

    /// A ping without content.
    public static let ping: [UInt8] = frame(.ping, [])

    private static func frame(_ opcode: Opcode, _ payload: [UInt8]) -> [UInt8] {
        var frame = head(opcode, payload.count)
        frame += payload
        return frame
    }

    /// The bytes before a payload of this length, with room for it.
    private static func head(_ opcode: Opcode, _ count: Int) -> [UInt8] {
        var frame: [UInt8] = []
        frame.reserveCapacity(count + 10)
        frame.append(0x80 | opcode.rawValue)
        if count < 126 {
            frame.append(UInt8(count))
        } else {
            let isShort = count <= 0xFFFF
            frame.append(isShort ? 126 : 127)
            for shift in stride(from: isShort ? 8 : 56, through: 0, by: -8) {
                frame.append(UInt8(truncatingIfNeeded: count >> shift))
            }
        }
        return frame
    }
}
