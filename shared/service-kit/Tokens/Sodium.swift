internal import CSodium

/// The calls of libsodium that tokens need, over Swift values.
enum Sodium {
    static let authenticationCodeBytes = 32

    /// libsodium asks for one initialisation before any call; a lazy global does it once.
    private static let isReady: Bool = {
        // Only fails when the kernel has no random numbers to give: nothing here may go on then.
        precondition(sodium_init() >= 0, "libsodium cannot be initialised")
        return true
    }()

    /// HMAC-SHA256 with a key of any length (RFC 2104).
    static func authenticationCode(of message: [UInt8], key: [UInt8]) -> [UInt8] {
        authenticationCode(of: message[...], key: key)
    }

    /// HMAC-SHA256 of a part of some bytes.
    static func authenticationCode(of message: ArraySlice<UInt8>, key: [UInt8]) -> [UInt8] {
        precondition(isReady)
        var state = crypto_auth_hmacsha256_state()
        var code = [UInt8](repeating: 0, count: authenticationCodeBytes)
        crypto_auth_hmacsha256_init(&state, key, key.count)
        message.withUnsafeBufferPointer { bytes in
            _ = crypto_auth_hmacsha256_update(&state, bytes.baseAddress, UInt64(bytes.count))
        }
        crypto_auth_hmacsha256_final(&state, &code)
        sodium_memzero(&state, MemoryLayout.size(ofValue: state))
        return code
    }

    /// SHA-256 (FIPS 180-4), 32 bytes.
    static func sha256(of message: [UInt8]) -> [UInt8] {
        precondition(isReady)
        var digest = [UInt8](repeating: 0, count: 32)
        crypto_hash_sha256(&digest, message, UInt64(message.count))
        return digest
    }

    /// Compares in a time that does not depend on where the bytes differ.
    static func areEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        precondition(isReady)
        return left.count == right.count && sodium_memcmp(left, right, left.count) == 0
    }

    /// Base64 for URLs without padding (RFC 4648 section 5).
    static func base64URL(_ bytes: [UInt8]) -> String {
        let variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING
        let capacity = sodium_base64_encoded_len(bytes.count, variant)
        var text = [CChar](repeating: 0, count: capacity)
        sodium_bin2base64(&text, capacity, bytes, bytes.count, variant)
        // The last byte is the terminator.
        return String(decoding: text.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Reads base64 for URLs without padding; nil for any other character or stray bits.
    static func bytes(base64URL text: some Collection<UInt8>) -> [UInt8]? {
        text.withContiguousStorageIfAvailable(decoded)
            ?? Array(text).withUnsafeBufferPointer(decoded)
    }

    private static func decoded(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        precondition(isReady)
        var isValid = false
        let bytes = [UInt8](unsafeUninitializedCapacity: text.count * 3 / 4 + 1) { buffer, count in
            guard let start = buffer.baseAddress else { return }
            let status = sodium_base642bin(
                start,
                buffer.count,
                UnsafeRawPointer(text.baseAddress)?.assumingMemoryBound(to: CChar.self),
                text.count,
                nil,
                &count,
                nil,
                sodium_base64_VARIANT_URLSAFE_NO_PADDING
            )
            isValid = status == 0
            if !isValid { count = 0 }
        }
        return isValid ? bytes : nil
    }

    /// Bytes that nobody can guess.
    static func randomBytes(_ count: Int) -> [UInt8] {
        precondition(isReady)
        var bytes = [UInt8](repeating: 0, count: count)
        randombytes_buf(&bytes, count)
        return bytes
    }
}
