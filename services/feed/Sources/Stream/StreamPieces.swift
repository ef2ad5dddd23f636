internal import Messages
internal import Telemetry

/// What one reader is told of a state, made piece by piece: a reader that stops reading holds one of them
/// and not the whole.
struct StreamPieces: Sendable {
    private let tick: StreamTick
    private let filter: StreamFilter
    private let isSnapshot: Bool
    /// Entities, or changes, that were looked at.
    private var index = 0
    private var isBegun = false
    private var isEnded = false
    /// Whether an entity of the snapshot was written.
    private var hasEntities = false

    init(of tick: StreamTick, for filter: StreamFilter, isSnapshot: Bool) {
        self.tick = tick
        self.filter = filter
        self.isSnapshot = isSnapshot
    }

    /// All of it at once; empty when there is nothing for this reader.
    var whole: [UInt8] {
        var pieces = self
        return pieces.next(.max) ?? []
    }

    /// The next piece.
    ///
    /// - Parameter size: In bytes; a piece ends with the entity that goes beyond it.
    /// - Returns: Never empty; nil at the end.
    mutating func next(_ size: Int) -> [UInt8]? {
        var bytes: [UInt8] = []
        if isSnapshot { addSnapshot(to: &bytes, size) } else { addChanges(to: &bytes, size) }
        return bytes.isEmpty ? nil : bytes
    }

    private mutating func addSnapshot(to bytes: inout [UInt8], _ size: Int) {
        guard !isEnded else { return }
        if !isBegun {
            isBegun = true
            bytes += "id: \(tick.number)\nevent: snapshot\ndata: {\"header\":".utf8
            bytes += "{\"gtfsRealtimeVersion\":\"2.0\",\"incrementality\":\"FULL_DATASET\",".utf8
            bytes += "\"timestamp\":\"\(tick.header)\"},\"entity\":[".utf8
        }
        while index < tick.entities.count, bytes.count < size {
            let entity = tick.entities[index]
            index += 1
            guard filter.admits(entity) else { continue }
            if hasEntities { bytes.append(UInt8(ascii: ",")) }
            hasEntities = true
            bytes += entity.json
        }
        guard index == tick.entities.count else { return }
        isEnded = true
        bytes += "]}\n\n".utf8
    }

    private mutating func addChanges(to bytes: inout [UInt8], _ size: Int) {
        while index < tick.changes.count, bytes.count < size {
            let change = tick.changes[index]
            index += 1
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
    }
}
