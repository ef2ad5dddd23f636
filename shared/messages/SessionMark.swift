public import Transit

/// What of a member's token decides whether it was revoked, for processes that never see the token.
public struct SessionMark: Hashable, Sendable {
    /// A digest of the token's own id; nil for a token without one.
    public var tokenDigest: UniqueID?
    /// When the token was signed, POSIX seconds; nil where it does not say.
    public var issuedAt: UnixSeconds?

    /// Makes a mark.
    public init(tokenDigest: UniqueID?, issuedAt: UnixSeconds?) {
        self.tokenDigest = tokenDigest
        self.issuedAt = issuedAt
    }
}
