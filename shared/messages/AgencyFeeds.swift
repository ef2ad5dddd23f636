public import Telemetry
public import Transit

/// How the polling of every configured agency feed goes, whole; for the admin's status.
public struct AgencyFeeds: Equatable, Sendable {
    /// One configured feed.
    public struct Feed: Equatable, Sendable {
        /// The address as it is configured.
        public var url: String
        /// When it was last read without an error, POSIX seconds; nil when never.
        public var lastSuccess: UnixSeconds?
        /// Why the last attempt failed; empty when it did not.
        public var lastError: String
        /// Entities kept of it, stale ones included.
        public var entities: Int

        /// Makes a feed's state.
        public init(url: String, lastSuccess: UnixSeconds?, lastError: String, entities: Int) {
            self.url = url
            self.lastSuccess = lastSuccess
            self.lastError = lastError
            self.entities = entities
        }
    }

    /// The trace of the round that made it.
    public var trace: TraceID
    /// The feed service that polls.
    public var instance: String
    /// The builder's epoch; a reader ignores lower ones.
    public var epoch: UInt64
    /// Rises within an epoch; a reader ignores lower ones.
    public var sequence: UInt64
    /// In the order of the configuration; empty when none is configured.
    public var feeds: [Feed]

    /// Makes a message.
    public init(
        trace: TraceID = .random(),
        instance: String,
        epoch: UInt64,
        sequence: UInt64,
        feeds: [Feed]
    ) {
        self.trace = trace
        self.instance = instance
        self.epoch = epoch
        self.sequence = sequence
        self.feeds = feeds
    }
}
