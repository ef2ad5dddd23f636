internal import CLibPQ
public import Transit

/// The rows a statement gave back, read in place.
///
/// `@unchecked Sendable`: a `PGresult` never changes after libpq handed it over, so threads may
/// read it together, and it is freed once, when the last reference goes.
public final class Rows: RandomAccessCollection, @unchecked Sendable {
    /// The number of rows.
    public let count: Int
    let columns: Columns
    private let result: OpaquePointer

    /// Takes ownership of a result.
    init(_ result: OpaquePointer, columns: Columns?) {
        self.result = result
        count = Int(PQntuples(result))
        self.columns = columns ?? Columns(result)
    }

    deinit { PQclear(result) }

    /// The first row's position.
    public var startIndex: Int { 0 }
    /// The position after the last row.
    public var endIndex: Int { count }

    /// One row.
    public subscript(position: Int) -> Row {
        precondition(position >= 0 && position < count, "there is no row \(position)")
        return Row(rows: self, position: position)
    }

    /// The only row of a statement that gives exactly one.
    ///
    /// - Returns: That row.
    /// - Throws: ``DatabaseError`` of kind `statement` for none or several.
    public func one() throws(DatabaseError) -> Row {
        guard count == 1 else {
            throw DatabaseError(.statement, "expected one row, got \(count)")
        }
        return self[0]
    }

    /// The rows that the statement wrote or read, as the server counted them.
    var affected: Int {
        guard let text = PQcmdTuples(result) else { return 0 }
        return Int(String(cString: text)) ?? 0
    }

    /// The bytes of a value in binary format, or nil for NULL; valid while `self` lives.
    func bytes(_ row: Int, _ column: Int) -> UnsafeRawBufferPointer? {
        guard PQgetisnull(result, Int32(row), Int32(column)) == 0 else { return nil }
        return UnsafeRawBufferPointer(
            start: PQgetvalue(result, Int32(row), Int32(column)),
            count: Int(PQgetlength(result, Int32(row), Int32(column)))
        )
    }
}

/// The names and types of a statement's columns, kept with the prepared statement.
final class Columns: Sendable {
    let names: [String]
    let types: [UInt32]
    private let indices: [String: Int]

    init(_ result: OpaquePointer) {
        var names: [String] = []
        var types: [UInt32] = []
        var indices: [String: Int] = [:]
        for column in 0..<PQnfields(result) {
            let name = PQfname(result, column).map { String(cString: $0) } ?? ""
            indices[name] = indices[name] ?? Int(column)
            names.append(name)
            types.append(PQftype(result, column))
        }
        self.names = names
        self.types = types
        self.indices = indices
    }

    func index(_ name: String) -> Int? { indices[name] }
}

/// What names a column: its name, or its position from 0.
public protocol ColumnKey {
    /// The column's position among the names, or nil when there is none such.
    func position(in names: (_ name: String) -> Int?) -> Int?
}

extension String: ColumnKey {
    /// The position of the first column of this name.
    public func position(in names: (_ name: String) -> Int?) -> Int? { names(self) }
}

extension Int: ColumnKey {
    /// The position itself.
    public func position(in names: (_ name: String) -> Int?) -> Int? { self }
}

/// One row of ``Rows``; every getter names the column by name or position.
///
/// A getter throws ``DatabaseError`` of kind `statement` for a column that does not exist, is of
/// another type, or is NULL; the getters that begin with `optional` give nil for NULL.
public struct Row: Sendable {
    let rows: Rows
    let position: Int

    /// A text-like value: `text`, `varchar`, `json`, `jsonb`, or an enumeration's label.
    public func text(_ column: some ColumnKey) throws(DatabaseError) -> String {
        try required(column, optionalText(column))
    }

    /// A text-like value, or nil for NULL.
    public func optionalText(_ column: some ColumnKey) throws(DatabaseError) -> String? {
        try read(column) { bytes, type in
            switch type {
            case TypeID.text, TypeID.varchar, TypeID.paddedText, TypeID.name, TypeID.json,
                TypeID.unknown, TypeID.character, TypeID.firstUserDefined...:
                String(decoding: bytes, as: UTF8.self)
            // One version byte goes before the text.
            case TypeID.jsonb: String(decoding: bytes.dropFirst(), as: UTF8.self)
            default: nil
            }
        }
    }

