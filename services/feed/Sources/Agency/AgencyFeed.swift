internal import RealtimeFeed
internal import Transit
internal import Web

/// What is known of one agency's feed: what it said last and how the polling goes.
///
/// A value that answers and failures are fed into; what was read stays when an answer fails, and
/// ages out by its own times.
struct AgencyFeed: Sendable, Equatable {
    /// How a poll ended.
    enum Answer: Sendable {
        /// The server answered; the reading is nil when the body could not be read.
        case response(status: Int, etag: String?, lastModified: String?, Reading)
        /// There was no whole answer.
        case failed(String)
    }

    /// What the body of an answer was.
    enum Reading: Sendable {
        /// Not looked at, as with 304.
        case none
        /// A feed.
        case feed(AgencyReading)
        /// No feed, and why.
        case refused(String)
    }

    /// The address as it is configured.
    let url: String
    /// What was read last.
    private(set) var reading = AgencyReading()
    /// When ``reading`` was received, or first heard of again in a new turn; nil before the first.
    private(set) var readAt: UnixSeconds?
    /// When an answer was last good, 304 included.
    private(set) var lastSuccess: UnixSeconds?
    /// Why the last poll failed; empty when it did not.
    private(set) var lastError = ""
    /// The builder's turn in which the last poll began that has ended, well or badly; nil before the first.
    private(set) var triedIn: UInt64?
    /// The builder's turn in which the last poll began that the server answered well; nil before the first.
    private(set) var answeredIn: UInt64?
    private var etag: String?
    private var lastModified: String?

    init(url: String) { self.url = url }

    /// Whether a poll has ended.
    var wasTried: Bool { triedIn != nil }

    /// Whether it was ever read; only then its silence on a trip means that no vehicle is there.
    var hasAnswered: Bool { answeredIn != nil }

    /// What counts of it in turns that began with one: nothing of what it said, if it has not answered well in them.
    ///
    /// Between our turns another builder asked, so that what was read before is older than what readers have.
    /// A failure tells nothing newer.
    func asked(since turn: UInt64) -> AgencyFeed {
        if let answeredIn, answeredIn >= turn { return self }
        var feed = AgencyFeed(url: url)
        if let triedIn, triedIn >= turn { feed.triedIn = triedIn }
        return feed
    }

    /// The headers that make the next request conditional.
    var conditions: [(String, String)] {
        var headers: [(String, String)] = []
        if let etag { headers.append(("If-None-Match", etag)) }
        if let lastModified { headers.append(("If-Modified-Since", lastModified)) }
        return headers
    }

    /// Takes in how a poll ended that began in a turn.
    ///
    /// - Returns: Whether what the feed says may have changed.
    mutating func take(_ answer: Answer, at now: UnixSeconds, turn: UInt64) -> Bool {
        triedIn = turn
        switch answer {
        case .failed(let reason):
            lastError = reason
            return false
        case .response(304, _, _, _) where !conditions.isEmpty:
            return succeed(at: now, turn: turn)
        case .response(200, let etag, let lastModified, .feed(let reading)):
            self.etag = etag
            self.lastModified = lastModified
            _ = succeed(at: now, turn: turn)
            guard reading != self.reading else { return false }
            self.reading = reading
            readAt = now
            return true
        case .response(200, _, _, .refused(let reason)):
            lastError = reason
            return false
        case .response(let status, _, _, _):
            lastError = "the server answered \(status)"
            return false
        }
    }

    private mutating func succeed(at now: UnixSeconds, turn: UInt64) -> Bool {
        // Meanwhile another builder may have dated by a later receipt, and no vehicle goes back.
        if answeredIn != turn { readAt = now }
        answeredIn = turn
        lastSuccess = now
        lastError = ""
        return false
    }
}

extension [AgencyFeed] {
    /// Whether a feed of the configuration has answered, so that what another builder said of it is outdated.
    ///
    /// - Parameter place: From 0; nil where nobody said it.
    /// - Returns: For a place that is none of ours, whether every feed has.
    func haveAnswered(at place: Int?) -> Bool {
        guard let place, indices.contains(place) else { return allSatisfy(\.hasAnswered) }
        return self[place].hasAnswered
    }
}
