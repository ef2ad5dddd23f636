/// Every limit of the bus, with its unit; the defaults carry their reasons.
public struct BusLimits: Sendable, Hashable {
    /// Largest body in bytes: the feed of 50,000 vehicles in all its forms stays below it.
    public var messageBytes = 16 << 20
    /// Unanswered requests per instance: ten times what a busy ingest has under way to one verifier.
    public var windowRequests = 1024
    /// Bytes of unanswered requests per instance, so that a window of large bodies stays bounded.
    public var windowBytes = 64 << 20
    /// Handlers running at once: they wait for commits, not for a core.
    public var runningRequests = 256
    /// Accepted requests that wait for a handler; beyond it a request is refused as busy.
    public var queuedRequests = 2048
    /// Publications that wait for the bus thread: four times all slots of a fleet.
    public var queuedPublications = 4096
    /// Bytes of publications that wait for the bus thread: four of the largest.
    public var queuedPublicationBytes = 64 << 20
    /// Retained (topic, key) pairs: 256 slots and what else a process says about itself.
    public var retainedStates = 1024
    /// Publications queued per subscriber; one that is slower than this loses messages.
    ///
    /// Twice what a process retains; libzmq counts messages only, shares one body among all subscribers, and drops the
    /// queue of one that is silent for ``heartbeat``.
    public var subscriberQueue = 2048
    /// How long a stopping bus waits for its handlers.
    public var drain: Duration = .seconds(5)
    /// How long a stopping bus waits for its askers to confirm that all answers arrived.
    public var flush: Duration = .seconds(2)
    /// How often the directory is asked and told that this instance lives.
    public var directoryInterval: Duration = .seconds(1)

    /// Makes the default limits.
    public init() {}

    /// Messages taken from one socket before the others get their turn.
    static let drainBudget = 256
    /// Bytes that an envelope may add to a body (names are bounded, see ``Wire/nameBytes``).
    static let envelopeBytes = 4096
    /// Heartbeat interval and silence after which a connection counts as lost, in milliseconds.
    static let heartbeat: (interval: Int32, timeout: Int32) = (1000, 3000)
    /// First and longest pause between attempts to connect, in milliseconds.
    static let reconnect: (first: Int32, longest: Int32) = (100, 2000)
    /// How long a request that is not sent again waits for a connection, in nanoseconds: another
    /// instance takes over a dead one's work in less.
    static let connectPatience: UInt64 = 500_000_000
    /// The longest sleep of the bus thread in milliseconds; a later wake means it was stopped.
    static let longestPoll = 500
    /// A turn later than this was a frozen process, not a busy machine, in nanoseconds.
    static let stall: UInt64 = 1_000_000_000
    /// After a freeze, messages count as old until the socket was empty this much later; a busy
    /// machine takes that long to bring what waited, and who asks afresh loses one round trip.
    static let stallSettle: UInt64 = 2_000_000_000
    /// How long libzmq keeps the last states of a closed socket, in milliseconds.
    static let lingerMilliseconds: Int32 = 500
    /// Who was answered less than this ago hears a goodbye, in nanoseconds: longer than a broken
    /// connection goes unnoticed.
    static let recentAnswers: UInt64 = 10_000_000_000
    /// How often a goodbye is repeated, which also finds out who is gone, in nanoseconds.
    static let goodbyeInterval: UInt64 = 100_000_000
    /// How often a publisher says how far each topic is, in nanoseconds: the time in which the loss of
    /// a last message is noticed.
    static let markInterval: UInt64 = 1_000_000_000
    /// The least time between two requests for the whole state of one topic, in nanoseconds.
    static let resynchronize: UInt64 = 1_000_000_000
    /// A request is sent at most this often, so that one that kills its reader stops there.
    static let attempts = 2
    /// The longest path of a Unix socket that the system takes, in bytes.
    static let socketPathBytes = 107
}
