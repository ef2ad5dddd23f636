/// Writes protobuf from the last byte to the first.
///
/// A nested message needs its length before its bytes; written backwards, the length is known when
/// its turn comes, so there is one pass, no copy and no padding.
struct ReverseWriter: ~Copyable {
    private var memory: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    /// Where the written part begins.
    private var start: Int

    init(capacity: Int) {
        self.capacity = max(capacity, 64)
        memory = .allocate(capacity: self.capacity)
        start = self.capacity
    }

    deinit { memory.deallocate() }

    /// How many bytes are written.
    var count: Int { capacity - start }

    /// The written bytes.
    var bytes: [UInt8] { Array(UnsafeBufferPointer(start: memory + start, count: count)) }

    private mutating func reserve(_ size: Int) {
        guard size > start else { return }
        let written = count
        let larger = max(capacity * 2, written + size)
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: larger)
        (memory + (larger - written)).update(from: self.memory + start, count: written)
        self.memory.deallocate()
        self.memory = memory
        capacity = larger
        start = larger - written
    }

    @inline(__always)
    private mutating func put(_ byte: UInt8) {
        start -= 1
        memory[start] = byte
    }

    @inline(__always)
    private mutating func putVarint(_ value: UInt64) {
        if value < 0x80 {
            put(UInt8(truncatingIfNeeded: value))
            return
        }
        let length = (70 - value.leadingZeroBitCount) / 7
        start -= length
        var rest = value
        var index = start
        while rest >= 0x80 {
            memory[index] = UInt8(truncatingIfNeeded: rest) | 0x80
            rest >>= 7
            index += 1
        }
        memory[index] = UInt8(truncatingIfNeeded: rest)
    }

    mutating func varint(_ field: UInt64, _ value: UInt64) {
        reserve(20)
        putVarint(value)
        putVarint(field << 3)
    }

    mutating func varint(_ field: UInt64, _ value: Int64) {
        varint(field, UInt64(bitPattern: value))
    }

    mutating func float(_ field: UInt64, _ value: Float) {
        reserve(14)
        start -= 4
        UnsafeMutableRawPointer(memory + start)
            .storeBytes(of: value.bitPattern.littleEndian, as: UInt32.self)
        putVarint(field << 3 | 5)
    }

    mutating func double(_ field: UInt64, _ value: Double) {
        reserve(18)
        start -= 8
        UnsafeMutableRawPointer(memory + start)
            .storeBytes(of: value.bitPattern.littleEndian, as: UInt64.self)
        putVarint(field << 3 | 1)
    }

    /// A text without its NULs: readers in C would take it to end at the first.
    mutating func text(_ field: UInt64, _ text: String) {
        // Without native UTF-8 storage (never on Linux) the copy is made native first.
        guard
            text.utf8.withContiguousStorageIfAvailable({ self.text(field, bytes: $0) }) == nil
        else { return }
        Array(text.utf8).withUnsafeBufferPointer { self.text(field, bytes: $0) }
    }

    private mutating func text(_ field: UInt64, bytes: UnsafeBufferPointer<UInt8>) {
        reserve(bytes.count + 20)
        let end = start
        if bytes.contains(0) {
            for byte in bytes.reversed() where byte != 0 { put(byte) }
        } else if let base = bytes.baseAddress {
            start -= bytes.count
            (memory + start).update(from: base, count: bytes.count)
        }
        putVarint(UInt64(end - start))
        putVarint(field << 3 | 2)
    }

    /// A nested message: what `body` writes, its length and its tag.
    @inline(__always)
    mutating func message(_ field: UInt64, _ body: (inout ReverseWriter) -> Void) {
        let before = count
        body(&self)
        reserve(20)
        putVarint(UInt64(count - before))
        putVarint(field << 3 | 2)
    }
}
