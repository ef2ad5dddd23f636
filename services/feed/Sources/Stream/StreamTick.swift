internal import Messages
internal import RealtimeFeed
internal import Telemetry
internal import Transit

/// One state of the positions and what changed since the one before.
struct StreamTick: Sendable {
    /// A vehicle before and after; nil where it was not there.
    struct Change: Sendable {
        let old, new: StreamEntity?
    }

    /// Rises by one with each state.
    let number: UInt64
    let header: UnixSeconds
    /// All entities in the order of the feed.
    let entities: [StreamEntity]
    let changes: [Change]

    /// Makes a state of a feed.
    ///
    /// - Parameters:
    ///   - feed: The positions.
    ///   - previous: The state before; nil for a first one.
    init(_ feed: PublishedFeed, after previous: StreamTick?) {
        number = (previous?.number ?? 0) + 1
        header = feed.built.headerTimestamp
        var known = Dictionary(
            (previous?.entities ?? []).map { (VehicleID($0.id), $0) },
            uniquingKeysWith: { first, _ in first }
        )
        var entities: [StreamEntity] = []
        var changes: [Change] = []
        for source in SourcedEntity.Source.allCases {
            guard let wanted = FeedSource(rawValue: source.rawValue) else { continue }
            for entity in feed.entities(of: wanted) {
                let old = known.removeValue(forKey: VehicleID(entity.id))
                if let old, old.entity == entity, old.source == source {
                    entities.append(old)
                    continue
                }
                let new = StreamEntity(entity, source: source)
                entities.append(new)
                changes.append(Change(old: old, new: new))
            }
        }
        for old in previous?.entities ?? [] where known[VehicleID(old.id)] != nil {
            changes.append(Change(old: old, new: nil))
        }
        self.entities = entities
        self.changes = changes
    }

    /// Everything that a reader wants, as one event.
    func snapshot(_ filter: StreamFilter) -> StreamPieces {
        StreamPieces(of: self, for: filter, isSnapshot: true)
    }

    /// What changed for a reader, one event for each entity; empty when nothing did.
    func update(_ filter: StreamFilter) -> StreamPieces {
        StreamPieces(of: self, for: filter, isSnapshot: false)
    }
}
