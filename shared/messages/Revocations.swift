public import Telemetry
public import Transit

/// Tokens and subjects that auth has revoked; the rows of `auth.revocations` are the catch-up.
public struct Revocations: Equatable, Sendable {
    /// One revocation.
    public struct Entry: Equatable, Sendable {
        /// What is revoked.
        public enum Target: Equatable, Sendable {
            /// One token, by its `jti`.
            case token(String)
            /// All tokens of a subject that were issued up to the revocation, by the digest of its id
            /// as it stands in the row.
            case subject(String)
        }

        /// What is revoked.
        public var target: Target
        /// POSIX seconds.
        public var revokedAt: UnixSeconds
        /// When the last token it touches has expired anyway, POSIX seconds.
        public var expiresAt: UnixSeconds

        /// Makes an entry.
        public init(target: Target, revokedAt: UnixSeconds, expiresAt: UnixSeconds) {
            self.target = target
            self.revokedAt = revokedAt
            self.expiresAt = expiresAt
        }
    }

    /// The trace of the call that revoked.
    public var trace: TraceID
    /// The cursor of the look that found the entries; for logs, as readers keep their own.
    public var sequence: UInt64
    /// In any order; what a reader knows already says nothing new.
    public var entries: [Entry]

    /// Makes a list of revocations.
    public init(trace: TraceID = .random(), sequence: UInt64, entries: [Entry]) {
        self.trace = trace
        self.sequence = sequence
        self.entries = entries
    }
}
