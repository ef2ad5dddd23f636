/// The 128-bit id that follows one request through HTTP, the bus and the logs (W3C Trace Context).
public struct TraceID: Hashable, Sendable, CustomStringConvertible {
    /// The upper and lower half; never both zero.
    public let high, low: UInt64

    /// Makes an id from its halves; all zero is not a valid trace id and becomes a random one.
    public init(high: UInt64, low: UInt64) {
        if high == 0, low == 0 {
            self = .random()
        } else {
            self.high = high
            self.low = low
        }
    }

    /// A new random id.
    public static func random() -> TraceID {
        TraceID(high: .random(in: 1...UInt64.max), low: .random(in: 0...UInt64.max))
    }

    /// Reads the trace id of a `traceparent` header, `00-<32 hex>-<16 hex>-<2 hex>`.
    ///
    /// - Returns: nil when the header is not of that form, so that the caller starts a new trace.
    public init?(traceparent: String) {
        let bytes = Array(traceparent.utf8)
        guard bytes.count >= 55, bytes[2] == 0x2D, bytes[35] == 0x2D, bytes[52] == 0x2D else {
            return nil
        }
        guard let high = Self.hexadecimal(bytes[3..<19]), let low = Self.hexadecimal(bytes[19..<35])
        else { return nil }
        guard high != 0 || low != 0 else { return nil }
        self.init(high: high, low: low)
    }

    /// 32 lower-case hexadecimal digits.
    public var description: String { Self.text(high) + Self.text(low) }

    private static func text(_ half: UInt64) -> String {
        let digits = String(half, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    private static func hexadecimal(_ bytes: ArraySlice<UInt8>) -> UInt64? {
        var value: UInt64 = 0
        for byte in bytes {
            let digit: UInt8
            switch byte {
            case 0x30...0x39: digit = byte - 0x30
            case 0x61...0x66: digit = byte - 0x61 + 10
            default: return nil
            }
            value = value << 4 | UInt64(digit)
        }
        return value
    }
}
