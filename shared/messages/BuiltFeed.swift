public import Telemetry
public import Transit

/// The bytes that the feed's builder made and every replica serves: positions or trip updates.
public struct BuiltFeed: Equatable, Sendable {
    /// The entities of one source, agencies' apart from each other, which follow each other in the feed.
    public struct Variant: Equatable, Sendable {
        /// Whose entities these are: `driver`, `agency` or `rider`.
        public var kind: String
        /// For an agency's the place of its feed in the configuration, from 0; nil where nobody said.
        public var feed: Int?
        /// The entities as the fields of a feed, without its header.
        public var bytes: [UInt8]

        /// Makes a variant.
        public init(kind: String, feed: Int? = nil, bytes: [UInt8]) {
            self.kind = kind
            self.feed = feed
            self.bytes = bytes
        }
    }

    /// The trace of the tick.
    public var trace: TraceID
    /// The feed service that built it.
    public var instance: String
    /// The builder's epoch; a replica ignores lower ones.
    public var epoch: UInt64
    /// Rises within an epoch; a replica ignores lower ones.
    public var tick: UInt64
    /// The feed's header timestamp, POSIX seconds.
    public var headerTimestamp: UnixSeconds
    /// In the order of the feed.
    public var variants: [Variant]

    /// Makes a built feed.
    public init(
        trace: TraceID = .random(),
        instance: String,
        epoch: UInt64,
        tick: UInt64,
        headerTimestamp: UnixSeconds,
        variants: [Variant]
    ) {
        self.trace = trace
        self.instance = instance
        self.epoch = epoch
        self.tick = tick
        self.headerTimestamp = headerTimestamp
        self.variants = variants
    }
}
