/// One of the 256 shares into which trips are divided, so that verifiers can split the work.
public struct Slot: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// 0 to 255.
    public let rawValue: UInt8

    /// Wraps a slot's number.
    public init(_ rawValue: UInt8) { self.rawValue = rawValue }

    /// The slot of a trip: the low byte of FNV-1a (64 bits) over the id's UTF-8.
    ///
    /// All service dates of a trip share its slot.
    public init(of tripID: TripID) {
        rawValue = UInt8(truncatingIfNeeded: tripID.withBytes { FNV1a.hash($0) })
    }

    /// Every slot, in order.
    public static let all: [Slot] = (0...255).map { Slot(UInt8($0)) }

    /// The slot's number.
    public var description: String { String(rawValue) }

    /// Orders by number.
    public static func < (left: Slot, right: Slot) -> Bool { left.rawValue < right.rawValue }
}

/// The FNV-1a hash of 64 bits: small, the same on every machine and in every release.
///
/// - SeeAlso: draft-eastlake-fnv, "The FNV Non-Cryptographic Hash Algorithm".
public struct FNV1a: Sendable {
    /// The hash of what was added so far.
    public private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    /// Starts with the offset basis.
    public init() {}

    /// Adds one byte.
    public mutating func add(_ byte: UInt8) {
        value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
    }

    /// Adds eight bytes, the lowest first.
    public mutating func add(_ word: UInt64) {
        for shift in stride(from: 0, to: 64, by: 8) {
            add(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
        }
    }

    /// The hash of some bytes.
    public static func hash(_ bytes: some Sequence<UInt8>) -> UInt64 {
        var hash = FNV1a()
        for byte in bytes { hash.add(byte) }
        return hash.value
    }
}
