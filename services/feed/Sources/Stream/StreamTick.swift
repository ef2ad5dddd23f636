internal import Messages
internal import RealtimeFeed
internal import Synchronization
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

    /// Rises by one with each state, and is no other state's ever.
    let number: UInt64
    let header: UnixSeconds
    /// All entities by id, so that a place among them is one in every state.
    let entities: [StreamEntity]
    let changes: [Change]
    private let indexes = Mutex<Indexes?>(nil)

    private struct Indexes: Sendable {
        let entities, changes: StreamIndex
    }

    /// Makes a state of a feed.
    ///
    /// - Parameters:
    ///   - feed: The positions.
    ///   - number: Above the one before by one.
    ///   - previous: The state before; nil for a first one.
    init(_ feed: PublishedFeed, number: UInt64, after previous: StreamTick?) {
        self.number = number
        header = feed.built.headerTimestamp
        let before = previous?.entities ?? []
        let places = Dictionary(
            before.enumerated().map { (VehicleID($0.element.id), $0.offset) },
            uniquingKeysWith: { first, _ in first }
        )
        var kept = [StreamEntity?](repeating: nil, count: before.count)
        var added: [StreamEntity] = []
        var changes: [Change] = []
        for source in SourcedEntity.Source.allCases {
            guard let wanted = FeedSource(rawValue: source.rawValue) else { continue }
            for entity in feed.entities(of: wanted) {
                let place = places[VehicleID(entity.id)].flatMap { kept[$0] == nil ? $0 : nil }
                let old = place.map { before[$0] }
                if let place, let old, old.entity == entity, old.source == source {
                    kept[place] = old
                    continue
                }
                let new = StreamEntity(entity, source: source)
                changes.append(Change(old: old, new: new))
                if let place { kept[place] = new } else { added.append(new) }
            }
        }
        for (old, new) in zip(before, kept) where new == nil {
            changes.append(Change(old: old, new: nil))
        }
        entities = Self.joined(kept.compactMap(\.self), added)
        self.changes = changes
    }

    /// Entities that are in order with others that need not be: only what is new is sorted each second.
    private static func joined(
        _ kept: [StreamEntity],
        _ added: [StreamEntity]
    ) -> [StreamEntity] {
        guard !added.isEmpty else { return kept }
        var entities: [StreamEntity] = []
        entities.reserveCapacity(kept.count + added.count)
        var rest = kept[...]
        for new in added.sorted(by: { VehicleID($0.id) < VehicleID($1.id) }) {
            let id = VehicleID(new.id)
            while let next = rest.first, VehicleID(next.id) < id {
                entities.append(next)
                rest.removeFirst()
            }
            entities.append(new)
        }
        return entities + rest
    }

    /// Makes what narrow filters are looked up in, which takes milliseconds; otherwise the first reader does.
    func prepareForNarrowFilters() { _ = indexed() }

    /// The places among the entities, or the changes, at which there may be something for a filter.
    ///
    /// - Returns: In order; nil when all of them are to be looked at.
    func places(in part: StreamTelling.Part, for filter: StreamFilter) -> [Int32]? {
        guard !filter.isCommon else { return nil }
        let indexes = indexed()
        return switch part {
        case .entities: indexes.entities.places(for: filter)
        case .changes: indexes.changes.places(for: filter)
        }
    }

    private func indexed() -> Indexes {
        indexes.withLock { indexes in
            if let indexes { return indexes }
            let made = Indexes(
                entities: StreamIndex(entities.count) { (entities[$0], nil) },
                changes: StreamIndex(changes.count) { (changes[$0].old, changes[$0].new) }
            )
            indexes = made
            return made
        }
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
