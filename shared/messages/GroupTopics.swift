public import Telemetry
public import Transit

/// A group has a new version; relays that hold another one stop until they have fetched it.
public struct GroupChange: Equatable, Sendable {
    /// The trace of what changed it.
    public var trace: TraceID
    /// The group.
    public var groupID: UniqueID
    /// The version after the change.
    public var version: UInt64
    /// Whether the group does not exist any more.
    public var isGone: Bool

    /// Makes the news of a change.
    public init(trace: TraceID = .random(), groupID: UniqueID, version: UInt64, isGone: Bool) {
        self.trace = trace
        self.groupID = groupID
        self.version = version
        self.isGone = isGone
    }
}

/// A fix that came over HTTP, for the maps that are open.
public struct LiveFix: Equatable, Sendable {
    /// A group to which the sender shares.
    public struct Target: Equatable, Sendable {
        /// The group.
        public var groupID: UniqueID
        /// The version in which the sender was sharing.
        public var version: UInt64
        /// Whether it goes there only while the sender has an open socket.
        public var sharesWhileConnected: Bool

        /// Makes a target.
        public init(groupID: UniqueID, version: UInt64, sharesWhileConnected: Bool) {
            self.groupID = groupID
            self.version = version
            self.sharesWhileConnected = sharesWhileConnected
        }
    }

    /// The trace of the call.
    public var trace: TraceID
    /// The sender.
    public var accountID: UniqueID
    /// Where they are.
    public var fix: MemberFix
    /// How long it counts from its arrival, in seconds.
    public var ttlSeconds: Int
    /// The groups; a relay forms the union of their members from its own views.
    public var targets: [Target]
    /// Of the call's token: what its sender sent before signing out is shown to nobody afterwards.
    public var session: SessionMark?

    /// Makes a live fix.
    public init(
        trace: TraceID = .random(),
        accountID: UniqueID,
        fix: MemberFix,
        ttlSeconds: Int,
        targets: [Target],
        session: SessionMark? = nil
    ) {
        self.trace = trace
        self.accountID = accountID
        self.fix = fix
        self.ttlSeconds = ttlSeconds
        self.targets = targets
        self.session = session
    }
}

/// Someone arrived at a place of a circle, or left it.
public struct PlaceEventNotice: Equatable, Sendable {
    /// The trace of the call.
    public var trace: TraceID
    /// The circle.
    public var groupID: UniqueID
    /// Who moved; the notice goes to the others.
    public var accountID: UniqueID
    /// The place's row.
    public var placeID: UniqueID
    /// Its name.
    public var placeName: String
    /// `arrive` or `depart`.
    public var kind: String
    /// The phone's clock, POSIX milliseconds.
    public var timestampMilliseconds: Int64
    /// The event's number in its circle.
    public var sequence: UInt64

    /// Makes a notice.
    public init(
        trace: TraceID = .random(),
        groupID: UniqueID,
        accountID: UniqueID,
        placeID: UniqueID,
        placeName: String,
        kind: String,
        timestampMilliseconds: Int64,
        sequence: UInt64
    ) {
        self.trace = trace
        self.groupID = groupID
        self.accountID = accountID
        self.placeID = placeID
        self.placeName = placeName
        self.kind = kind
        self.timestampMilliseconds = timestampMilliseconds
        self.sequence = sequence
    }
}
