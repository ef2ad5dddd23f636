internal import CAlongsideMessages
internal import CProtobufC
internal import Telemetry
internal import Transit

// The way back: C structs that protobuf-c unpacked become Swift values. Nothing that a peer can send
// may trap here, so every number is checked or clamped and every absent field has an answer.

/// Lends `body` the unpacked C struct of a message.
///
/// - Parameters:
///   - bytes: What the peer sent.
///   - unpack: The generated function of the message's type.
///   - body: Copies what it needs; the struct is gone afterwards.
/// - Returns: What `body` returned.
/// - Throws: ``MessageError`` for bytes that are no such message, and what `body` throws.
func withUnpacked<T, Value>(
    _ bytes: UnsafeRawBufferPointer,
    _ unpack: (
        UnsafeMutablePointer<ProtobufCAllocator>?, Int, UnsafePointer<UInt8>?
    ) -> UnsafeMutablePointer<T>?,
    _ body: (T) throws(MessageError) -> Value
) throws(MessageError) -> Value {
    guard bytes.count <= MessageLimits.maximumBytes else {
        throw .tooLong(bytes: bytes.count)
    }
    // A message of a few bytes can name thousands of empty parts. An honest one needs less than ten
    // times its length; past this the message is refused instead of the memory spent.
    let budget = 64 << 10 + min(bytes.count * 48, 512 << 20)
    guard let arena = alongside_arena_create(min(bytes.count * 4, 256 << 10), budget) else {
        throw .malformed
    }
    defer { alongside_arena_destroy(arena) }
    let start = bytes.assumingMemoryBound(to: UInt8.self).baseAddress
    guard let message = unpack(&arena.pointee.allocator, bytes.count, start) else {
        throw .malformed
    }
    return try body(message.pointee)
}

extension ProtobufCBinaryData {
    var bytes: UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: data, count: data == nil ? 0 : len)
    }

    /// The text; bytes that are not UTF-8 become U+FFFD and an absent field is an empty text.
    var text: String { String(decoding: bytes, as: UTF8.self) }

    func id<Kind>() -> Identifier<Kind> { Identifier(text) }
}

/// Reads an id that must be there.
func uniqueID(
    _ present: protobuf_c_boolean,
    _ data: ProtobufCBinaryData,
    _ name: String
) throws(MessageError) -> UniqueID {
    guard present != 0 else { throw .missingField(name) }
    guard let id = UniqueID(bytes: data.bytes) else { throw .invalidField(name) }
    return id
}

/// Reads a service date; nil when absent.
func serviceDate(
    _ present: protobuf_c_boolean,
    _ days: Int32,
    _ name: String
) throws(MessageError) -> ServiceDate? {
    guard present != 0 else { return nil }
    let date = ServiceDate(daysSince1970: Int(days))
    guard date.daysSince1970 == Int(days) else { throw .invalidField(name) }
    return date
}

/// Reads a service date that must be there.
func requiredDate(
    _ present: protobuf_c_boolean,
    _ days: Int32,
    _ name: String
) throws(MessageError) -> ServiceDate {
    guard let date = try serviceDate(present, days, name) else { throw .missingField(name) }
    return date
}

/// Reads a slot that must be there.
func slot(_ present: protobuf_c_boolean, _ number: UInt32) throws(MessageError) -> Slot {
    guard present != 0 else { throw .missingField("slot") }
    guard let number = UInt8(exactly: number) else { throw .invalidField("slot") }
    return Slot(number)
}

/// Reads a trip id that must be there and not empty.
func tripID(
    _ present: protobuf_c_boolean,
    _ data: ProtobufCBinaryData
) throws(MessageError) -> TripID {
    guard present != 0 else { throw .missingField("trip_id") }
    return TripID(data.text)
}

/// A repeated message field as values.
func values<T, Value>(
    _ pointers: UnsafeMutablePointer<UnsafeMutablePointer<T>?>?,
    _ count: Int,
    _ make: (T) throws(MessageError) -> Value
) throws(MessageError) -> [Value] {
    var values: [Value] = []
    values.reserveCapacity(count)
    for index in 0..<count {
        guard let element = pointers?[index] else { continue }
        values.append(try make(element.pointee))
    }
    return values
}

/// Unwraps the struct of a oneof's member or of an optional message.
func pointee<T>(_ pointer: UnsafeMutablePointer<T>?, _ name: String) throws(MessageError) -> T {
    guard let pointer else { throw .missingField(name) }
    return pointer.pointee
}

// MARK: - Header

extension WireArena {
    func header(_ trace: TraceID) -> UnsafeMutablePointer<Alongside__Header> {
        message(alongside__header__init) { header in
            header.has_version = 1
            header.version = MessageLimits.version
            header.has_trace_high = 1
            header.trace_high = trace.high
            header.has_trace_low = 1
            header.trace_low = trace.low
        }
    }
}

/// The trace of a message; a new one when the writer gave none.
func trace(_ header: UnsafeMutablePointer<Alongside__Header>?) -> TraceID {
    guard let header = header?.pointee, header.has_trace_high != 0, header.has_trace_low != 0
    else { return .random() }
    return TraceID(high: header.trace_high, low: header.trace_low)
}
