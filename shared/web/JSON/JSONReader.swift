/// Reads JSON one token after the other (RFC 8259), strictly, without building values.
///
/// Numbers cost no allocation, and keys can be compared without making a `String`. After
/// ``next()`` has returned a token, its value can be read until the next call. Every input ends in
/// tokens or an error, never in a trap.
public struct JSONReader: Sendable {
    /// What has been read.
    public enum Token: Sendable, Equatable {
        /// `{`
        case beginObject
        /// `}`
        case endObject
        /// `[`
        case beginArray
        /// `]`
        case endArray
        /// A member's name; the member's value comes next.
        case key
        /// A text.
        case string
        /// A number.
        case number
        /// `true` or `false`; see ``JSONReader/flag``.
        case flag
        /// `null`
        case null
        /// The end of the input after one whole value.
        case end
    }

    /// Nested values beyond which reading ends; no body of ours has more than five.
    public static let defaultDepth = 32

    private enum Expected {
        case value
        case valueOrEndOfArray
        case keyOrEndOfObject
        case commaOrEnd
        case nothing
    }

    private let bytes: [UInt8]
    private let maximumDepth: Int
    private var position = 0
    private var expected = Expected.value
    /// One bit for each open value, innermost lowest: 1 for an object.
    private var open: UInt64 = 0
    private var start = 0
    private var stop = 0
    private var hasEscapes = false
    private var parsed = 0.0
    private var integer: Int64?
    private(set) var isWholeNumber = false

    /// How many values are open.
    public private(set) var depth = 0
    /// The value of a `flag` token.
    public private(set) var flag = false

    /// Makes a reader.
    ///
    /// - Parameters:
    ///   - bytes: The text in UTF-8; shared, not copied.
    ///   - maximumDepth: Nested values beyond which reading ends, at most 64.
    public init(_ bytes: [UInt8], maximumDepth: Int = JSONReader.defaultDepth) {
        self.bytes = bytes
        self.maximumDepth = min(maximumDepth, 64)
    }

    /// Where the last token begins, in bytes.
    public var offset: Int { start }

    /// Where the last token ends, in bytes; from the offset of a value's first token to the end of
    /// its last is the value as it was written.
    public var endOffset: Int { position }

    /// The last number.
    public var double: Double { parsed }

    /// The last number, when it is written as a whole number that 64 bits hold.
    public var int64: Int64? { integer }

    /// The last key or text.
    ///
    /// - Throws: ``JSONError`` for text that is no UTF-8 or has a bad escape.
    public func string() throws(JSONError) -> String {
        if hasEscapes { return try unescaped() }
        let text = bytes.withUnsafeBufferPointer { bytes in
            let text = UnsafeBufferPointer(rebasing: bytes[start..<stop])
            // Nearly all are ASCII and short, which needs no second look.
            return text.allSatisfy { $0 < 0x80 }
                ? String(decoding: text, as: UTF8.self) : String(validating: text, as: UTF8.self)
        }
        guard let text else { throw .malformedText(offset: start) }
        return text
    }

    /// True when the last key or text is `text`; a text with escapes is never equal.
    public func isEqual(to text: StaticString) -> Bool {
        guard !hasEscapes, text.hasPointerRepresentation, text.utf8CodeUnitCount == stop - start
        else { return false }
        return text.withUTF8Buffer { $0.elementsEqual(bytes[start..<stop]) }
    }

    /// Reads the next token.
    ///
    /// - Returns: The token; `.end` once and for all after one value and nothing but white space.
    /// - Throws: ``JSONError`` at the first byte that cannot stand there.
    public mutating func next() throws(JSONError) -> Token {
        skipWhiteSpace()
        if expected == .commaOrEnd {
            guard depth > 0 else {
                expected = .nothing
                guard position == bytes.count else { throw .notOneObject }
                return .end
            }
            switch try peek() {
            case 0x2C:
                position += 1
                skipWhiteSpace()
                if isInObject { return try readKey() }
                expected = .value
            case 0x7D where isInObject: return close(.endObject)
            case 0x5D where !isInObject: return close(.endArray)
            default: throw .unexpectedByte(offset: position)
            }
        }
        switch expected {
        case .nothing: return .end
        case .keyOrEndOfObject:
            if try peek() == 0x7D { return close(.endObject) }
            return try readKey()
        case .valueOrEndOfArray where try peek() == 0x5D: return close(.endArray)
        default: return try readValue()
        }
    }

