/// How many entities a feed may hold.
///
/// Its bytes do not say what a feed costs whoever works with it each second: a vehicle can be written in twenty of them.
public struct FeedLimits: Sendable, Equatable {
    /// Entities of every kind.
    public var entities: Int
    /// Entities with a vehicle.
    public var vehicles: Int

    /// Makes limits; without numbers, none.
    public init(entities: Int = .max, vehicles: Int = .max) {
        self.entities = entities
        self.vehicles = vehicles
    }

    /// Refuses a feed that holds more, at the first entity too many and before anything is decoded.
    ///
    /// What is no protobuf passes: that is the decoder's to refuse.
    func check(_ bytes: UnsafeRawBufferPointer) throws(FeedDecodingError) {
        guard self != FeedLimits() else { return }
        var (entityCount, vehicleCount) = (0, 0)
        var feed = FieldWalk(bytes[...])
        while let (field, entity) = feed.next() {
            guard field == Field.entity, let entity else { continue }
            entityCount += 1
            guard entityCount <= entities else { throw .tooMany("entities", limit: entities) }
            guard Self.hasVehicle(entity) else { continue }
            vehicleCount += 1
            guard vehicleCount <= vehicles else { throw .tooMany("vehicles", limit: vehicles) }
        }
    }

    /// Numbers of fields in gtfs-realtime.proto.
    private enum Field {
        static let entity: UInt64 = 2
        static let vehicle: UInt64 = 4
    }

    private static func hasVehicle(_ entity: Slice<UnsafeRawBufferPointer>) -> Bool {
        var fields = FieldWalk(entity)
        while let (field, _) = fields.next() {
            if field == Field.vehicle { return true }
        }
        return false
    }
}

/// Goes over the fields of a protobuf message without taking them in.
private struct FieldWalk {
    private var rest: Slice<UnsafeRawBufferPointer>

    init(_ message: Slice<UnsafeRawBufferPointer>) { rest = message }

    /// The next field; nil at the end and where the bytes are no protobuf.
    ///
    /// - Returns: Its number and, where it has a length, its bytes.
    mutating func next() -> (number: UInt64, content: Slice<UnsafeRawBufferPointer>?)? {
        guard let tag = varint() else { return nil }
        let number = tag >> 3
        switch tag & 7 {
        case 0: return varint().map { _ in (number, nil) }
        case 1: return take(8).map { _ in (number, nil) }
        case 2:
            guard let length = varint().flatMap(Int.init(exactly:)) else { return nil }
            return take(length).map { (number, $0) }
        case 5: return take(4).map { _ in (number, nil) }
        default: return nil
        }
    }

    private mutating func take(_ count: Int) -> Slice<UnsafeRawBufferPointer>? {
        guard count <= rest.count else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    private mutating func varint() -> UInt64? {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 70, by: 7) {
            guard let byte = rest.popFirst() else { return nil }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
        }
        return nil
    }
}
