package import Messages
internal import Transit
internal import Web

/// Reads a report of positions from its bytes, without a tree of values in between.
///
/// It knows only reports as phones send them. Whatever else the bytes hold, it leaves to
/// ``ReportedPoint/points(of:)``, which takes unusual spellings and has the sentences for what is wrong.
package enum PositionReader {
    /// The points of a report.
    ///
    /// - Parameter bytes: A request's body.
    /// - Returns: nil when the body is not a plain and valid report.
    package static func points(_ bytes: [UInt8]) -> [ReportedPoint]? {
        var reader = JSONReader(bytes)
        return try? points(&reader)
    }

    private static func points(_ reader: inout JSONReader) throws(JSONError) -> [ReportedPoint]? {
        guard try reader.next() == .beginObject, try reader.next() == .key,
            reader.isEqual(to: "positions"), try reader.next() == .beginArray
        else { return nil }
        var points: [ReportedPoint] = []
        points.reserveCapacity(RiderLimits.batchSize)
        while true {
            switch try reader.next() {
            case .beginObject:
                guard points.count < RiderLimits.batchSize, let point = try point(&reader) else {
                    return nil
                }
                points.append(point)
            case .endArray:
                guard !points.isEmpty, try reader.next() == .endObject, try reader.next() == .end
                else { return nil }
                return points
            default: return nil
            }
        }
    }

    /// The members of a point, in the order of their bits.
    private static let members: [StaticString] = [
        "latitude", "longitude", "timestamp", "accuracy", "speed", "bearing",
    ]

    private static func point(_ reader: inout JSONReader) throws(JSONError) -> ReportedPoint? {
        var point = ReportedPoint(latitude: .nan, longitude: .nan, timestamp: 0)
        var seen: UInt8 = 0
        while try reader.next() == .key {
            guard let member = members.firstIndex(where: { reader.isEqual(to: $0) }),
                seen & 1 << UInt8(member) == 0
            else { return nil }
            seen |= 1 << UInt8(member)
            guard try reader.next() == .number else { return nil }
            switch member {
            case 0: point.latitude = reader.double
            case 1: point.longitude = reader.double
            case 2:
                guard let time = reader.int64 else { return nil }
                point.timestamp = time
            case 3: point.accuracy = reader.double
            case 4: point.speed = reader.double
            default: point.bearing = reader.double
            }
        }
        // Also false for the not-a-numbers that stand for what is missing.
        guard point.timestamp > 0, (-90...90).contains(point.latitude),
            (-180...180).contains(point.longitude)
        else { return nil }
        return point
    }
}