    /// Passes over the next value, whatever it holds.
    ///
    /// - Throws: ``JSONError`` as ``next()``.
    public mutating func skipValue() throws(JSONError) {
        let outer = depth
        repeat { _ = try next() } while depth > outer
    }

    // MARK: - Structure

    private var isInObject: Bool { open & 1 == 1 }

    private func peek() throws(JSONError) -> UInt8 {
        guard position < bytes.count else { throw .unexpectedEnd }
        return bytes[position]
    }

    private mutating func skipWhiteSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    private mutating func begin(_ token: Token, isObject: Bool) throws(JSONError) -> Token {
        guard depth < maximumDepth else { throw .tooDeep(limit: maximumDepth) }
        open = open << 1 | (isObject ? 1 : 0)
        depth += 1
        position += 1
        expected = isObject ? .keyOrEndOfObject : .valueOrEndOfArray
        return token
    }

    private mutating func close(_ token: Token) -> Token {
        open >>= 1
        depth -= 1
        position += 1
        expected = .commaOrEnd
        return token
    }

    private mutating func readKey() throws(JSONError) -> Token {
        guard try peek() == 0x22 else { throw .unexpectedByte(offset: position) }
        try readString()
        skipWhiteSpace()
        guard try peek() == 0x3A else { throw .unexpectedByte(offset: position) }
        position += 1
        expected = .value
        return .key
    }

    private mutating func readValue() throws(JSONError) -> Token {
        let byte = try peek()
        start = position
        switch byte {
        case 0x7B: return try begin(.beginObject, isObject: true)
        case 0x5B: return try begin(.beginArray, isObject: false)
        case 0x22:
            try readString()
            expected = .commaOrEnd
            return .string
        case 0x2D, 0x30...0x39:
            try readNumber()
            expected = .commaOrEnd
            return .number
        case 0x74: return try readWord("true", .flag)
        case 0x66: return try readWord("false", .flag)
        case 0x6E: return try readWord("null", .null)
        default: throw .unexpectedByte(offset: position)
        }
    }

    private mutating func readWord(
        _ word: StaticString,
        _ token: Token
    ) throws(JSONError) -> Token {
        let end = position + word.utf8CodeUnitCount
        guard end <= bytes.count else { throw .unexpectedEnd }
        guard word.withUTF8Buffer({ $0.elementsEqual(bytes[position..<end]) }) else {
            throw .unexpectedByte(offset: position)
        }
        flag = bytes[position] == 0x74
        position = end
        expected = .commaOrEnd
        return token
    }

    // MARK: - Text

    private mutating func readString() throws(JSONError) {
        position += 1
        start = position
        hasEscapes = false
        while position < bytes.count {
            let byte = bytes[position]
            if byte == 0x22 {
                stop = position
                position += 1
                return
            }
            if byte < 0x20 { throw .controlCharacter(offset: position) }
            if byte == 0x5C {
                hasEscapes = true
                position += 1
            }
            position += 1
        }
        throw .unexpectedEnd
    }

    private func unescaped() throws(JSONError) -> String {
        var result: [UInt8] = []
        result.reserveCapacity(stop - start)
        var index = start
        while index < stop {
            let byte = bytes[index]
            index += 1
            guard byte == 0x5C else {
                result.append(byte)
                continue
            }
            guard index < stop else { throw .malformedEscape(offset: index) }
            let escape = bytes[index]
            index += 1
            switch escape {
            case 0x22, 0x5C, 0x2F: result.append(escape)
            case 0x62: result.append(0x08)
            case 0x66: result.append(0x0C)
            case 0x6E: result.append(0x0A)
            case 0x72: result.append(0x0D)
            case 0x74: result.append(0x09)
            case 0x75:
                let scalar = try scalar(at: &index)
                result.append(contentsOf: Character(scalar).utf8)
            default: throw .malformedEscape(offset: index - 2)
            }
        }
        guard let text = String(validating: result, as: UTF8.self) else {
            throw .malformedText(offset: start)
        }
        return text
    }

    /// The scalar of `\uXXXX`, with its second half where it is a surrogate.
    private func scalar(at index: inout Int) throws(JSONError) -> Unicode.Scalar {
        let offset = index - 2
        let first = try fourDigits(at: &index)
        var value = first
        if (0xD800..<0xDC00).contains(first) {
            guard index + 1 < stop, bytes[index] == 0x5C, bytes[index + 1] == 0x75 else {
                throw .malformedEscape(offset: offset)
            }
            index += 2
            let second = try fourDigits(at: &index)
            guard (0xDC00..<0xE000).contains(second) else {
                throw .malformedEscape(offset: offset)
            }
            value = 0x10000 + (first - 0xD800) << 10 + (second - 0xDC00)
        }
        guard value != 0, let scalar = Unicode.Scalar(value) else {
            throw .malformedEscape(offset: offset)
        }
        return scalar
    }

