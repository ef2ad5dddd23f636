internal import CSodium

/// The calls of libsodium that accounts need beside password hashes.
enum Sodium {
    /// libsodium asks for one initialisation before any call; a lazy global does it once.
    static let isReady: Bool = {
        // Only fails when the kernel has no random numbers to give: nothing here may go on then.
        precondition(sodium_init() >= 0, "libsodium cannot be initialised")
        return true
    }()

    /// Bytes that nobody can guess.
    static func randomBytes(_ count: Int) -> [UInt8] {
        precondition(isReady)
        var bytes = [UInt8](repeating: 0, count: count)
        randombytes_buf(&bytes, count)
        return bytes
    }

    /// BLAKE2b of 256 bits (RFC 7693), for what only has to be recognised again.
    static func blake2b(_ text: String) -> [UInt8] {
        precondition(isReady)
        let bytes = Array(text.utf8)
        var digest = [UInt8](repeating: 0, count: Int(crypto_generichash_BYTES))
        crypto_generichash(&digest, digest.count, bytes, UInt64(bytes.count), nil, 0)
        return digest
    }
}

extension [UInt8] {
    /// Two lower-case hexadecimal digits for each byte.
    var hexadecimal: String {
        map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
    }
}
