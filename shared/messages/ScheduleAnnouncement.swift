public import Telemetry
public import Transit

/// The schedule archive that is active now; every service swaps to it.
public struct ScheduleAnnouncement: Equatable, Sendable {
    /// The trace of the activation.
    public var trace: TraceID
    /// The feed service that activated it.
    public var instance: String
    /// Rises with every activation; a reader ignores lower ones.
    public var epoch: UInt64
    /// The archive's content hash, the key under which the database keeps its chunks.
    public var contentHash: [UInt8]
    /// Where the archive was fetched from.
    public var source: String
    /// POSIX seconds.
    public var activatedAt: UnixSeconds
    /// Bytes of the archive.
    public var archiveBytes: Int

    /// Makes an announcement.
    public init(
        trace: TraceID = .random(),
        instance: String,
        epoch: UInt64,
        contentHash: [UInt8],
        source: String,
        activatedAt: UnixSeconds,
        archiveBytes: Int
    ) {
        self.trace = trace
        self.instance = instance
        self.epoch = epoch
        self.contentHash = contentHash
        self.source = source
        self.activatedAt = activatedAt
        self.archiveBytes = archiveBytes
    }
}