    private func fourDigits(at index: inout Int) throws(JSONError) -> UInt32 {
        guard index + 4 <= stop else { throw .malformedEscape(offset: index) }
        var value: UInt32 = 0
        for byte in bytes[index..<index + 4] {
            let digit: UInt8
            switch byte {
            case 0x30...0x39: digit = byte - 0x30
            case 0x41...0x46: digit = byte - 0x41 + 10
            case 0x61...0x66: digit = byte - 0x61 + 10
            default: throw .malformedEscape(offset: index)
            }
            value = value << 4 | UInt32(digit)
        }
        index += 4
        return value
    }

    // MARK: - Numbers

    /// Powers of ten that a double holds exactly.
    private static let powers: [Double] = [
        1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
        1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
    ]

    /// Reads a number.
    ///
    /// With up to 15 digits and a small exponent the digits and the power of ten
    /// are exact, so one division or multiplication rounds correctly; the rest goes to the
    /// standard library.
    private mutating func readNumber() throws(JSONError) {
        start = position
        let isNegative = bytes[position] == 0x2D
        if isNegative { position += 1 }
        var mantissa: UInt64 = 0
        var digits = 0
        let isZero = position < bytes.count && bytes[position] == 0x30
        let whole = readDigits(&mantissa, &digits)
        guard whole > 0, !(isZero && whole > 1) else { throw malformed() }
        var scale = 0
        var isWhole = true
        if position < bytes.count, bytes[position] == 0x2E {
            position += 1
            isWhole = false
            scale = -readDigits(&mantissa, &digits)
            guard scale < 0 else { throw malformed() }
        }
        if position < bytes.count, bytes[position] | 0x20 == 0x65 {
            isWhole = false
            scale += try readExponent()
        }
        stop = position
        isWholeNumber = isWhole
        integer = isWhole ? wholeNumber(mantissa, digits, isNegative) : nil
        if digits <= 15, abs(scale) <= 22 {
            let value = Double(mantissa)
            let power = Self.powers[abs(scale)]
            let scaled = scale < 0 ? value / power : value * power
            parsed = isNegative ? -scaled : scaled
            return
        }
        let text = String(decoding: bytes[start..<stop], as: UTF8.self)
        guard let value = Double(text), value.isFinite else {
            throw .numberOutOfRange(offset: start)
        }
        parsed = value
    }

    private func malformed() -> JSONError {
        position == bytes.count ? .unexpectedEnd : .malformedNumber(offset: start)
    }

    /// Reads digits; `digits` counts them from the first that is not zero.
    private mutating func readDigits(_ mantissa: inout UInt64, _ digits: inout Int) -> Int {
        let first = position
        while position < bytes.count, (0x30...0x39).contains(bytes[position]) {
            let digit = UInt64(bytes[position] - 0x30)
            if digits > 0 || digit > 0 { digits += 1 }
            if digits <= 19 { mantissa = mantissa &* 10 &+ digit }
            position += 1
        }
        return position - first
    }

    private mutating func readExponent() throws(JSONError) -> Int {
        position += 1
        var isNegative = false
        if position < bytes.count, bytes[position] == 0x2B || bytes[position] == 0x2D {
            isNegative = bytes[position] == 0x2D
            position += 1
        }
        let first = position
        var exponent = 0
        while position < bytes.count, (0x30...0x39).contains(bytes[position]) {
            exponent = min(exponent * 10 + Int(bytes[position] - 0x30), 100_000)
            position += 1
        }
        guard position > first else { throw malformed() }
        return isNegative ? -exponent : exponent
    }

    /// The exact whole number; 19 digits always fit 64 unsigned bits.
    private func wholeNumber(_ mantissa: UInt64, _ digits: Int, _ isNegative: Bool) -> Int64? {
        guard digits <= 19 else { return nil }
        if isNegative {
            return mantissa <= UInt64(Int64.max) + 1
                ? Int64(truncatingIfNeeded: 0 &- mantissa) : nil
        }
        return Int64(exactly: mantissa)
    }
}
