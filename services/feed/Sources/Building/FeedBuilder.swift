internal import RealtimeFeed
internal import Transit

/// Decides when a feed says something new and how it is dated.
///
/// The same content keeps the same bytes, so that readers who ask with the last ETag get 304. The
/// header's time never goes back and is the clock's, whatever entities say: whoever merges dates none ahead of it
/// (E012, E017, E018). What breaks a rule of GTFS-Realtime is left out and counted.
struct FeedBuilder: Sendable {
    /// Seconds after which an unchanged feed is dated anew, so that readers see that it lives.
    static let longestSilence: Int64 = 15

    /// A feed with what was left out of it.
    struct Build: Sendable, Equatable {
        /// When the content was made, POSIX seconds.
        var headerTimestamp: UnixSeconds
        /// What is published.
        var entities: [SourcedEntity]
        /// Entities that broke a rule, by the rule's id.
        var withheld: [String: Int] = [:]

        /// The whole feed.
        var message: FeedMessage {
            FeedMessage(
                header: FeedHeader(timestamp: UInt64(headerTimestamp)),
                entities: entities.map(\.entity)
            )
        }
    }

    private(set) var last: Build?
    /// What ``last`` was made from, before rules kept anything out.
    private var lastInput: [SourcedEntity] = []
    /// The newest header time that anybody published, also the builder before this one.
    private var newestHeader: UnixSeconds = 0

    init() {}

    /// Goes on where another builder stopped: its header times stay behind ours, and ours is built anew.
    mutating func follow(headerTimestamp: UnixSeconds) {
        newestHeader = max(newestHeader, headerTimestamp)
        last = nil
    }

    /// Whether an unchanged feed must be dated anew.
    func isSilent(at now: UnixSeconds) -> Bool {
        guard let last else { return true }
        return now - last.headerTimestamp >= Self.longestSilence
    }

    /// Builds the feed of this moment.
    ///
    /// - Parameters:
    ///   - entities: What was merged, in the order of publication.
    ///   - now: The application clock.
    ///   - schedule: What the feed is checked against.
    ///   - positions: For trip updates, the positions published beside them.
    /// - Returns: The new feed, or nil when the last one stands.
    mutating func tick(
        _ entities: [SourcedEntity],
        at now: UnixSeconds,
        schedule: ScheduleIndex? = nil,
        positions: FeedMessage? = nil
    ) -> Build? {
        if last != nil, entities == lastInput, !isSilent(at: now) { return nil }
        lastInput = entities
        var build = Build(headerTimestamp: max(0, now, newestHeader + 1), entities: entities)
        let broken = build.message.complianceFindings(
            now: UInt64(max(0, now)),
            schedule: schedule,
            positions: positions
        ).filter { $0.severity == .error && $0.entityIndex != nil }
        var indexes: Set<Int> = []
        for finding in broken {
            guard let index = finding.entityIndex else { continue }
            build.withheld[finding.ruleID, default: 0] += 1
            indexes.insert(index)
        }
        if !indexes.isEmpty {
            build.entities = entities.enumerated().filter { !indexes.contains($0.offset) }
                .map(\.element)
        }
        if let last, last.entities == build.entities, !isSilent(at: now) { return nil }
        last = build
        newestHeader = build.headerTimestamp
        return build
    }
}
