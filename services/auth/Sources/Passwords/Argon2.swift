internal import CSodium

/// What one hash of a password costs (argon2id, RFC 9106).
struct Argon2Costs: Sendable, Equatable {
    /// Passes over the memory.
    let passes: Int
    /// Memory of one hash while it is computed, in KiB.
    let memoryKiB: Int
}

/// Argon2id as libsodium computes it; both calls keep a core busy and belong on a thread of their own.
enum Argon2 {
    /// Makes a hash with a new salt, in the text form that carries salt and costs.
    ///
    /// - Parameters:
    ///   - password: Its bytes; U+0000 is one like every other, as the length is passed on.
    ///   - costs: What the hash shall cost.
    /// - Returns: The text, or nil when the memory cannot be had.
    static func hash(_ password: [UInt8], _ costs: Argon2Costs) -> String? {
        precondition(Sodium.isReady)
        var text = [CChar](repeating: 0, count: Int(crypto_pwhash_STRBYTES))
        let status = crypto_pwhash_str_alg(
            &text,
            characters(password),
            UInt64(password.count),
            UInt64(costs.passes),
            costs.memoryKiB * 1024,
            crypto_pwhash_ALG_ARGON2ID13
        )
        guard status == 0 else { return nil }
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    /// Whether a password is the one that a hash was made of; the costs are those of the hash.
    static func verify(_ password: [UInt8], against hash: String) -> Bool {
        precondition(Sodium.isReady)
        guard let text = storedForm(hash) else { return false }
        let count = UInt64(password.count)
        return crypto_pwhash_str_verify(text, characters(password), count) == 0
    }

    /// Whether a hash was made with other costs than these.
    static func needsRehash(_ hash: String, _ costs: Argon2Costs) -> Bool {
        precondition(Sodium.isReady)
        guard let text = storedForm(hash) else { return true }
        let passes = UInt64(costs.passes)
        return crypto_pwhash_str_needs_rehash(text, passes, costs.memoryKiB * 1024) != 0
    }

    /// The text in the fixed space that libsodium reads; nil for what cannot be one of its own.
    private static func storedForm(_ hash: String) -> [CChar]? {
        let bytes = hash.utf8
        guard bytes.count < Int(crypto_pwhash_STRBYTES), !bytes.contains(0) else { return nil }
        let padding = Int(crypto_pwhash_STRBYTES) - bytes.count
        return characters(Array(bytes)) + [CChar](repeating: 0, count: padding)
    }

    private static func characters(_ bytes: [UInt8]) -> [CChar] {
        bytes.map { CChar(bitPattern: $0) }
    }
}
