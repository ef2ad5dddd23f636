internal import Messages
internal import Telemetry
internal import Transit

/// How far one reader was told a state, piece by piece.
///
/// It is a place and holds nothing of the state: readers keep no state in memory, however many they are and
/// however slowly they read. When the state is gone a snapshot goes on in a newer one, behind the entity that
/// was told last; each entity is then as new as the piece that it came with, and none comes twice.
struct StreamTelling: Sendable {
    /// What of a state is told.
    enum Part { case entities, changes }

    /// Whether everything is told, or what changed.
    let isSnapshot: Bool
    /// The state in which it began.
    let began: UInt64
    /// The state that it is in.
    private(set) var state: UInt64
    /// Entities, or changes, of that state that were looked at.
    private(set) var index = 0
    private(set) var isEnded = false
    private var isBegun = false
    /// Whether an entity of the snapshot was written.
    private var hasEntities = false
    /// The entity that was looked at last.
    private var lastID: VehicleID?

    /// A telling of which nothing was told yet.
    init(of tick: StreamTick, isSnapshot: Bool) {
        self.isSnapshot = isSnapshot
        began = tick.number
        state = tick.number
    }

    /// Whether a newer state has taken the place of the one in which it began.
    var isMoved: Bool { state != began }

    /// Goes on in a newer state; for a snapshot alone.
    mutating func move(to tick: StreamTick) {
        state = tick.number
        index = lastID.map { tick.place(after: $0) } ?? 0
    }

    /// The next piece; ``isEnded`` says whether it was the last.
    ///
    /// - Parameters:
    ///   - size: In bytes; a piece ends with the entity that goes beyond it.
    ///   - tick: The state that it is in.
    ///   - filter: What the reader wants.
    /// - Returns: Empty when nothing of what changed is for this reader.
    mutating func next(_ size: Int, of tick: StreamTick, for filter: StreamFilter) -> [UInt8] {
        var bytes: [UInt8] = []
        if isSnapshot {
            addSnapshot(to: &bytes, size, tick, filter)
        } else {
            addChanges(to: &bytes, size, tick, filter)
        }
        return bytes
    }

    private mutating func addSnapshot(
        to bytes: inout [UInt8],
        _ size: Int,
        _ tick: StreamTick,
        _ filter: StreamFilter
    ) {
        if !isBegun {
            isBegun = true
            bytes += "id: \(tick.number)\nevent: snapshot\ndata: {\"entity\":[".utf8
        }
        var walk = Walk(tick.places(in: .entities, for: filter), tick.entities.count, from: index)
        while bytes.count < size, let place = walk.next() {
            let entity = tick.entities[place]
            lastID = VehicleID(entity.id)
            guard filter.admits(entity) else { continue }
            if hasEntities { bytes.append(UInt8(ascii: ",")) }
            hasEntities = true
            bytes += entity.json
        }
        index = walk.index
        guard index == tick.entities.count else { return }
        isEnded = true
        // The header comes last: it is the newest state's of which there is an entity.
        bytes += "],\"header\":{\"gtfsRealtimeVersion\":\"2.0\",".utf8
        bytes += "\"incrementality\":\"FULL_DATASET\",\"timestamp\":\"\(tick.header)\"}}\n\n".utf8
    }

    private mutating func addChanges(
        to bytes: inout [UInt8],
        _ size: Int,
        _ tick: StreamTick,
        _ filter: StreamFilter
    ) {
        var walk = Walk(tick.places(in: .changes, for: filter), tick.changes.count, from: index)
        while bytes.count < size, let place = walk.next() {
            let change = tick.changes[place]
            if let new = change.new, filter.admits(new) {
                bytes += "id: \(tick.number)\nevent: update\ndata: ".utf8
                bytes += new.json
                bytes += [0x0A, 0x0A]
            } else if let old = change.old, filter.admits(old) {
                var text = ""
                JSONText.append(old.id, to: &text)
                bytes += "id: \(tick.number)\nevent: remove\n".utf8
                bytes += "data: {\"id\":\(text),\"isDeleted\":true}\n\n".utf8
            }
        }
        index = walk.index
        isEnded = index == tick.changes.count
    }
}

/// Goes over the places of a list from one on: all, or those that an index names.
private struct Walk {
    private let places: [Int32]?
    private let count: Int
    private var position = 0
    /// The next place to be looked at; the list's count when there is none.
    private(set) var index: Int

    init(_ places: [Int32]?, _ count: Int, from index: Int) {
        self.places = places
        self.count = count
        self.index = index
        guard let places else { return }
        position = places.partitioningIndex { Int($0) >= index }
        self.index = position < places.count ? Int(places[position]) : count
    }

    mutating func next() -> Int? {
        guard index < count else { return nil }
        defer {
            if let places {
                position += 1
                index = position < places.count ? Int(places[position]) : count
            } else {
                index += 1
            }
        }
        return index
    }
}

extension [Int32] {
    /// The first place, in a list in order, from which on something holds; the count where it never does.
    fileprivate func partitioningIndex(where holds: (Int32) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if holds(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

/// How far one reader is.
struct StreamPlace: Sendable {
    /// The state that it knows; 0 for none.
    var seen: UInt64 = 0
    /// What it is being told; nil between two states.
    var telling: StreamTelling?

    /// Takes in that a piece was told.
    mutating func settle(_ telling: StreamTelling) {
        if telling.isEnded { seen = telling.began }
        self.telling = telling.isEnded ? nil : telling
    }
}
