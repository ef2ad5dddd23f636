/// What a revocation is about, in 16 bytes: a digest of a token's id or of a subject.
struct RevocationKey: Hashable, Sendable {
    let high: UInt64
    let low: UInt64

    /// The key of these bytes, as another process made it.
    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// The key of a subject: SHA-256 over its id, cut.
    init(subject: String) { self.init(digestOf: subject) }

    /// The key of a token; the prefix keeps a token's id from standing for a subject of that name.
    init(token id: String) { self.init(digestOf: "jti:" + id) }

    /// Reads what ``hexadecimal`` writes; nil for any other text.
    init?(hexadecimal text: String) {
        guard text.utf8.count == 32, text.utf8.allSatisfy({ $0 != 0x2B && $0 != 0x2D }),
            let high = UInt64(text.prefix(16), radix: 16),
            let low = UInt64(text.suffix(16), radix: 16)
        else { return nil }
        self.high = high
        self.low = low
    }

    /// 32 lower-case digits.
    var hexadecimal: String {
        [high, low].map { word in
            let digits = String(word, radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
        .joined()
    }

    private init(digestOf text: String) {
        let digest = Sodium.sha256(of: Array(text.utf8))
        func word(_ bytes: ArraySlice<UInt8>) -> UInt64 {
            bytes.reduce(0) { $0 << 8 | UInt64($1) }
        }
        high = word(digest[0..<8])
        low = word(digest[8..<16])
    }
}
