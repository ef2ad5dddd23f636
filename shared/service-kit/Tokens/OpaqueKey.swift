/// A random text that is shown to its holder once; only its digest is kept.
///
/// It has 256 random bits, so a plain hash suffices: nobody can go through them, as through
/// passwords.
public struct OpaqueKey: Sendable {
    /// Random bytes in a key.
    static let randomBytes = 32
    /// Longest text that is hashed at all, in bytes; ours are shorter.
    public static let byteLimit = 256

    /// What the holder sends.
    public let text: Secret

    /// Makes a new key.
    ///
    /// - Parameter prefix: What the text begins with, so that a key found somewhere is known for
    ///   what it is.
    public init(randomWithPrefix prefix: String) {
        text = Secret(prefix + Sodium.base64URL(Sodium.randomBytes(Self.randomBytes)))
    }

    /// Takes a key as somebody sent it.
    ///
    /// - Returns: nil when it is empty or longer than any key.
    public init?(_ text: String) {
        guard (1...Self.byteLimit).contains(text.utf8.count) else { return nil }
        self.text = Secret(text)
    }

    /// SHA-256 of the text, 64 hexadecimal digits in lower case.
    public var digest: String {
        let bytes = Sodium.sha256(of: text.bytes)
        let digits = Array("0123456789abcdef".utf8)
        return String(
            decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 0x0F)]] },
            as: UTF8.self
        )
    }
}
