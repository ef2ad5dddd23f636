/// How much a feed may hold.
///
/// Its bytes do not say what a feed costs whoever reads it and works with it each second: a vehicle can be written in
/// twenty of them, a stop time in two.
public struct FeedLimits: Sendable, Equatable {
    /// Entities of every kind.
    public var entities: Int
    /// Entities with a vehicle.
    public var vehicles: Int
    /// Stop time updates of all trip updates together.
    public var stopTimes: Int

    /// Makes limits; without numbers, none.
    public init(entities: Int = .max, vehicles: Int = .max, stopTimes: Int = .max) {
        self.entities = entities
        self.vehicles = vehicles
        self.stopTimes = stopTimes
    }

    /// Refuses a feed that holds more, at the first part too many and before anything is decoded.
    ///
    /// What is no protobuf passes: that is the decoder's to refuse.
    func check(_ bytes: UnsafeRawBufferPointer) throws(FeedDecodingError) {
        guard self != FeedLimits() else { return }
        var count = FeedLimits(entities: 0, vehicles: 0, stopTimes: 0)
        var feed = FieldWalk(bytes)
        while let (field, entity) = feed.next() {
            guard field == Field.entity, let entity else { continue }
            count.entities += 1
            guard count.entities <= entities else { throw .tooMany("entities", limit: entities) }
            try check(entity, &count)
        }
    }

    private func check(
        _ entity: UnsafeRawBufferPointer,
        _ count: inout FeedLimits
    ) throws(FeedDecodingError) {
        var fields = FieldWalk(entity)
        var hasVehicle = false
        while let (field, content) = fields.next() {
            if field == Field.vehicle { hasVehicle = true }
            guard field == Field.tripUpdate, let content else { continue }
            var update = FieldWalk(content)
            while let (field, _) = update.next() {
                if field == Field.stopTimeUpdate { count.stopTimes += 1 }
                guard count.stopTimes <= stopTimes else {
                    throw .tooMany("stop times", limit: stopTimes)
                }
            }
        }
        if hasVehicle { count.vehicles += 1 }
        guard count.vehicles <= vehicles else { throw .tooMany("vehicles", limit: vehicles) }
    }

    /// Numbers of fields in gtfs-realtime.proto, of the feed, an entity and a trip update.
    private enum Field {
        static let entity: UInt64 = 2
        static let tripUpdate: UInt64 = 3
        static let vehicle: UInt64 = 4
        static let stopTimeUpdate: UInt64 = 2
    }
}

/// Goes over the fields of a protobuf message without taking them in.
private struct FieldWalk {
    private let bytes: UnsafeRawBufferPointer
    private var offset = 0

    init(_ message: UnsafeRawBufferPointer) { bytes = message }

    /// The next field; nil at the end and where the bytes are no protobuf.
    ///
    /// - Returns: Its number and, where it has a length, its bytes.
    mutating func next() -> (number: UInt64, content: UnsafeRawBufferPointer?)? {
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

    private mutating func take(_ count: Int) -> UnsafeRawBufferPointer? {
        guard count <= bytes.count - offset else { return nil }
        defer { offset += count }
        return UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + count])
    }

    private mutating func varint() -> UInt64? {
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while shift < 70, offset < bytes.count {
            let byte = bytes[offset]
            offset += 1
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
        }
        return nil
    }
}
