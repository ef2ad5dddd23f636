public import Foundation

/// A group as the relay follows it.
public struct LiveGroup: Sendable, Equatable {
    /// The group.
    public var id: GroupID
    /// Who may be seen in it; nil when the list is not known.
    ///
    /// Positions come without a group. With the list, someone who leaves one of two shared groups
    /// stays visible in the other.
    public var members: Set<AccountID>?

    /// Makes a group to follow.
    public init(id: GroupID, members: Set<AccountID>? = nil) {
        self.id = id
        self.members = members
    }

    /// A group from the server's list, with those who may be seen in it.
    public init(_ group: CompanionGroup) {
        self.init(
            id: group.id,
            members: Set(group.members.filter(\.canBeSeen).map(\.id))
        )
    }
}

/// Someone who is live.
public struct LivePeer: Sendable, Equatable {
    /// Who.
    public var id: AccountID
    /// Where.
    public var coordinate: Coordinate
    /// Degrees clockwise from north; nil when unknown.
    public var headingDegrees: Double?
    /// Kilometres per hour; nil when unknown.
    public var speedKilometersPerHour: Double?
    /// When it was measured, by the peer's clock; for display alone.
    public var measuredAt: Date
    /// The uptime at which they are shown no more, unless there is news.
    ///
    /// Counted from arrival: a clock that is minutes wrong hides nobody and keeps nobody.
    public var expiresAtUptime: Duration
    /// Through which of the followed groups they are seen.
    public var groupIDs: Set<GroupID>
}

/// What a convoy's screen shows.
public struct RelaySnapshot: Sendable, Equatable {
    /// Whether the relay has confirmed a group on the open connection.
    public var isConnected = false
    /// What went wrong last, for people; nil when all is well.
    public var lastError: String?
    /// Everyone who is live, by account.
    public var peers: [AccountID: LivePeer] = [:]
    /// Who speaks.
    public var talking: Set<AccountID> = []
    /// The vote, if there is one.
    public var spin: SpinRound?
    /// What to do about the vote.
    public var spinOutcome = SpinRound.Outcome.wait
    /// The followed convoy.
    public var convoyID: GroupID?
    /// The followed circles.
    public var circleIDs: Set<GroupID> = []

    /// Shows nothing.
    public init() {}

    /// Who is live in one group.
    public func peers(in group: GroupID) -> [LivePeer] {
        peers.values.filter { $0.groupIDs.contains(group) }
            .sorted { $0.id.description < $1.id.description }
    }
}
