/// Why bytes are not the JSON that was asked for; its sentence may go to the caller.
public enum JSONError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The text ends inside a value.
    case unexpectedEnd
    /// A byte that cannot stand there.
    case unexpectedByte(offset: Int)
    /// A number that JSON does not allow, such as `01` or `+1`.
    case malformedNumber(offset: Int)
    /// A number that no double can hold.
    case numberOutOfRange(offset: Int)
    /// An escape that JSON does not allow, half a surrogate pair, or an escaped NUL, which the
    /// database cannot store.
    case malformedEscape(offset: Int)
    /// Text that is no UTF-8.
    case malformedText(offset: Int)
    /// A control character that is not escaped.
    case controlCharacter(offset: Int)
    /// More nested values than allowed.
    case tooDeep(limit: Int)
    /// The same key twice in one object.
    case duplicateKey(String)
    /// Something follows the value, or the value is no object.
    case notOneObject

    /// What is wrong, without any of the caller's values.
    public var description: String {
        switch self {
        case .unexpectedEnd: "unexpected end of input"
        case .unexpectedByte(let offset): "unexpected character at byte \(offset)"
        case .malformedNumber(let offset): "malformed number at byte \(offset)"
        case .numberOutOfRange(let offset): "number out of range at byte \(offset)"
        case .malformedEscape(let offset): "malformed escape at byte \(offset)"
        case .malformedText(let offset): "text is not UTF-8 at byte \(offset)"
        case .controlCharacter(let offset): "control character in text at byte \(offset)"
        case .tooDeep(let limit): "more than \(limit) nested values"
        case .duplicateKey(let key): "duplicate key \"\(key)\""
        case .notOneObject: "request body must contain a single JSON object and no trailing data"
        }
    }
}
