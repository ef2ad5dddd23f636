public import Transit
internal import Web

/// A JSON value that a test looks into; what is absent, or is no JSON, is null.
public struct JSON: Sendable, Equatable, CustomStringConvertible {
    private let value: JSONValue

    /// Reads a text.
    public init(_ text: String) { self.init(Array(text.utf8)) }

    /// Reads a text in UTF-8.
    public init(_ bytes: [UInt8]) { value = (try? JSONValue(parsing: bytes)) ?? .null }

    private init(_ value: JSONValue) { self.value = value }

    /// A member of an object.
    public subscript(name: String) -> JSON {
        guard case .object(let members) = value,
            let member = members.first(where: { $0.key == name })
        else { return JSON(.null) }
        return JSON(member.value)
    }

    /// An element of an array.
    public subscript(index: Int) -> JSON {
        array.indices.contains(index) ? array[index] : JSON(.null)
    }

    /// The names of an object's members as they stand; none of anything else.
    public var keys: [String] {
        guard case .object(let members) = value else { return [] }
        return members.map(\.key)
    }

    /// The elements of an array; none of anything else.
    public var array: [JSON] {
        guard case .array(let elements) = value else { return [] }
        return elements.map(JSON.init)
    }

    /// Whether it is an array.
    public var isArray: Bool { if case .array = value { true } else { false } }

    /// Whether it is null.
    public var isNull: Bool { value == .null }

    /// The text; nil of anything else.
    public var string: String? { if case .string(let text) = value { text } else { nil } }

    /// The text as an id; nil of anything else.
    public var id: UniqueID? { string.flatMap { UniqueID($0) } }

    /// True or false; nil of anything else.
    public var bool: Bool? { if case .flag(let flag) = value { flag } else { nil } }

    /// The whole number; nil of anything else.
    public var int: Int? {
        if case .number(let number) = value { number.int64.map { Int($0) } } else { nil }
    }

    /// The number; nil of anything else.
    public var double: Double? {
        if case .number(let number) = value { number.double } else { nil }
    }

    /// The value as it is shown in failures.
    public var description: String { "\(value)" }
}