    /// A whole number of any width.
    public func int(_ column: some ColumnKey) throws(DatabaseError) -> Int {
        try required(column, optionalInt(column))
    }

    /// A whole number of any width, or nil for NULL.
    public func optionalInt(_ column: some ColumnKey) throws(DatabaseError) -> Int? {
        try read(column, integer)
    }

    /// A whole number of any width as 64 bits.
    public func int64(_ column: some ColumnKey) throws(DatabaseError) -> Int64 {
        Int64(try int(column))
    }

    /// A whole number of any width as 64 bits, or nil for NULL.
    public func optionalInt64(_ column: some ColumnKey) throws(DatabaseError) -> Int64? {
        try optionalInt(column).map(Int64.init)
    }

    /// A `real` or `double precision`.
    public func double(_ column: some ColumnKey) throws(DatabaseError) -> Double {
        try required(column, optionalDouble(column))
    }

    /// A `real` or `double precision`, or nil for NULL.
    public func optionalDouble(_ column: some ColumnKey) throws(DatabaseError) -> Double? {
        try read(column, floatingPoint)
    }

    /// A `boolean`.
    public func bool(_ column: some ColumnKey) throws(DatabaseError) -> Bool {
        try required(column, optionalBool(column))
    }

    /// A `boolean`, or nil for NULL.
    public func optionalBool(_ column: some ColumnKey) throws(DatabaseError) -> Bool? {
        try read(column) { bytes, type in type == TypeID.bool ? bytes.first == 1 : nil }
    }

    /// A `uuid`.
    public func uuid(_ column: some ColumnKey) throws(DatabaseError) -> UniqueID {
        try required(column, optionalUUID(column))
    }

    /// A `uuid`, or nil for NULL.
    public func optionalUUID(_ column: some ColumnKey) throws(DatabaseError) -> UniqueID? {
        try read(column, uniqueID)
    }

    /// A `timestamptz` in POSIX seconds; parts of a second are dropped.
    public func timestamp(_ column: some ColumnKey) throws(DatabaseError) -> UnixSeconds {
        try required(column, optionalTimestamp(column))
    }

    /// A `timestamptz` in POSIX seconds, or nil for NULL.
    public func optionalTimestamp(
        _ column: some ColumnKey
    ) throws(DatabaseError) -> UnixSeconds? {
        try read(column, unixSeconds)
    }

    /// A `bytea`.
    public func bytes(_ column: some ColumnKey) throws(DatabaseError) -> [UInt8] {
        try required(column, optionalBytes(column))
    }

    /// A `bytea`, or nil for NULL.
    public func optionalBytes(_ column: some ColumnKey) throws(DatabaseError) -> [UInt8]? {
        try read(column) { bytes, type in type == TypeID.bytes ? Array(bytes) : nil }
    }

    /// A `text[]` or `varchar[]` of one dimension; an element that is NULL is nil.
    public func texts(_ column: some ColumnKey) throws(DatabaseError) -> [String?] {
        try array(column, [TypeID.textArray, TypeID.varcharArray]) { bytes, _ in
            String(decoding: bytes, as: UTF8.self)
        }
    }

    /// An array of whole numbers of any width, of one dimension; an element that is NULL is nil.
    public func ints(_ column: some ColumnKey) throws(DatabaseError) -> [Int?] {
        try array(
            column,
            [TypeID.int2Array, TypeID.int4Array, TypeID.int8Array],
            integer
        )
    }

    /// A `uuid[]` of one dimension; an element that is NULL is nil.
    public func uuids(_ column: some ColumnKey) throws(DatabaseError) -> [UniqueID?] {
        try array(column, [TypeID.uuidArray], uniqueID)
    }

    /// Whether the value is NULL.
    ///
    /// - Returns: true for NULL of any type.
    /// - Throws: ``DatabaseError`` for a column that does not exist.
    public func isNull(_ column: some ColumnKey) throws(DatabaseError) -> Bool {
        rows.bytes(position, try index(column)) == nil
    }

    // MARK: - Details

    private func index(_ column: some ColumnKey) throws(DatabaseError) -> Int {
        let index = column.position(in: rows.columns.index)
        guard let index, rows.columns.names.indices.contains(index) else {
            throw DatabaseError(.statement, "the result has no column \(column)")
        }
        return index
    }

