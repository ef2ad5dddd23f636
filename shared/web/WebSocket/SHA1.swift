/// SHA-1 (RFC 3174), for the one place where WebSocket's handshake wants it; it protects nothing there.
enum SHA1 {
    /// The 20 bytes of the digest.
    static func digest(of message: [UInt8]) -> [UInt8] {
        var padded = message + [0x80]
        while padded.count % 64 != 56 { padded.append(0) }
        let bits = UInt64(message.count) * 8
        padded += stride(from: 56, through: 0, by: -8).map {
            UInt8(truncatingIfNeeded: bits >> UInt64($0))
        }
        var state: [UInt32] = [
            0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0,
        ]
        for start in stride(from: 0, to: padded.count, by: 64) {
            add(padded[start..<(start + 64)], to: &state)
        }
        return state.flatMap { word in
            stride(from: 24, through: 0, by: -8).map {
                UInt8(truncatingIfNeeded: word >> UInt32($0))
            }
        }
    }

    private static func add(_ block: ArraySlice<UInt8>, to state: inout [UInt32]) {
        var words: [UInt32] = []
        words.reserveCapacity(80)
        for index in stride(from: block.startIndex, to: block.endIndex, by: 4) {
            words.append(block[index..<(index + 4)].reduce(0) { $0 << 8 | UInt32($1) })
        }
        for index in 16..<80 {
            let mixed =
                words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16]
            words.append(rotated(mixed, by: 1))
        }
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for index in 0..<80 {
            let (mixed, constant): (UInt32, UInt32) =
                switch index / 20 {
                case 0: ((b & c) | (~b & d), 0x5A82_7999)
                case 1: (b ^ c ^ d, 0x6ED9_EBA1)
                case 2: ((b & c) | (b & d) | (c & d), 0x8F1B_BCDC)
                default: (b ^ c ^ d, 0xCA62_C1D6)
                }
            let next = rotated(a, by: 5) &+ mixed &+ e &+ constant &+ words[index]
            (a, b, c, d, e) = (next, a, rotated(b, by: 30), c, d)
        }
        for (index, word) in [a, b, c, d, e].enumerated() { state[index] &+= word }
    }

    private static func rotated(_ word: UInt32, by count: UInt32) -> UInt32 {
        word << count | word >> (32 - count)
    }
}
