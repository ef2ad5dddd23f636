/// Gives each different id a number, without making a string of it.
struct InternTable {
    private var pool: [UInt8] = []
    private var ends: [Int] = []
    private var hashes: [Int] = []
    private var slots: [Int32]

    init() { slots = [Int32](repeating: -1, count: 1024) }

    var count: Int { ends.count }

    /// The id with a number.
    func text(_ index: Int) -> String {
        String(decoding: pool[start(index)..<ends[index]], as: UTF8.self)
    }

    /// The number of the id in a field, a new one if it is new.
    mutating func intern(_ field: Field, of table: Table) -> Int {
        if field.isEscaped {
            let plain = table.unescaped(field)
            return intern(plain.span, 0, plain.count)
        }
        return intern(table.bytes.span, field.start, field.end)
    }

    /// The number of the id in a field, if it has one.
    func find(_ field: Field, of table: Table) -> Int? {
        if field.isEscaped {
            let plain = table.unescaped(field)
            return find(plain.span, 0, plain.count, Self.hash(plain.span, 0, plain.count))
        }
        let bytes = table.bytes.span
        return find(bytes, field.start, field.end, Self.hash(bytes, field.start, field.end))
    }

    /// Whether the id with a number is the one in a field; cheaper than a look-up.
    func matches(_ index: Int, _ field: Field, of table: Table) -> Bool {
        guard index >= 0, !field.isEscaped else { return false }
        return isEqual(index, table.bytes.span, field.start, field.end)
    }

    private func start(_ index: Int) -> Int { index == 0 ? 0 : ends[index - 1] }

    private static func hash(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) -> Int {
        var hasher = Hasher()
        bytes.extracting(start..<end).withUnsafeBytes { hasher.combine(bytes: $0) }
        return hasher.finalize()
    }

    private func isEqual(_ index: Int, _ bytes: Span<UInt8>, _ from: Int, _ to: Int) -> Bool {
        let start = start(index)
        guard ends[index] - start == to - from else { return false }
        let pool = pool.span
        for offset in 0..<(to - from) where pool[start + offset] != bytes[from + offset] {
            return false
        }
        return true
    }

    private func find(_ bytes: Span<UInt8>, _ start: Int, _ end: Int, _ hash: Int) -> Int? {
        let mask = slots.count - 1
        var slot = hash & mask
        while slots[slot] >= 0 {
            let index = Int(slots[slot])
            if hashes[index] == hash, isEqual(index, bytes, start, end) { return index }
            slot = (slot + 1) & mask
        }
        return nil
    }

    private mutating func intern(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) -> Int {
        let hash = Self.hash(bytes, start, end)
        if let known = find(bytes, start, end, hash) { return known }
        let index = ends.count
        for position in start..<end { pool.append(bytes[position]) }
        ends.append(pool.count)
        hashes.append(hash)
        if (index + 1) * 2 > slots.count { grow() } else { place(index) }
        return index
    }

    private mutating func place(_ index: Int) {
        let mask = slots.count - 1
        var slot = hashes[index] & mask
        while slots[slot] >= 0 { slot = (slot + 1) & mask }
        slots[slot] = Int32(truncatingIfNeeded: index)
    }

    private mutating func grow() {
        slots = [Int32](repeating: -1, count: slots.count * 2)
        for index in hashes.indices { place(index) }
    }
}