    private func required<Value>(
        _ column: some ColumnKey,
        _ value: Value?
    ) throws(DatabaseError) -> Value {
        guard let value else {
            throw DatabaseError(.statement, "column \(column) is NULL")
        }
        return value
    }

    private func read<Value>(
        _ column: some ColumnKey,
        _ decode: (UnsafeRawBufferPointer, UInt32) -> Value?
    ) throws(DatabaseError) -> Value? {
        let index = try index(column)
        guard let bytes = rows.bytes(position, index) else { return nil }
        let type = rows.columns.types[index]
        guard let value = decode(bytes, type) else {
            throw DatabaseError(
                .statement,
                "column \(column) has type \(type) (pg_type.oid), which this getter does not read"
            )
        }
        return value
    }

    private func array<Element>(
        _ column: some ColumnKey,
        _ accepted: [UInt32],
        _ decode: (UnsafeRawBufferPointer, UInt32) -> Element?
    ) throws(DatabaseError) -> [Element?] {
        let elements = try read(column) { bytes, type in
            accepted.contains(type) ? arrayElements(bytes, decode) : nil
        }
        return try required(column, elements)
    }
}

// MARK: - Binary formats

private func integer(_ bytes: UnsafeRawBufferPointer, _ type: UInt32) -> Int? {
    switch type {
    case TypeID.int2: bigEndian(bytes, as: Int16.self).map(Int.init)
    case TypeID.int4: bigEndian(bytes, as: Int32.self).map(Int.init)
    case TypeID.int8: bigEndian(bytes, as: Int64.self).map(Int.init)
    case TypeID.objectID: bigEndian(bytes, as: UInt32.self).map(Int.init)
    default: nil
    }
}

private func floatingPoint(_ bytes: UnsafeRawBufferPointer, _ type: UInt32) -> Double? {
    switch type {
    case TypeID.float4:
        bigEndian(bytes, as: UInt32.self).map { Double(Float(bitPattern: $0)) }
    case TypeID.float8: bigEndian(bytes, as: UInt64.self).map(Double.init(bitPattern:))
    default: nil
    }
}

private func uniqueID(_ bytes: UnsafeRawBufferPointer, _ type: UInt32) -> UniqueID? {
    type == TypeID.uuid ? UniqueID(bytes: bytes) : nil
}

/// Floors towards the past, so that half a second before 1970 is second −1.
private func unixSeconds(_ bytes: UnsafeRawBufferPointer, _ type: UInt32) -> UnixSeconds? {
    guard type == TypeID.timestamp, let microseconds = bigEndian(bytes, as: Int64.self) else {
        return nil
    }
    let (seconds, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
    return seconds + postgresEpoch - (rest < 0 ? 1 : 0)
}

private func bigEndian<Value: FixedWidthInteger>(
    _ bytes: UnsafeRawBufferPointer,
    as type: Value.Type
) -> Value? {
    guard bytes.count == MemoryLayout<Value>.size else { return nil }
    return Value(bigEndian: bytes.loadUnaligned(as: Value.self))
}

/// Reads dimensions, a NULL flag, the element type, then each element behind its length.
private func arrayElements<Element>(
    _ bytes: UnsafeRawBufferPointer,
    _ decode: (UnsafeRawBufferPointer, UInt32) -> Element?
) -> [Element?]? {
    var rest = bytes[...]
    func next<Value: FixedWidthInteger>(_ type: Value.Type) -> Value? {
        guard rest.count >= MemoryLayout<Value>.size else { return nil }
        let field = UnsafeRawBufferPointer(rebasing: rest.prefix(MemoryLayout<Value>.size))
        rest = rest.dropFirst(MemoryLayout<Value>.size)
        return bigEndian(field, as: Value.self)
    }
    guard let dimensions = next(Int32.self), next(Int32.self) != nil,
        let type = next(UInt32.self)
    else { return nil }
    if dimensions == 0 { return [] }
    guard dimensions == 1, let count = next(Int32.self), next(Int32.self) != nil else {
        return nil
    }
    var elements: [Element?] = []
    for _ in 0..<count {
        guard let length = next(Int32.self) else { return nil }
        if length < 0 {
            elements.append(nil)
            continue
        }
        guard rest.count >= Int(length),
            let element = decode(
                UnsafeRawBufferPointer(rebasing: rest.prefix(Int(length))),
                type
            )
        else { return nil }
        elements.append(element)
        rest = rest.dropFirst(Int(length))
    }
    return elements
}
