/// A JSON value, members in the order in which they came.
public enum JSONValue: Sendable, Equatable {
    /// A member of an object.
    public struct Member: Sendable, Equatable {
        /// The member's name.
        public let key: String
        /// The member's value.
        public let value: JSONValue
    }

    /// A number, with its exact value where it is whole and fits 64 bits.
    public struct Number: Sendable, Equatable {
        /// The nearest double.
        public let double: Double
        /// The whole number, when written as one that 64 bits hold.
        public let int64: Int64?
        /// True when it is written without a fraction and an exponent.
        public let isWhole: Bool
    }

    /// `null`
    case null
    /// `true` or `false`
    case flag(Bool)
    /// A number.
    case number(Number)
    /// A text.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object; no key stands twice.
    case object([Member])

    /// Reads exactly one value.
    ///
    /// - Throws: ``JSONError`` for everything that is not one strict JSON value.
    public init(
        parsing bytes: [UInt8],
        maximumDepth: Int = JSONReader.defaultDepth
    )
        throws(JSONError)
    {
        var reader = JSONReader(bytes, maximumDepth: maximumDepth)
        self = try Self.read(&reader, try reader.next())
        guard try reader.next() == .end else { throw .notOneObject }
    }

    /// Reads the value that begins with `token`; the reader's depth limit bounds the recursion.
    private static func read(
        _ reader: inout JSONReader,
        _ token: JSONReader.Token
    ) throws(JSONError) -> JSONValue {
        switch token {
        case .null: return .null
        case .flag: return .flag(reader.flag)
        case .string: return .string(try reader.string())
        case .number:
            return .number(
                Number(
                    double: reader.double,
                    int64: reader.int64,
                    isWhole: reader.isWholeNumber
                )
            )
        case .beginArray:
            var elements: [JSONValue] = []
            while true {
                let token = try reader.next()
                if token == .endArray { return .array(elements) }
                elements.append(try read(&reader, token))
            }
        case .beginObject:
            var members: [Member] = []
            var keys: Set<[UInt8]> = []
            while try reader.next() != .endObject {
                let key = try reader.string()
                guard keys.insert(Array(key.utf8)).inserted else { throw .duplicateKey(key) }
                let value = try read(&reader, try reader.next())
                members.append(Member(key: key, value: value))
            }
            return .object(members)
        case .key, .end, .endObject, .endArray:
            throw .unexpectedByte(offset: reader.offset)
        }
    }
}
