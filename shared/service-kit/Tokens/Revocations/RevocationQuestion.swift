public import Messages
public import Transit
public import Web

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

    /// Makes the question about a member's token that another process has seen.
    ///
    /// - Parameters:
    ///   - mark: What that process says of it.
    ///   - account: Whose it is.
    public init(_ mark: SessionMark, of account: UniqueID) {
        token = mark.tokenDigest.map { RevocationKey(high: $0.high, low: $0.low) }
        subject = RevocationKey(subject: account.description)
        issuedAt = mark.issuedAt
        isOfRider = false
    }

    /// What another process needs to ask the same of a member's token.
    public var mark: SessionMark {
        SessionMark(
            tokenDigest: token.map { UniqueID(high: $0.high, low: $0.low) },
            issuedAt: issuedAt
        )
    }
}

extension SessionMark {
    /// The mark of the token that a request carried.
    public init(of principal: Principal) {
        let key = principal.tokenID.map { RevocationKey(token: $0) }
        self.init(
            tokenDigest: key.map { UniqueID(high: $0.high, low: $0.low) },
            issuedAt: principal.issuedAt
        )
    }
}
