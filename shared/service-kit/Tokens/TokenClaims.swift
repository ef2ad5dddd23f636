internal import Telemetry
public import Transit
public import Web

/// What a token says about its bearer.
public struct TokenClaims: Sendable, Equatable {
    /// The issuer of every token.
    public static let issuer = "vehicle-positions-api"

    /// The id of the account or of the rider.
    public var subject: String
    /// What the bearer may do.
    public var role: Role
    /// POSIX seconds of the signing; nil in tokens of other makers.
    public var issuedAt: UnixSeconds?
    /// POSIX seconds from which the token is void.
    public var expiresAt: UnixSeconds
    /// The token's own id (`jti`), by which it can be revoked.
    public var tokenID: String?
    /// The member's handle.
    public var handle: String?
    /// The account's e-mail address.
    public var email: String?
    /// The rider's installation.
    public var installation: InstallationFacts?

    /// Makes claims.
    ///
    /// - Parameters:
    ///   - subject: The id of the account or of the rider.
    ///   - role: What the bearer may do.
    ///   - issuedAt: POSIX seconds of the signing.
    ///   - lifetime: From signing to expiry, cut to whole seconds.
    ///   - tokenID: The token's own id; random by default.
    ///   - handle: The member's handle.
    ///   - email: The account's e-mail address.
    ///   - installation: The rider's installation.
    public init(
        subject: String,
        role: Role,
        issuedAt: UnixSeconds,
        lifetime: Duration,
        tokenID: String? = TokenClaims.randomTokenID(),
        handle: String? = nil,
        email: String? = nil,
        installation: InstallationFacts? = nil
    ) {
        self.subject = subject
        self.role = role
        self.issuedAt = issuedAt
        expiresAt = issuedAt + lifetime.components.seconds
        self.tokenID = tokenID
        self.handle = handle
        self.email = email
        self.installation = installation
    }

    /// A new token id: 128 random bits in hexadecimal.
    public static func randomTokenID() -> String {
        Sodium.randomBytes(16).map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0" + digits : digits
        }
        .joined()
    }
}

extension TokenClaims {
    /// The claims as the JSON object that a token carries.
    var encoded: String {
        var text = "{\"iss\":\"\(Self.issuer)\""
        func append(_ name: String, _ value: String?) {
            guard let value else { return }
            text += ",\"\(name)\":"
            JSONText.append(value, to: &text)
        }
        append("sub", subject)
        append("role", role.rawValue)
        if let issuedAt { text += ",\"iat\":\(issuedAt)" }
        text += ",\"exp\":\(expiresAt)"
        append("jti", tokenID)
        append("handle", handle)
        append("email", email)
        if let installation {
            // JSON numbers carry 53 bits, so the hashes are texts.
            append("net", installation.addressBlock.map { String($0, radix: 16) })
            append("bld", String(installation.build, radix: 16))
            text += ",\"ins\":\(installation.installedAt)"
        }
        return text + "}"
    }
}

/// Signs tokens with the current generation of a key ring.
public struct TokenSigner: Sendable {
    private let ring: KeyRing

    /// Makes a signer; only `auth` has one outside tests.
    public init(_ ring: KeyRing) { self.ring = ring }

    /// A hash of a text that nobody without the fleet's secret can compute or reverse.
    ///
    /// Not a token and not made with a token's key: the key is derived for this use from the current
    /// generation's key of the riders, so hashes of two generations do not compare.
    ///
    /// - Parameters:
    ///   - text: What is hashed.
    ///   - purpose: Keeps the hashes of two uses apart.
    /// - Returns: 64 of the bits of an HMAC-SHA256.
    public func keyedHash(of text: String, purpose: String) -> UInt64 {
        let id = KeyID(.rider, generation: ring.generation)
        guard let key = ring.key(id) else {
            preconditionFailure("the key \(id) is not held by this process")
        }
        let derived = Sodium.authenticationCode(of: Array("alongside/\(purpose)".utf8), key: key)
        return Sodium.authenticationCode(of: Array(text.utf8), key: derived).prefix(8)
            .reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Signs claims with the key of their role's family (HS256, RFC 7515).
    ///
    /// - Parameter claims: What the token says; the ring must hold the family of its role.
    /// - Returns: The compact token.
    public func sign(_ claims: TokenClaims) -> String {
        let id = KeyID(KeyFamily(of: claims.role), generation: ring.generation)
        guard let key = ring.key(id) else {
            preconditionFailure("the key \(id) is not held by this process")
        }
        return CompactToken.make(
            header: CompactToken.header(of: id),
            payload: claims.encoded,
            key: key
        )
    }
}

/// The compact form of a signed token: header, payload and signature in base64url, by dots.
package enum CompactToken {
    /// The header of our own tokens.
    package static func header(of id: KeyID) -> String {
        "{\"alg\":\"HS256\",\"typ\":\"JWT\",\"kid\":\"\(id)\"}"
    }

    /// Signs any header and payload, right or wrong; tests forge tokens with it.
    package static func make(header: String, payload: String, key: [UInt8]) -> String {
        let signed =
            Sodium.base64URL(Array(header.utf8)) + "." + Sodium.base64URL(Array(payload.utf8))
        let code = Sodium.authenticationCode(of: Array(signed.utf8), key: key)
        return signed + "." + Sodium.base64URL(code)
    }
}
