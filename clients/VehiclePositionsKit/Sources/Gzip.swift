internal import Foundation

/// Packs upload bodies as gzip (RFC 1952): one deflate block with the fixed codes (RFC 1951, 3.2.6).
///
/// Foundation offers no compression that every system has. Codes made for each body would save
/// another tenth of a body of one kilobyte, and cost as much code again.
enum Gzip {
    /// Below this many bytes the eighteen of the wrapping eat what is saved.
    static let smallestBytes = 128

    /// - Parameter data: At most a few kilobytes; larger input only costs time.
    /// - Returns: One gzip member with a zero time, so that equal input makes equal output.
    static func compress(_ data: Data) -> Data {
        let bytes = Array(data)
        var block = DeflateBlock()
        block.pack(bytes)
        var result = Data([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff])
        result.append(contentsOf: block.bits.bytes)
        append(checksum(bytes), to: &result)
        append(UInt32(truncatingIfNeeded: bytes.count), to: &result)
        return result
    }

    private static func append(_ value: UInt32, to data: inout Data) {
        for shift in stride(from: 0, to: 32, by: 8) {
            data.append(UInt8(truncatingIfNeeded: value >> UInt32(shift)))
        }
    }

    /// CRC-32 as gzip means it.
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var remainder = UInt32.max
        for byte in bytes {
            remainder = crcTable[Int(UInt8(truncatingIfNeeded: remainder) ^ byte)] ^ remainder >> 8
        }
        return ~remainder
    }

    private static let crcTable: [UInt32] = (0..<256).map { start in
        (0..<8).reduce(UInt32(start)) { value, _ in
            value & 1 == 1 ? 0xedb8_8320 ^ value >> 1 : value >> 1
        }
    }
}

/// One deflate block with fixed codes, the last of its stream.
private struct DeflateBlock {
    private(set) var bits = BitWriter()

    private static let shortestMatch = 3
    private static let longestMatch = 258
    private static let window = 32_768
    /// Earlier places that are compared; reports repeat themselves within a hundred bytes.
    private static let chainLimit = 64

    /// The base and the extra bits of the length codes from 257 on (RFC 1951, 3.2.5).
    private static let lengths = codes(
        first: 3,
        extras: (0..<28).map { $0 < 8 ? 0 : ($0 - 4) / 4 }
    )
    /// The same of the distance codes from 0 on.
    private static let distances = codes(
        first: 1,
        extras: (0..<30).map { $0 < 4 ? 0 : ($0 - 2) / 2 }
    )

    private static func codes(first: Int, extras: [Int]) -> [(base: Int, extra: Int)] {
        var base = first
        return extras.map { extra in
            defer { base += 1 << extra }
            return (base, extra)
        }
    }

    mutating func pack(_ bytes: [UInt8]) {
        bits.write(1, count: 1)
        bits.write(1, count: 2)
        // Where each hash of three bytes was seen last, and before each place the one before it.
        var latest = [Int](repeating: -1, count: 1 << 12)
        var earlier = [Int](repeating: -1, count: bytes.count)
        func hash(_ place: Int) -> Int {
            let three =
                UInt32(bytes[place]) << 16 | UInt32(bytes[place + 1]) << 8
                | UInt32(bytes[place + 2])
            return Int((three &* 2_654_435_761) >> 20)
        }
        var place = 0
        while place < bytes.count {
            var match = (length: 1, distance: 0)
            if place + Self.shortestMatch <= bytes.count {
                match = longest(in: bytes, at: place, from: latest[hash(place)], earlier)
            }
            if match.length >= Self.shortestMatch {
                writeMatch(length: match.length, distance: match.distance)
            } else {
                match.length = 1
                writeSymbol(Int(bytes[place]))
            }
            for next in place..<(place + match.length)
            where next + Self.shortestMatch <= bytes.count {
                earlier[next] = latest[hash(next)]
                latest[hash(next)] = next
            }
            place += match.length
        }
        writeSymbol(256)
        bits.finish()
    }

    private func longest(
        in bytes: [UInt8],
        at place: Int,
        from first: Int,
        _ earlier: [Int]
    ) -> (length: Int, distance: Int) {
        let limit = min(Self.longestMatch, bytes.count - place)
        var best = (length: 0, distance: 0)
        var candidate = first
        for _ in 0..<Self.chainLimit {
            guard candidate >= 0, place - candidate <= Self.window, best.length < limit else {
                break
            }
            var length = 0
            while length < limit, bytes[candidate + length] == bytes[place + length] { length += 1 }
            if length > best.length { best = (length, place - candidate) }
            candidate = earlier[candidate]
        }
        return best
    }

    private mutating func writeMatch(length: Int, distance: Int) {
        // The longest match has a code of its own, without extra bits.
        if length == Self.longestMatch {
            writeSymbol(285)
        } else {
            let code = Self.lengths.lastIndex { $0.base <= length } ?? 0
            writeSymbol(257 + code)
            bits.write(length - Self.lengths[code].base, count: Self.lengths[code].extra)
        }
        let code = Self.distances.lastIndex { $0.base <= distance } ?? 0
        bits.writeCode(code, count: 5)
        bits.write(distance - Self.distances[code].base, count: Self.distances[code].extra)
    }

    private mutating func writeSymbol(_ symbol: Int) {
        switch symbol {
        case ..<144: bits.writeCode(0x30 + symbol, count: 8)
        case ..<256: bits.writeCode(0x190 + symbol - 144, count: 9)
        case ..<280: bits.writeCode(symbol - 256, count: 7)
        default: bits.writeCode(0xc0 + symbol - 280, count: 8)
        }
    }
}

/// Bits in deflate's order: the lowest first, but Huffman codes from their highest.
private struct BitWriter {
    private(set) var bytes: [UInt8] = []
    private var pending: UInt32 = 0
    private var pendingCount = 0

    mutating func write(_ value: Int, count: Int) {
        pending |= UInt32(truncatingIfNeeded: value) << UInt32(pendingCount)
        pendingCount += count
        while pendingCount >= 8 {
            bytes.append(UInt8(truncatingIfNeeded: pending))
            pending >>= 8
            pendingCount -= 8
        }
    }

    mutating func writeCode(_ code: Int, count: Int) {
        for shift in (0..<count).reversed() { write(code >> shift & 1, count: 1) }
    }

    mutating func finish() {
        if pendingCount > 0 { write(0, count: 8 - pendingCount) }
    }
}
