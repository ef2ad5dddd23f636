internal import CAlongsideMessages
internal import CProtobufC
internal import Telemetry
internal import Transit

// protobuf-c works on C structs that point at each other. This file lends the memory for them, and
// turns Swift values into their fields; the `+Wire` files say which value is which field.

/// Memory for the C structs of one message while it is encoded.
final class WireArena {
    private let arena: UnsafeMutablePointer<alongside_arena>

    /// - Parameter capacity: Bytes of the first chunk.
    init(capacity: Int = 1024) {
        guard let arena = alongside_arena_create(capacity, .max) else {
            fatalError("out of memory")
        }
        self.arena = arena
    }

    deinit { alongside_arena_destroy(arena) }

    /// Uninitialised memory that lives as long as the arena.
    func allocate<T>(
        _ count: Int,
        of type: T.Type = T.self
    ) -> UnsafeMutablePointer<T> {
        // The arena aligns to 16 bytes, more than any field needs.
        guard let memory = alongside_arena_allocate(arena, count * MemoryLayout<T>.stride) else {
            fatalError("out of memory")
        }
        return memory.bindMemory(to: type, capacity: count)
    }

    /// A C message with the schema's initial values, then filled in.
    func message<T>(
        _ initialize: (UnsafeMutablePointer<T>?) -> Void,
        _ fill: (inout T) -> Void
    ) -> UnsafeMutablePointer<T> {
        let message = allocate(1, of: T.self)
        initialize(message)
        fill(&message.pointee)
        return message
    }

    /// The array of pointers that a repeated message field is.
    func messages<Value, T>(
        _ values: [Value],
        _ make: (Value) -> UnsafeMutablePointer<T>
    ) -> UnsafeMutablePointer<UnsafeMutablePointer<T>?> {
        let pointers = allocate(values.count, of: UnsafeMutablePointer<T>?.self)
        for (index, value) in values.enumerated() { pointers[index] = make(value) }
        return pointers
    }

    /// The array that a packed field is.
    func column<Value, T>(
        _ values: [Value],
        _ make: (Value) -> T
    ) -> UnsafeMutablePointer<T> {
        let column = allocate(values.count, of: T.self)
        for (index, value) in values.enumerated() { column[index] = make(value) }
        return column
    }

    func bytes(_ source: UnsafeBufferPointer<UInt8>) -> ProtobufCBinaryData {
        let copy = allocate(source.count, of: UInt8.self)
        if let base = source.baseAddress { copy.update(from: base, count: source.count) }
        return ProtobufCBinaryData(len: source.count, data: copy)
    }

    /// The text's UTF-8.
    func text(_ text: String) -> ProtobufCBinaryData {
        text.utf8.withContiguousStorageIfAvailable(bytes)
            ?? Array(text.utf8).withUnsafeBufferPointer(bytes)
    }

    func text<Kind>(_ id: Identifier<Kind>) -> ProtobufCBinaryData { text(id.rawValue) }

    func id(_ id: UniqueID) -> ProtobufCBinaryData {
        let copy = allocate(2, of: UInt64.self)
        copy[0] = id.high.bigEndian
        copy[1] = id.low.bigEndian
        let data = UnsafeMutableRawPointer(copy).assumingMemoryBound(to: UInt8.self)
        return ProtobufCBinaryData(len: 16, data: data)
    }

    /// Lends bytes that outlive the arena without copying them.
    func borrowed(_ bytes: UnsafeBufferPointer<UInt8>) -> ProtobufCBinaryData {
        ProtobufCBinaryData(
            len: bytes.count,
            data: UnsafeMutablePointer(mutating: bytes.baseAddress)
        )
    }

    /// The packed bytes of a whole message.
    func pack<T>(_ message: UnsafeMutablePointer<T>) -> [UInt8] {
        // Every generated struct begins with a ProtobufCMessage.
        let base = UnsafeRawPointer(message).assumingMemoryBound(to: ProtobufCMessage.self)
        let size = protobuf_c_message_get_packed_size(base)
        return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            guard let start = buffer.baseAddress else { return }
            count = protobuf_c_message_pack(base, start)
        }
    }
}

extension UInt32 {
    /// A count on the wire; out of range it is the nearest that fits.
    init(wire value: Int) { self.init(clamping: value) }
}
