internal import Transit

/// The parameters of the bare writer: arrays in PostgreSQL's binary format, one block of bytes reused for each statement.
struct BareColumns {
    private var bytes: [UInt8] = []
    private var starts: [Int] = []

    /// The state of rides as a verifier writes it with each batch.
    mutating func fillProgress(of rides: [UniqueID], at time: UnixSeconds) {
        clear()
        ids(rides)
        texts("verified", rides.count)
        array(16, rides.count, width: 1) { $0.append(0) }
        for value in [60, 60, 0, 0, 60, 0, 0] as [Int64] { numbers(20, value, rides.count) }
        texts("", rides.count)
        for _ in 0..<3 { numbers(1184, Self.timestamp(time), rides.count) }
        texts("unavailable", rides.count)
        numbers(20, 42, rides.count)
        for value in [1234.5, 8.0] {
            numbers(701, Int64(bitPattern: value.bitPattern), rides.count)
        }
        numbers(20, 42, rides.count)
        let answer = [UInt8](repeating: 7, count: 60)
        array(17, rides.count, width: answer.count) { $0.append(contentsOf: answer) }
        numbers(1184, Self.timestamp(time), rides.count)
        nulls(701, rides.count)
        numbers(20, 3, rides.count)
    }

    /// A batch of points for each ride, a second apart.
    mutating func fillPoints(of rides: [UniqueID], from time: UnixSeconds, count: Int) {
        clear()
        let total = rides.count * count
        header(2950, total)
        for ride in rides {
            for _ in 0..<count {
                word(UInt32(16))
                id(ride)
            }
        }
        header(1184, total)
        for _ in rides {
            for second in 0..<count {
                word(UInt32(8))
                word(UInt64(bitPattern: Self.timestamp(time + Int64(second))))
            }
        }
        for value in [47.123, -122.3, 5, 8, 0] {
            numbers(701, Int64(bitPattern: value.bitPattern), total)
        }
        texts("matched", total)
        texts("unavailable", total)
        for value in [1234.5, 3.2] { numbers(701, Int64(bitPattern: value.bitPattern), total) }
        header(23, total)
        for _ in 0..<total {
            word(UInt32(4))
            word(UInt32(3))
        }
        // A point that matched and was compared with no vehicle.
        for type in [25, 701, 701] as [UInt32] { nulls(type, total) }
    }

    /// Lends the parameters as libpq takes them.
    func withParameters<Result>(
        _ body: (
            UnsafePointer<UnsafePointer<CChar>?>, [Int32], [Int32]
        ) -> Result
    ) -> Result {
        let ends = starts.dropFirst() + [bytes.count]
        let lengths = zip(starts, ends).map { Int32($1 - $0) }
        let formats = [Int32](repeating: 1, count: starts.count)
        return bytes.withUnsafeBytes { raw in
            let base = raw.baseAddress?.assumingMemoryBound(to: CChar.self)
            let pointers = starts.map { start in base.map { $0 + start } }
            return pointers.withUnsafeBufferPointer { buffer in
                guard let values = buffer.baseAddress else {
                    preconditionFailure("a statement without parameters")
                }
                return body(values, lengths, formats)
            }
        }
    }

    private static func timestamp(_ seconds: UnixSeconds) -> Int64 {
        (seconds - 946_684_800) * 1_000_000
    }

    private mutating func clear() {
        bytes.removeAll(keepingCapacity: true)
        starts.removeAll(keepingCapacity: true)
    }

    private mutating func header(_ type: UInt32, _ count: Int) {
        starts.append(bytes.count)
        for value in [1, 0, type, UInt32(count), 1] as [UInt32] { word(value) }
    }

    private mutating func nulls(_ type: UInt32, _ count: Int) {
        header(type, count)
        for _ in 0..<count { word(Int32(-1)) }
    }

    private mutating func array(
        _ type: UInt32,
        _ count: Int,
        width: Int,
        _ element: (inout [UInt8]) -> Void
    ) {
        header(type, count)
        for _ in 0..<count {
            word(UInt32(width))
            element(&bytes)
        }
    }

    private mutating func ids(_ ids: [UniqueID]) {
        header(2950, ids.count)
        for value in ids {
            word(UInt32(16))
            id(value)
        }
    }

    private mutating func texts(_ text: String, _ count: Int) {
        let utf8 = Array(text.utf8)
        array(25, count, width: utf8.count) { $0.append(contentsOf: utf8) }
    }

    private mutating func numbers(_ type: UInt32, _ value: Int64, _ count: Int) {
        header(type, count)
        for _ in 0..<count {
            word(UInt32(8))
            word(UInt64(bitPattern: value))
        }
    }

    private mutating func id(_ id: UniqueID) {
        word(id.high)
        word(id.low)
    }

    private mutating func word(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }
}
