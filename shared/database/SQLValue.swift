public import Transit

/// A parameter of a statement.
///
/// Whole numbers, text and flags take the type that their place in the statement has, so
/// `WHERE id = $1` works for every width of integer, for enumerations and for `jsonb`. The others
/// carry their own type. Arrays are for `unnest($1::bigint[], …)`, which inserts many rows with one
/// statement; they travel in PostgreSQL's binary format, and the cast may name a narrower type.
public enum SQLValue: Hashable, Sendable {
    /// SQL NULL of whatever type its place has.
    case null
    /// Text; U+0000 is refused with SQLSTATE 22021, as PostgreSQL cannot store it.
    case text(String)
    /// A whole number.
    case int(Int)
    /// A `double precision`.
    case double(Double)
    /// A `boolean`.
    case bool(Bool)
    /// A `uuid`.
    case uuid(UniqueID)
    /// A `bytea`.
    case bytes([UInt8])
    /// A `timestamptz` from POSIX seconds.
    case timestamp(UnixSeconds)
    /// A `text[]`.
    case textArray([String?])
    /// A `bigint[]`.
    case intArray([Int64?])
    /// A `smallint[]`.
    case smallintArray([Int16?])
    /// A `double precision[]`.
    case doubleArray([Double?])
    /// A `real[]`.
    case realArray([Float?])
    /// A `boolean[]`.
    case boolArray([Bool?])
    /// A `uuid[]`.
    case uuidArray([UniqueID?])
    /// A `timestamptz[]` from POSIX seconds.
    case timestampArray([UnixSeconds?])
    /// A `bytea[]`.
    case bytesArray([[UInt8]?])

    /// A whole number of 64 bits.
    public static func int64(_ value: Int64) -> SQLValue { .int(Int(value)) }

    /// Makes text, or NULL from nil.
    public init(_ value: String?) { self = value.map(SQLValue.text) ?? .null }
    /// Makes a whole number, or NULL from nil.
    public init(_ value: Int?) { self = value.map(SQLValue.int) ?? .null }
    /// Makes a whole number, or NULL from nil.
    public init(_ value: Int64?) { self = value.map(SQLValue.int64) ?? .null }
    /// Makes a number, or NULL from nil.
    public init(_ value: Double?) { self = value.map(SQLValue.double) ?? .null }
    /// Makes a flag, or NULL from nil.
    public init(_ value: Bool?) { self = value.map(SQLValue.bool) ?? .null }
    /// Makes a `uuid`, or NULL from nil.
    public init(_ value: UniqueID?) { self = value.map(SQLValue.uuid) ?? .null }
}

extension SQLValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByNilLiteral
{
    /// Makes text.
    public init(stringLiteral value: String) { self = .text(value) }
    /// Makes a whole number.
    public init(integerLiteral value: Int) { self = .int(value) }
    /// Makes a number.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// Makes a flag.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// Makes NULL.
    public init(nilLiteral: ()) { self = .null }
}

/// The object ids of PostgreSQL's built-in types that are read or written here (`pg_type.dat`).
enum TypeID {
    static let inferred: UInt32 = 0
    static let bool: UInt32 = 16
    static let bytes: UInt32 = 17
    static let character: UInt32 = 18
    static let name: UInt32 = 19
    static let int8: UInt32 = 20
    static let int2: UInt32 = 21
    static let int4: UInt32 = 23
    static let text: UInt32 = 25
    static let objectID: UInt32 = 26
    static let json: UInt32 = 114
    static let float4: UInt32 = 700
    static let float8: UInt32 = 701
    static let unknown: UInt32 = 705
    static let boolArray: UInt32 = 1000
    static let bytesArray: UInt32 = 1001
    static let int2Array: UInt32 = 1005
    static let int4Array: UInt32 = 1007
    static let textArray: UInt32 = 1009
    static let varcharArray: UInt32 = 1015
    static let int8Array: UInt32 = 1016
    static let float4Array: UInt32 = 1021
    static let float8Array: UInt32 = 1022
    static let paddedText: UInt32 = 1042
    static let varchar: UInt32 = 1043
    static let timestamp: UInt32 = 1184
    static let timestampArray: UInt32 = 1185
    static let uuid: UInt32 = 2950
    static let uuidArray: UInt32 = 2951
    static let jsonb: UInt32 = 3802
    /// Types made by users begin here: enumerations are read as text.
    static let firstUserDefined: UInt32 = 16_384
}

/// Seconds from 1970 to 2000, where PostgreSQL's binary timestamps begin.
let postgresEpoch: Int64 = 946_684_800
