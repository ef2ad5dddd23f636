internal import FoundationEssentials
public import Telemetry
internal import Web

/// Why a token was refused; the names are those of the `tokens_refused_total` counter.
public enum TokenFault: String, Error, Sendable, CaseIterable {
    /// Not three base64url parts, not JSON, or a claim of the wrong type.
    case malformed
    /// Longer than ``TokenVerifier/tokenByteLimit``.
    case tooLong = "too_long"
    /// `alg` is not exactly `HS256`, or the header asks for an extension (`crit`).
    case algorithm
    /// No `kid` where raw tokens do not count, or one that names no key of this process.
    case unknownKey = "unknown_key"
    /// The `kid` names a family that this process does not hold, or a raw token has its role.
    case otherFamily = "other_family"
    /// The signature is not of the named key.
    case signature
    /// `iss` is another one.
    case issuer
    /// `exp` is missing.
    case withoutExpiry = "without_expiry"
    /// `exp` has come.
    case expired
    /// `nbf` has not come.
    case notYetValid = "not_yet_valid"
    /// `sub` is missing or empty.
    case subject
    /// `role` is unknown or not of the key's family.
    case role
    /// The token, or everything of its subject, has been revoked.
    case revoked
    /// The view of revocations is too old to say that it has not been.
    case revocationsUnknown = "revocations_unknown"
}

/// Whether a verified token still counts.
public enum RevocationStatus: Sendable {
    /// It does.
    case valid
    /// It was revoked.
    case revoked
    /// Nobody can say now; the caller is asked to try again.
    case unknown
}

/// Looks a verified token up among the revocations; called on a loop thread, so it must not wait.
public typealias RevocationCheck = @Sendable (TokenClaims) -> RevocationStatus

/// Verifies tokens with the keys of this process and decides who may call an endpoint.
///
/// Nothing of a token is believed before its signature has been checked, except the header that
/// names the key; no key is ever tried for another algorithm than HS256.
public struct TokenVerifier: Sendable {
    /// Longest token, in bytes; ours have about 350.
    public static let tokenByteLimit = 4096

    private let ring: KeyRing
    private let clock: ApplicationClock
    private let revocation: RevocationCheck
    private let refusals: [TokenFault: Counter]
    /// The encoded headers of our own tokens, which then need no JSON reader.
    private let knownHeaders: [(header: [UInt8], id: KeyID)]

    /// Makes a verifier.
    ///
    /// - Parameters:
    ///   - ring: The keys of the families that the process's endpoints admit.
    ///   - clock: The application clock.
    ///   - metrics: Where refusals are counted by reason.
    ///   - revocation: Looks a verified token up among the revocations.
    public init(
        ring: KeyRing,
        clock: ApplicationClock,
        metrics: Metrics = Metrics(),
        revocation: @escaping RevocationCheck = { _ in .valid }
    ) {
        self.ring = ring
        self.clock = clock
        self.revocation = revocation
        refusals = Dictionary(
            uniqueKeysWithValues: TokenFault.allCases.map { fault in
                let counter = metrics.counter(
                    "tokens_refused_total",
                    help: "Tokens refused, by reason.",
                    labels: ["reason": fault.rawValue]
                )
                return (fault, counter)
            }
        )
        let ids = ring.families.flatMap { family in
            KeyRing.accepted(around: ring.generation).map { KeyID(family, generation: $0) }
        }
        knownHeaders = ids.map { id in
            (Array(Sodium.base64URL(Array(CompactToken.header(of: id).utf8)).utf8), id)
        }
    }

    /// Checks a token and reads its claims.
    ///
    /// - Parameter token: The compact form.
    /// - Returns: The claims; signature, issuer, expiry, role and revocation are checked.
    /// - Throws: The first ``TokenFault``, which is also counted.
    public func claims(of token: String) throws(TokenFault) -> TokenClaims {
        do throws(TokenFault) {
            let claims = try verified(token)
            switch revocation(claims) {
            case .valid: return claims
            case .revoked: throw TokenFault.revoked
            case .unknown: throw TokenFault.revocationsUnknown
            }
        } catch {
            refusals[error]?.add()
            throw error
        }
    }

    private func verified(_ token: String) throws(TokenFault) -> TokenClaims {
        guard token.utf8.count <= Self.tokenByteLimit else { throw .tooLong }
        let bytes = Array(token.utf8)
        guard let first = bytes.firstIndex(of: 0x2E), let last = bytes.lastIndex(of: 0x2E),
            first < last, !bytes[(first + 1)..<last].contains(0x2E)
        else { throw .malformed }
        let id = try keyID(in: bytes[..<first])
        guard let key = id.map({ ring.key($0) }) ?? ring.rawKey else { throw .unknownKey }
        guard let given = Sodium.bytes(base64URL: bytes[(last + 1)...]) else { throw .malformed }
        let expected = Sodium.authenticationCode(of: bytes[..<last], key: key)
        guard Sodium.areEqual(given, expected) else { throw .signature }
        guard let payload = Sodium.bytes(base64URL: bytes[(first + 1)..<last]) else {
            throw .malformed
        }
        let claims = try checked(payload)
        let family = KeyFamily(of: claims.role)
        if let id {
            guard family == id.family else { throw .role }
        } else {
            guard ring.families.contains(family) else { throw .otherFamily }
        }
        return claims
    }

    /// The key that the header names; nil when it names none.
    private func keyID(in header: ArraySlice<UInt8>) throws(TokenFault) -> KeyID? {
        if let known = knownHeaders.first(where: { $0.header[...] == header }) { return known.id }
        guard let bytes = Sodium.bytes(base64URL: header),
            let fields = try? JSONDecoder().decode(HeaderFields.self, from: Data(bytes))
        else { throw .malformed }
        guard fields.alg == "HS256", fields.crit == nil else { throw .algorithm }
        guard let kid = fields.kid else { return nil }
        guard let id = KeyID(kid) else { throw .unknownKey }
        guard ring.families.contains(id.family) else { throw .otherFamily }
        return id
    }

    private func checked(_ payload: [UInt8]) throws(TokenFault) -> TokenClaims {
        guard let fields = ClaimFields(parsing: payload) else { throw .malformed }
        guard fields.iss == TokenClaims.issuer else { throw .issuer }
        let now = clock.now()
        guard let expiry = fields.exp.flatMap(wholeSeconds) else { throw .withoutExpiry }
        guard now < expiry else { throw .expired }
        if let start = fields.nbf {
            guard let start = wholeSeconds(start), start <= now else { throw .notYetValid }
        }
        guard let subject = fields.sub, !subject.isEmpty else { throw .subject }
        guard let role = fields.role.flatMap({ Role(rawValue: $0) }) else { throw .role }
        var claims = TokenClaims(
            subject: subject,
            role: role,
            issuedAt: 0,
            lifetime: .zero,
            tokenID: fields.jti,
            handle: fields.handle,
            email: fields.email
        )
        claims.issuedAt = fields.iat.flatMap(wholeSeconds)
        claims.expiresAt = expiry
        claims.installation = fields.installation
        return claims
    }
}

private struct HeaderFields: Decodable {
    let alg: String?
    let kid: String?
    let crit: [String]?
}

/// Whole seconds of a NumericDate, rounded up; nil beyond what a date can be.
func wholeSeconds(_ date: Double) -> Int64? {
    date.isFinite && abs(date) < 1e15 ? Int64(date.rounded(.up)) : nil
}
