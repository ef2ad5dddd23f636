internal import ServiceKit
internal import Transit
internal import Web

/// What a log-in or a refresh gives, before it is signed.
struct IssuedTokens: Sendable {
    let claims: TokenClaims
    /// How long the access token counts, from now.
    let lifetime: Duration
    /// The only copy: the table holds its hash.
    let refreshToken: String?
    let accountID: UniqueID

    /// The answer of log-in, refresh and sign-up (architecture section 12).
    ///
    /// - Parameters:
    ///   - signer: Signs the access token.
    ///   - status: 200, or 201 for a new account.
    /// - Returns: The answer, which nothing on the way may keep.
    func response(_ signer: TokenSigner, status: Int = 200) -> HTTPResponse {
        let token = signer.sign(claims)
        var json = JSONWriter(capacity: 1024)
        json.beginObject()
        // The name under which older clients look for it (spec 1.2).
        json.member("token", token)
        json.member("access_token", token)
        json.member("refresh_token", refreshToken)
        json.member("expires_in", lifetime.components.seconds)
        json.member("account_id", accountID.description)
        json.member("role", claims.role.rawValue)
        json.endObject()
        // RFC 6749 section 5.1: nothing between us and the caller may keep tokens.
        return .json(bytes: json.bytes, status: status).notStored()
    }
}

/// A refresh token: 256 random bits that say nothing.
enum RefreshToken {
    private static let byteCount = 32

    static func random() -> String { Sodium.randomBytes(byteCount).hexadecimal }

    /// What the table knows it by.
    ///
    /// 256 random bits need neither salt nor a slow hash.
    static func hash(_ token: String) -> [UInt8] { Sodium.blake2b(token) }
}
