/// The signing keys that a process holds.
public struct KeyRing: Sendable {
    /// Length of a derived key, in bytes.
    public static let keyBytes = 32
    /// Shortest `JWT_SECRET`, in bytes: as long as what is derived from it.
    public static let secretBytes = 32

    /// The families whose tokens this process verifies.
    public let families: Set<KeyFamily>
    /// The generation that new tokens are signed with.
    public let generation: Int
    private let keys: [KeyID: [UInt8]]
    /// `JWT_SECRET` itself, for tokens without `kid`; nil unless `JWT_ACCEPT_RAW`.
    let rawKey: [UInt8]?
    /// Hides whom a mark is of; nil in processes that do not hold the secret.
    let markKey: [UInt8]?

    /// Derives the keys of some families from the fleet's secret.
    ///
    /// The generations before and after the current one are held too: tokens signed before a
    /// rotation stay valid until the next one, and the processes of a fleet can be restarted in any
    /// order.
    ///
    /// - Parameters:
    ///   - secret: `JWT_SECRET`, at least ``secretBytes`` long.
    ///   - families: The families that the process's endpoints admit.
    ///   - generation: The current generation, from 1.
    ///   - acceptsRaw: Whether tokens without `kid`, signed with the secret itself, count.
    public init(
        secret: Secret,
        families: Set<KeyFamily>,
        generation: Int = 1,
        acceptsRaw: Bool = false
    ) {
        precondition(secret.bytes.count >= Self.secretBytes, "JWT_SECRET is too short")
        var keys: [KeyID: [UInt8]] = [:]
        for family in families {
            for generation in Self.accepted(around: generation) {
                let id = KeyID(family, generation: generation)
                keys[id] = Self.derivedKey(id, secret: secret)
            }
        }
        self.families = families
        self.generation = generation
        self.keys = keys
        rawKey = acceptsRaw ? secret.bytes : nil
        markKey = Sodium.authenticationCode(
            of: Array("alongside/installation".utf8),
            key: secret.bytes
        )
    }

    /// Takes keys that `alongside keys derive` made, so that the process never sees the secret.
    ///
    /// - Parameter keys: The keys; their families are the ones verified, the highest generation the
    ///   current one.
    public init(keys: [KeyID: Secret]) {
        precondition(!keys.isEmpty, "a key ring without keys")
        families = Set(keys.keys.map(\.family))
        generation = keys.keys.map(\.generation).max() ?? 1
        self.keys = keys.compactMapValues { Sodium.bytes(base64URL: $0.bytes) }
        rawKey = nil
        markKey = nil
    }

    /// The generations held while `generation` is current.
    public static func accepted(around generation: Int) -> ClosedRange<Int> {
        max(1, generation - 1)...min(KeyID.generationLimit, generation + 1)
    }

    /// The key of a family and generation: HMAC-SHA256 of `alongside/<family>/<generation>`.
    ///
    /// - Parameters:
    ///   - id: The key's name.
    ///   - secret: `JWT_SECRET`.
    /// - Returns: The key as ``init(keys:)`` and `JWT_KEY_<FAMILY>` take it, base64url.
    public static func derive(_ id: KeyID, secret: Secret) -> Secret {
        Secret(Sodium.base64URL(derivedKey(id, secret: secret)))
    }

    /// The value of `JWT_KEY_<FAMILY>`: the held generations as `<generation>:<key>`, by commas.
    ///
    /// - Parameters:
    ///   - family: The family.
    ///   - secret: `JWT_SECRET`.
    ///   - generation: The current generation.
    /// - Returns: The text that ``parse(_:family:)`` reads.
    public static func settingText(
        of family: KeyFamily,
        secret: Secret,
        generation: Int
    ) -> Secret {
        let parts = accepted(around: generation).map { generation in
            let key = derive(KeyID(family, generation: generation), secret: secret)
            return "\(generation):\(key.revealed())"
        }
        return Secret(parts.joined(separator: ","))
    }

    /// Reads the value of `JWT_KEY_<FAMILY>`.
    ///
    /// - Parameters:
    ///   - text: `<generation>:<base64url of 32 bytes>`, several by commas.
    ///   - family: The family the setting is for.
    /// - Returns: The keys by name, or nil when the text is not of that form.
    public static func parse(_ text: Secret, family: KeyFamily) -> [KeyID: Secret]? {
        var keys: [KeyID: Secret] = [:]
        for part in text.revealed().split(separator: ",", omittingEmptySubsequences: false) {
            let pieces = part.split(separator: ":", omittingEmptySubsequences: false)
            guard pieces.count == 2, let id = KeyID("\(family.rawValue).\(pieces[0])"),
                keys[id] == nil, Sodium.bytes(base64URL: pieces[1].utf8)?.count == keyBytes
            else { return nil }
            keys[id] = Secret(String(pieces[1]))
        }
        return keys
    }

    func key(_ id: KeyID) -> [UInt8]? { keys[id] }

    /// The same key as bytes.
    package static func derivedKey(_ id: KeyID, secret: Secret) -> [UInt8] {
        Sodium.authenticationCode(
            of: Array("alongside/\(id.family.rawValue)/\(id.generation)".utf8),
            key: secret.bytes
        )
    }
}
