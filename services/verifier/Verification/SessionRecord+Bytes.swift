internal import Transit

// The form that the ride's row keeps: a version, then every field in the order of its declaration, integers
// and the bit patterns of floating-point numbers as eight little-endian bytes, texts with their length
// before them, optional values with a byte before them that says whether they are there.

extension SessionRecord {
    /// The version that ``encoded()`` writes; another one is not read.
    public static let formatVersion: UInt8 = 1

    /// The record as bytes.
    public func encoded() -> [UInt8] {
        var output: [UInt8] = [Self.formatVersion]
        output.reserveCapacity(160)
        output.append(text: state)
        output.append(isCorroborated ? 1 : 0)
        output.append(integer: Int64(matchStreak))
        output.append(integer: Int64(offRouteStreak))
        output.append(integer: Int64(contradictionStreak))
        output.append(text: recentOutcomes)
        output.append(integer: Int64(pointsTotal))
        output.append(integer: Int64(pointsMatched))
        output.append(integer: Int64(pointsCorroborated))
        output.append(integer: Int64(pointsContradicted))
        output.append(optional: firstMatchedAt)
        output.append(optional: lastMatchedAt)
        output.append(optional: lastAcceptedAt)
        output.append(text: lastCorroboration)
        output.append(integer: shapeHash)
        output.append(optional: alongShape.map { Int64(bitPattern: $0.bitPattern) })
        output.append(optional: speed.map { Int64(bitPattern: $0.bitPattern) })
        return output
    }

    /// Reads what ``encoded()`` wrote; nil for another version, for missing and for trailing bytes.
    public init?(decoding bytes: [UInt8]) {
        var input = Input(bytes: bytes[...])
        guard input.byte() == Self.formatVersion else { return nil }
        self.init(shapeHash: 0)
        state = input.text()
        isCorroborated = input.flag()
        matchStreak = input.count()
        offRouteStreak = input.count()
        contradictionStreak = input.count()
        recentOutcomes = input.text()
        pointsTotal = input.count()
        pointsMatched = input.count()
        pointsCorroborated = input.count()
        pointsContradicted = input.count()
        firstMatchedAt = input.optional()
        lastMatchedAt = input.optional()
        lastAcceptedAt = input.optional()
        lastCorroboration = input.text()
        shapeHash = input.integer()
        alongShape = input.optional().map { Double(bitPattern: UInt64(bitPattern: $0)) }
        speed = input.optional().map { Double(bitPattern: UInt64(bitPattern: $0)) }
        guard !input.isBroken, input.bytes.isEmpty else { return nil }
    }
}

extension [UInt8] {
    fileprivate mutating func append(integer: Int64) {
        for shift in stride(from: 0, to: 64, by: 8) {
            append(UInt8(truncatingIfNeeded: integer >> shift))
        }
    }

    fileprivate mutating func append(optional integer: Int64?) {
        append(integer == nil ? 0 : 1)
        if let integer { append(integer: integer) }
    }

    fileprivate mutating func append(text: String) {
        let bytes = text.utf8.prefix(255)
        append(UInt8(bytes.count))
        append(contentsOf: bytes)
    }
}

/// Takes fields off the front; once something is missing, everything after it is empty.
private struct Input {
    var bytes: ArraySlice<UInt8>
    private(set) var isBroken = false

    init(bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    mutating func byte() -> UInt8 {
        guard let byte = bytes.popFirst() else {
            isBroken = true
            return 0
        }
        return byte
    }

    mutating func flag() -> Bool {
        let value = byte()
        if value > 1 { isBroken = true }
        return value == 1
    }

    mutating func integer() -> Int64 {
        var value: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 8) { value |= UInt64(byte()) << shift }
        return Int64(bitPattern: value)
    }

    /// A counter or a streak; a negative one was never written.
    mutating func count() -> Int {
        let value = integer()
        if value < 0 { isBroken = true }
        return Int(value)
    }

    mutating func optional() -> Int64? { flag() ? integer() : nil }

    mutating func text() -> String {
        let length = Int(byte())
        guard bytes.count >= length else {
            isBroken = true
            return ""
        }
        defer { bytes = bytes.dropFirst(length) }
        return String(decoding: bytes.prefix(length), as: UTF8.self)
    }
}
