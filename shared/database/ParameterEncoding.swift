internal import Transit

/// The parameters of one statement as libpq wants them: all bytes in one block, then offsets.
struct EncodedParameters {
    private(set) var types: [UInt32] = []
    private(set) var formats: [Int32] = []
    private(set) var lengths: [Int32] = []
    private var offsets: [Int] = []
    private var storage: [UInt8] = []

    init(_ values: [SQLValue]) throws(DatabaseError) {
        types.reserveCapacity(values.count)
        formats.reserveCapacity(values.count)
        lengths.reserveCapacity(values.count)
        offsets.reserveCapacity(values.count)
        for value in values { try append(value) }
    }

    /// Lends the values as the array of pointers that `PQsendQueryPrepared` takes.
    func withPointers<Result>(
        _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Result
    ) -> Result {
        storage.withUnsafeBytes { bytes in
            let base = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
            let pointers = offsets.map { offset in offset < 0 ? nil : base.map { $0 + offset } }
            return pointers.withUnsafeBufferPointer { body($0.baseAddress) }
        }
    }

    private mutating func append(_ value: SQLValue) throws(DatabaseError) {
        switch value {
        case .null:
            types.append(TypeID.inferred)
            formats.append(0)
            lengths.append(0)
            offsets.append(-1)
        case .text(let text): try appendText(text)
        case .int(let number): try appendText(String(number))
        case .bool(let flag): try appendText(flag ? "t" : "f")
        case .double(let number):
            binary(TypeID.float8) { $0.appendBigEndian(number.bitPattern) }
        case .uuid(let id): binary(TypeID.uuid) { $0.append(id) }
        case .bytes(let bytes):
            // An empty value still needs a pointer: the block may be empty, so one byte follows.
            binary(TypeID.bytes) { $0.append(contentsOf: bytes) }
            storage.append(0)
        case .timestamp(let seconds):
            let microseconds = try microsecondsSince2000(seconds)
            binary(TypeID.timestamp) { $0.appendBigEndian(microseconds) }
        default: try appendArray(value)
        }
    }

    private mutating func appendArray(_ value: SQLValue) throws(DatabaseError) {
        switch value {
        case .textArray(let texts):
            array(TypeID.textArray, of: TypeID.text, texts) { storage, text in
                storage.appendSized(text.utf8)
            }
        case .intArray(let numbers):
            array(TypeID.int8Array, of: TypeID.int8, numbers) { $0.appendSized($1) }
        case .smallintArray(let numbers):
            array(TypeID.int2Array, of: TypeID.int2, numbers) { $0.appendSized($1) }
        case .doubleArray(let numbers):
            array(TypeID.float8Array, of: TypeID.float8, numbers) {
                $0.appendSized($1.bitPattern)
            }
        case .realArray(let numbers):
            array(TypeID.float4Array, of: TypeID.float4, numbers) {
                $0.appendSized($1.bitPattern)
            }
        case .boolArray(let flags):
            array(TypeID.boolArray, of: TypeID.bool, flags) {
                $0.appendSized($1 ? UInt8(1) : UInt8(0))
            }
        case .uuidArray(let ids):
            array(TypeID.uuidArray, of: TypeID.uuid, ids) { storage, id in
                storage.appendBigEndian(Int32(16))
                storage.append(id)
            }
        case .timestampArray(let instants):
            var converted: [Int64?] = []
            converted.reserveCapacity(instants.count)
            for instant in instants {
                guard let instant else {
                    converted.append(nil)
                    continue
                }
                converted.append(try microsecondsSince2000(instant))
            }
            array(TypeID.timestampArray, of: TypeID.timestamp, converted) { $0.appendSized($1) }
        case .bytesArray(let values):
            array(TypeID.bytesArray, of: TypeID.bytes, values) { $0.appendSized($1) }
        default: preconditionFailure("a scalar is not an array")
        }
    }

    /// Text format ends at the first NUL, so a NUL inside would silently cut the value.
    private mutating func appendText(_ text: String) throws(DatabaseError) {
        guard !text.utf8.contains(0) else {
            throw DatabaseError(
                .statement,
                "a text parameter contains U+0000",
                sqlState: "22021"
            )
        }
        types.append(TypeID.inferred)
        formats.append(0)
        offsets.append(storage.count)
        lengths.append(0)
        storage.append(contentsOf: text.utf8)
        storage.append(0)
    }

    private mutating func binary(_ type: UInt32, _ write: (inout [UInt8]) -> Void) {
        let start = storage.count
        write(&storage)
        types.append(type)
        formats.append(1)
        offsets.append(start)
        lengths.append(Int32(storage.count - start))
    }

    /// The binary form of an array: dimensions, a NULL flag, the element type, then each element.
    private mutating func array<Element>(
        _ type: UInt32,
        of elementType: UInt32,
        _ elements: [Element?],
        _ write: (inout [UInt8], Element) -> Void
    ) {
        binary(type) { storage in
            storage.reserveCapacity(storage.count + 20 + elements.count * 20)
            storage.appendBigEndian(Int32(elements.isEmpty ? 0 : 1))
            storage.appendBigEndian(Int32(elements.contains { $0 == nil } ? 1 : 0))
            storage.appendBigEndian(elementType)
            guard !elements.isEmpty else { return }
            storage.appendBigEndian(Int32(elements.count))
            storage.appendBigEndian(Int32(1))
            for element in elements {
                if let element {
                    write(&storage, element)
                } else {
                    storage.appendBigEndian(Int32(-1))
                }
            }
        }
    }
}

/// PostgreSQL's timestamps are microseconds since 2000; ours are seconds since 1970.
private func microsecondsSince2000(_ seconds: UnixSeconds) throws(DatabaseError) -> Int64 {
    let (shifted, early) = seconds.subtractingReportingOverflow(postgresEpoch)
    let (microseconds, late) = shifted.multipliedReportingOverflow(by: 1_000_000)
    guard !early, !late else {
        throw DatabaseError(.statement, "a timestamp is out of range", sqlState: "22008")
    }
    return microseconds
}

extension [UInt8] {
    fileprivate mutating func appendBigEndian(_ value: some FixedWidthInteger) {
        Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
    }

    fileprivate mutating func appendSized(_ value: some FixedWidthInteger) {
        appendBigEndian(Int32(value.bitWidth / 8))
        appendBigEndian(value)
    }

    fileprivate mutating func appendSized(_ bytes: some Collection<UInt8>) {
        appendBigEndian(Int32(bytes.count))
        append(contentsOf: bytes)
    }

    fileprivate mutating func append(_ id: UniqueID) {
        appendBigEndian(id.high)
        appendBigEndian(id.low)
    }
}
