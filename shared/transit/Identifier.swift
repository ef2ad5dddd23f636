/// POSIX seconds, the unit of every domain time.
public typealias UnixSeconds = Int64

/// The text id of one kind of GTFS entity, compared byte by byte.
///
/// `String` compares by Unicode equivalence, under which two different GTFS ids can be equal; ids are
/// bytes, so equality, order and hash go over the UTF-8 here. A stop's id does not fit where a
/// trip's is asked for.
public struct Identifier<Kind>: Hashable, Comparable, Sendable, CustomStringConvertible,
    ExpressibleByStringLiteral
{
    /// The id as the feed writes it.
    public let rawValue: String

    /// Wraps an id.
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// Wraps an id.
    public init(stringLiteral value: String) { rawValue = value }

    /// The id as the feed writes it.
    public var description: String { rawValue }

    /// Whether the feed gave no id.
    public var isEmpty: Bool { rawValue.isEmpty }

    /// Compares the UTF-8 bytes.
    public static func == (left: Self, right: Self) -> Bool {
        guard left.rawValue.utf8.count == right.rawValue.utf8.count else { return false }
        return left.withBytes { bytes in
            right.withBytes { other in
                for index in bytes.indices where bytes[index] != other[index] { return false }
                return true
            }
        }
    }

    /// Orders by the UTF-8 bytes.
    public static func < (left: Self, right: Self) -> Bool {
        left.withBytes { bytes in
            right.withBytes { bytes.lexicographicallyPrecedes($0) }
        }
    }

    /// Hashes the UTF-8 bytes.
    public func hash(into hasher: inout Hasher) {
        withBytes { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        hasher.combine(0xFF as UInt8)
    }

    /// Calls `body` with the UTF-8 bytes.
    func withBytes<T>(_ body: (UnsafeBufferPointer<UInt8>) -> T) -> T {
        if let result = rawValue.utf8.withContiguousStorageIfAvailable(body) { return result }
        return Array(rawValue.utf8).withUnsafeBufferPointer(body)
    }
}

/// Marks a trip's id.
public enum TripKind {}
/// Marks a route's id.
public enum RouteKind {}
/// Marks a stop's id.
public enum StopKind {}
/// Marks the id of a GTFS service calendar.
public enum ServiceKind {}
/// Marks a shape's id.
public enum ShapeKind {}
/// Marks a vehicle's id.
public enum VehicleKind {}
/// Marks an agency's id.
public enum AgencyKind {}
/// Marks a block's id.
public enum BlockKind {}

/// `trips.trip_id`.
public typealias TripID = Identifier<TripKind>
/// `routes.route_id`.
public typealias RouteID = Identifier<RouteKind>
/// `stops.stop_id`.
public typealias StopID = Identifier<StopKind>
/// `calendar.service_id`.
public typealias ServiceID = Identifier<ServiceKind>
/// `shapes.shape_id`.
public typealias ShapeID = Identifier<ShapeKind>
/// The id that a vehicle carries in reports and in GTFS Realtime.
public typealias VehicleID = Identifier<VehicleKind>
/// `agency.agency_id`.
public typealias AgencyID = Identifier<AgencyKind>
/// `trips.block_id`.
public typealias BlockID = Identifier<BlockKind>
