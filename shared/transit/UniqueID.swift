/// A 128-bit id of an account, a rider, a ride or a request (RFC 9562).
public struct UniqueID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The first eight bytes, big-endian.
    public let high: UInt64
    /// The last eight bytes, big-endian.
    public let low: UInt64

    /// Makes an id from its halves, whatever their bits.
    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Reads the text form, 32 hexadecimal digits of any case grouped 8-4-4-4-12.
    ///
    /// - Returns: nil for anything else; version and variant are not looked at.
    public init?(_ text: String) {
        guard text.utf8.count == 36 else { return nil }
        var halves: (high: UInt64, low: UInt64) = (0, 0)
        for (index, byte) in text.utf8.enumerated() {
            switch index {
            case 8, 13, 18, 23:
                guard byte == UInt8(ascii: "-") else { return nil }
            default:
                guard let digit = Self.digit(byte) else { return nil }
                halves.high = halves.high << 4 | halves.low >> 60
                halves.low = halves.low << 4 | digit
            }
        }
        self.init(high: halves.high, low: halves.low)
    }

    /// Reads 16 bytes.
    ///
    /// - Returns: nil when there are not exactly 16.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        var halves: (high: UInt64, low: UInt64) = (0, 0)
        for byte in bytes {
            halves.high = halves.high << 8 | halves.low >> 56
            halves.low = halves.low << 8 | UInt64(byte)
        }
        self.init(high: halves.high, low: halves.low)
    }

    /// The 16 bytes in network order.
    public var bytes: [UInt8] {
        [high, low].flatMap { half in
            stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: half >> $0) }
        }
    }

    /// A new random id, version 4.
    public static func random() -> UniqueID {
        stamped(version: 4, high: .random(in: 0...UInt64.max), low: .random(in: 0...UInt64.max))
    }

    /// A new id of a ride, version 8: random, but the last byte names the ride's slot.
    ///
    /// Whoever holds the id can send it to the verifier that owns the slot without a look-up.
    public static func ride(slot: Slot) -> UniqueID {
        let low = UInt64.random(in: 0...UInt64.max) & ~0xFF | UInt64(slot.rawValue)
        return stamped(version: 8, high: .random(in: 0...UInt64.max), low: low)
    }

    /// The slot in the last byte; meaningful for ids made by ``ride(slot:)``.
    public var slot: Slot { Slot(UInt8(truncatingIfNeeded: low)) }

    /// The lower-case text form.
    public var description: String {
        var text: [UInt8] = []
        text.reserveCapacity(36)
        append(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the lower-case text form.
    ///
    /// - Parameter text: ASCII.
    public func append(to text: inout [UInt8]) {
        for index in 0..<32 {
            if index == 8 || index == 12 || index == 16 || index == 20 {
                text.append(UInt8(ascii: "-"))
            }
            let half = index < 16 ? high : low
            let digit = UInt8(truncatingIfNeeded: half >> UInt64(60 - 4 * (index & 15)))
            text.append(Self.hexadecimal(digit & 0x0F))
        }
    }

    /// Orders by the bytes, as PostgreSQL orders `uuid`.
    public static func < (left: UniqueID, right: UniqueID) -> Bool {
        (left.high, left.low) < (right.high, right.low)
    }

    private static func stamped(version: UInt64, high: UInt64, low: UInt64) -> UniqueID {
        UniqueID(
            high: high & ~0xF000 | version << 12,
            low: low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        )
    }

    private static func digit(_ byte: UInt8) -> UInt64? {
        switch byte {
        case 0x30...0x39: UInt64(byte - 0x30)
        case 0x41...0x46: UInt64(byte - 0x41 + 10)
        case 0x61...0x66: UInt64(byte - 0x61 + 10)
        default: nil
        }
    }

    private static func hexadecimal(_ digit: UInt8) -> UInt8 {
        digit < 10 ? 0x30 + digit : 0x61 + digit - 10
    }
}
