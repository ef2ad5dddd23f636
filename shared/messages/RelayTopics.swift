public import Telemetry
public import Transit

/// One part of all accounts that have an open socket at a relay.
///
/// An account's part is the low byte of its id, so that a change says little and a relay that comes
/// later hears everything.
public struct RelayPresence: Equatable, Sendable {
    /// How many parts there are.
    public static let parts = 256

    /// An account's socket.
    public struct Entry: Hashable, Sendable {
        /// The account.
        public var accountID: UniqueID
        /// Drawn when the socket was opened; of two sockets the higher one counts.
        public var claim: UInt64
        /// Of the token that the socket has shown last; nil from a relay that does not say.
        public var session: SessionMark?

        /// Makes an entry.
        public init(accountID: UniqueID, claim: UInt64, session: SessionMark? = nil) {
            self.accountID = accountID
            self.claim = claim
            self.session = session
        }
    }

    /// The trace of the change.
    public var trace: TraceID
    /// The accounts of this part.
    public var entries: [Entry]

    /// Makes a part.
    public init(trace: TraceID = .random(), entries: [Entry]) {
        self.trace = trace
        self.entries = entries
    }

    /// The number of the part that an account is in.
    public static func part(of account: UniqueID) -> Int { Int(account.low & 0xFF) }
}

/// What one relay tells another.
public struct RelayNews: Equatable, Sendable {
    /// The trace of the cause.
    public var trace: TraceID
    /// What is told.
    public var body: Body

    /// Makes news.
    public init(trace: TraceID = .random(), body: Body) {
        self.trace = trace
        self.body = body
    }

    /// The kinds of news.
    public enum Body: Equatable, Sendable {
        /// Someone is somewhere.
        case fix(RelayedFix)
        /// Someone offers destinations, or votes.
        case vote(RelayedVote)
        /// Someone's socket is gone.
        case departure(RelayedDeparture)
    }
}

/// A fix on its way from the sender's relay to those whose sockets may show it.
public struct RelayedFix: Equatable, Sendable {
    /// The sender.
    public var accountID: UniqueID
    /// WGS-84 degrees.
    public var latitude, longitude: Double
    /// Degrees clockwise from north; nil when unknown.
    public var headingDegrees: Double?
    /// Kilometres an hour; nil when unknown.
    public var speedKilometersPerHour: Double?
    /// The sender's clock, POSIX milliseconds.
    public var timestampMilliseconds: Int64
    /// Our clock when it came in, POSIX milliseconds.
    public var receivedAtMilliseconds: Int64
    /// How long it counts, in seconds from ``receivedAtMilliseconds`` on.
    public var ttlSeconds: Int
    /// The claim of the socket that it came over; 0 for one that came over HTTP.
    public var claim: UInt64
    /// A fix of before, for a relay that has only now someone to show it to.
    public var isKnown: Bool
    /// The groups to which the sender shares, in the versions that the first relay holds.
    public var groups: [GroupVersion]

    /// Makes a fix.
    public init(
        accountID: UniqueID,
        latitude: Double,
        longitude: Double,
        headingDegrees: Double? = nil,
        speedKilometersPerHour: Double? = nil,
        timestampMilliseconds: Int64,
        receivedAtMilliseconds: Int64,
        ttlSeconds: Int,
        claim: UInt64 = 0,
        isKnown: Bool = false,
        groups: [GroupVersion]
    ) {
        self.accountID = accountID
        self.latitude = latitude
        self.longitude = longitude
        self.headingDegrees = headingDegrees
        self.speedKilometersPerHour = speedKilometersPerHour
        self.timestampMilliseconds = timestampMilliseconds
        self.receivedAtMilliseconds = receivedAtMilliseconds
        self.ttlSeconds = ttlSeconds
        self.claim = claim
        self.isKnown = isKnown
        self.groups = groups
    }
}

/// Destinations that someone offers to a convoy, or a vote for one of them.
public struct RelayedVote: Equatable, Sendable {
    /// A destination.
    public struct Candidate: Equatable, Sendable {
        /// WGS-84 degrees.
        public var latitude, longitude: Double
        /// Metres; nil when unknown.
        public var distanceMeters: Double?
        /// Seconds; nil when unknown.
        public var durationSeconds: Double?
        /// Its name; nil when it has none.
        public var name: String?

        /// Makes a destination.
        public init(
            latitude: Double,
            longitude: Double,
            distanceMeters: Double? = nil,
            durationSeconds: Double? = nil,
            name: String? = nil
        ) {
            self.latitude = latitude
            self.longitude = longitude
            self.distanceMeters = distanceMeters
            self.durationSeconds = durationSeconds
            self.name = name
        }
    }

    /// What is said.
    public enum Ballot: Equatable, Sendable {
        /// These are the destinations; one alone is the decision.
        case offer([Candidate])
        /// The destination of this index.
        case vote(Int)
    }

    /// Who says it.
    public var accountID: UniqueID
    /// To whom.
    public var groupID: UniqueID
    /// The group's version in which the sender was a member.
    public var version: UInt64
    /// The claim of the socket that it came over.
    public var claim: UInt64
    /// What.
    public var ballot: Ballot

    /// Makes a vote.
    public init(
        accountID: UniqueID,
        groupID: UniqueID,
        version: UInt64,
        claim: UInt64 = 0,
        ballot: Ballot
    ) {
        self.accountID = accountID
        self.groupID = groupID
        self.version = version
        self.claim = claim
        self.ballot = ballot
    }
}

/// Someone's socket is gone, and was not replaced.
public struct RelayedDeparture: Equatable, Sendable {
    /// The account.
    public var accountID: UniqueID
    /// The socket's claim; a higher one that is open somewhere takes the news back.
    public var claim: UInt64
    /// The groups that the socket had joined.
    public var groupIDs: [UniqueID]
    /// The rider's other groups: nothing that waits for their views is shown any more, and where being
    /// connected is sharing nothing at all.
    public var unjoinedGroupIDs: [UniqueID]
    /// Its session has ended: what comes of it later, or of an older socket of the account, is not shown any more.
    public var hasSessionEnded: Bool

    /// Makes a departure.
    public init(
        accountID: UniqueID,
        claim: UInt64,
        groupIDs: [UniqueID],
        unjoinedGroupIDs: [UniqueID] = [],
        hasSessionEnded: Bool = false
    ) {
        self.accountID = accountID
        self.claim = claim
        self.groupIDs = groupIDs
        self.unjoinedGroupIDs = unjoinedGroupIDs
        self.hasSessionEnded = hasSessionEnded
    }
}
