internal import Messages

/// Every limit of the live protocol and of a relay, with its unit and reason.
public struct RelayLimits: Sendable {
    // MARK: - What the protocol promises (spec 1.1, 2.2)

    /// Bytes of a client's message; a longer one is thrown away as it comes.
    public static let messageBytes = 32_768
    /// Nested values of a client's message.
    public static let frameDepth = 64
    /// Frames that a client may send at once.
    public static let budgetBurst = 40.0
    /// Frames a second that a client may send on average.
    public static let budgetPerSecond = 20.0
    /// Sockets that an account may open at once: every device of a person, a few times.
    public static let openingBurst = 10.0
    /// Sockets a second that an account may open on average: a kit waits half a second at least.
    public static let openingsPerSecond = 2.0
    /// Destinations of an offer.
    public static let candidates = 1...3
    /// What a vote may be for.
    public static let voteIndices = 0...2
    /// Characters of a destination's name.
    public static let candidateName = 80
    /// WGS-84 degrees.
    public static let latitudes = -90.0...90.0
    /// WGS-84 degrees.
    public static let longitudes = -180.0...180.0
    /// Metres; another accuracy counts as unknown.
    public static let accuracies = 0.0...100_000.0
    /// Degrees; another heading counts as unknown.
    public static let headings = 0.0...360.0
    /// Kilometres an hour; another speed counts as unknown.
    public static let speeds = 0.0...1000.0
    /// Seconds that a fix counts which came over a socket: ten missed rounds of a convoy.
    public static let socketTTLSeconds = 20
    /// Seconds that a fix counts which came over HTTP.
    public static let postedTTLSeconds = 300
    /// Seconds after which a group whose view nobody confirmed is silent.
    public static let viewLifetime = 15
    /// A relay whose turns were so far apart may not have been waited for, in milliseconds: auth and groups
    /// wait a second for it.
    public static let standstillMilliseconds: Int64 = 900

    /// Departures in one request to another relay: 2 MB if every one had joined all groups that an account may be in.
    public static let departuresPerRequest = 1000

    // MARK: - What a deployment or a test may choose

    /// Between two pings to a client.
    public var pingInterval = Duration.seconds(20)
    /// Pings without an answer after which a socket is closed.
    public var missedPongs = 2
    /// How long a client may take nothing of what waits for it.
    public var stuckLimit = Duration.seconds(10)
    /// How long a client has to answer our close before its socket is cut.
    public var closeLimit = Duration.seconds(2)
    /// How long a message may take from its first byte to its last.
    public var messageLimit = Duration.seconds(30)
    /// Between two looks at what time alone brings about.
    public var tickInterval = Duration.milliseconds(250)
    /// Between two looks at each client: whether it pongs, reads and ends what it says.
    public var clientInterval = Duration.seconds(1)
    /// Between two looks for views that are not what groups holds.
    public var sweepInterval = Duration.seconds(5)
    /// How long an answer of groups is waited for.
    public var askLimit = Duration.seconds(2)
    /// How long a socket waits for its claim and its groups before it is closed.
    public var openLimit = Duration.seconds(5)
    /// Between two batches of fixes for circles.
    public var storeInterval = Duration.seconds(1)
    /// How long a view may go unconfirmed.
    public var viewLifetime = Duration.seconds(Self.viewLifetime)
    /// Sockets of this process; beyond it an upgrade is answered 503.
    public var sockets = 20_000
    /// Frames besides positions that wait for one client; one more closes it (4008).
    public var waitingFrames = 256
    /// Bytes of those frames.
    public var waitingBytes = 256 << 10
    /// Bytes of unfinished messages of all clients; who needs more is closed (1011).
    public var unfinishedBytes = 64 << 20
    /// Bytes of frames that wait for all clients; a client that adds to it is closed (4008).
    public var queuedBytes = 256 << 20
    /// What waits for one group while its view is fetched.
    public var heldBack = 64
    /// The kernel's buffer for each client, in bytes: a stopped reader gets old news for no longer.
    public var sendBufferBytes = 64 << 10
    /// What writing to one socket takes, about; positions for many wait that long for each of them, so that
    /// what comes meanwhile goes with them.
    public var writeTime = Duration.microseconds(5)
    /// How long such positions wait at most.
    public var gatherLimit = Duration.milliseconds(10)
    /// Between the beginnings of two turns of which the first wrote positions; nothing else makes a turn wait.
    public var turnPace = Duration.milliseconds(5)
    /// Fixes that wait to be stored; more are dropped, and the next ones of their senders heal it.
    public var waitingFixes = 10_000

    /// Departures that are remembered of the last 20 to 40 s, twice as many at the most; more, and the oldest are forgotten.
    public var rememberedDepartures = 10_000
    /// Who waits for other relays to take in which sessions have ended; half of what the bus answers at once, so
    /// that relays that wait for each other can answer each other.
    public var waitingChecks = 128

    /// Makes the default limits.
    public init() {}
}
