internal import Messages
internal import RealtimeFeed
internal import Telemetry
internal import Transit

/// One state of the positions and what changed since the one before.
///
/// A large thing of which ``StreamHub`` keeps few.
final class StreamTick: Sendable {
    /// A vehicle before and after; nil where it was not there.
    struct Change: Sendable {
        let old, new: StreamEntity?
    }

    /// Rises by one with each state.
    let number: UInt64
    let header: UnixSeconds
    /// All entities by id, so that a place among them is one in every state.
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
        entities.sort { VehicleID($0.id) < VehicleID($1.id) }
        self.entities = entities
        self.changes = changes
    }

    /// The place of the first entity whose id comes after one.
    func place(after id: VehicleID) -> Int {
        var (low, high) = (0, entities.count)
        while low < high {
            let middle = (low + high) / 2
            if VehicleID(entities[middle].id) <= id { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
