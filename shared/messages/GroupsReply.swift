public import Telemetry
public import Transit

/// What groups answers to a ``GroupsRequest``.
public struct GroupsReply: Equatable, Sendable {
    /// The request that this answers.
    public var requestID: UniqueID
    /// The trace of the request.
    public var trace: TraceID
    /// The answer.
    public var body: Body

    /// Makes an answer.
    public init(requestID: UniqueID, trace: TraceID, body: Body) {
        self.requestID = requestID
        self.trace = trace
        self.body = body
    }

    /// Makes the answer to a request.
    public init(to request: GroupsRequest, _ body: Body) {
        self.init(requestID: request.requestID, trace: request.trace, body: body)
    }

    /// The kinds of answer.
    public enum Body: Equatable, Sendable {
        /// Whether the account may see the group now.
        case membership(MembershipReply)
        /// Views of the groups that exist and have members; what is absent is gone.
        case views([GroupView])
        /// Versions; what is absent is gone.
        case versions([GroupVersion])
        /// The fixes are stored, as far as their members share.
        case stored
        /// Nothing was done.
        case refused(Refusal)
    }

    /// Why nothing was done; the raw value is the stable text of logs and metrics.
    public enum Refusal: String, CaseIterable, Sendable {
        /// A passing trouble, such as a database out of reach.
        case unavailable
        /// The request makes no sense; a repeat would be refused again.
        case invalid
        /// A fault that a repeat would meet again; also any code of a newer release.
        case failed
    }
}

/// The gate's answer for one account and one group.
public struct MembershipReply: Equatable, Sendable {
    /// Whether the account is an accepted member now.
    public var isMember: Bool
    /// The group's version in which it is so; 0 for one who is not a member.
    public var version: UInt64
    /// Whether members may vote on a destination; false for one who is not a member.
    public var allowsVotes: Bool

    /// Makes an answer.
    public init(isMember: Bool, version: UInt64 = 0, allowsVotes: Bool = false) {
        self.isMember = isMember
        self.version = version
        self.allowsVotes = allowsVotes
    }
}

/// A group and how often it has changed.
public struct GroupVersion: Hashable, Sendable {
    /// The group.
    public var groupID: UniqueID
    /// Rises with each change of membership or sharing.
    public var version: UInt64

    /// Makes a version.
    public init(groupID: UniqueID, version: UInt64) {
        self.groupID = groupID
        self.version = version
    }
}

/// A group as a relay needs it: who is in it and who of them may be seen.
public struct GroupView: Equatable, Sendable {
    /// An accepted member.
    public struct Member: Equatable, Sendable {
        /// The account.
        public var accountID: UniqueID
        /// Since when this member's position may go to the others; nil while it may not.
        ///
        /// Our clock, POSIX milliseconds. What was received before does not go to them.
        public var sharingSinceMilliseconds: Int64?
        /// The stored fix; nil where there is none or the kind stores none.
        public var lastFix: MemberFix?

        /// Makes a member.
        public init(
            accountID: UniqueID,
            sharingSinceMilliseconds: Int64?,
            lastFix: MemberFix? = nil
        ) {
            self.accountID = accountID
            self.sharingSinceMilliseconds = sharingSinceMilliseconds
            self.lastFix = lastFix
        }

        /// Whether this member's position may go to the others.
        public var isSharing: Bool { sharingSinceMilliseconds != nil }

        /// Whether what was received then may go to the others.
        ///
        /// - Parameter milliseconds: Our clock, POSIX milliseconds.
        /// - Returns: Whether it may.
        public func shares(receivedAt milliseconds: Int64) -> Bool {
            sharingSinceMilliseconds.map { $0 <= milliseconds } ?? false
        }
    }

    /// The group.
    public var groupID: UniqueID
    /// The version that this view is.
    public var version: UInt64
    /// Whether members may vote on a destination.
    public var allowsVotes: Bool
    /// Whether a member shares by being connected, so that a fix without an open socket stays out.
    public var sharesWhileConnected: Bool
    /// In the order of their ids.
    public var members: [Member]

    /// Makes a view.
    public init(
        groupID: UniqueID,
        version: UInt64,
        allowsVotes: Bool,
        sharesWhileConnected: Bool,
        members: [Member]
    ) {
        self.groupID = groupID
        self.version = version
        self.allowsVotes = allowsVotes
        self.sharesWhileConnected = sharesWhileConnected
        self.members = members
    }
}
