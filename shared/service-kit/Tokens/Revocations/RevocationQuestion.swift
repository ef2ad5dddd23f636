internal import Transit
internal import Web

/// What is looked up about a verified token; made once, it spares the hashing of each look.
public struct RevocationQuestion: Sendable {
    let token: RevocationKey?
    let subject: RevocationKey
    let issuedAt: UnixSeconds?
    let isOfRider: Bool

    /// Makes the question about a token.
    ///
    /// - Parameter claims: What the token says.
    public init(_ claims: TokenClaims) {
        token = claims.tokenID.map { RevocationKey(token: $0) }
        subject = RevocationKey(subject: claims.subject)
        issuedAt = claims.issuedAt
        isOfRider = claims.role == .rider
    }
}
