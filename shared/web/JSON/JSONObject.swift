/// The members of a request's JSON object, read by name; what nobody read is refused at the end.
///
/// The getters throw the answer for the caller: 400 `field "x" has invalid type` and the like. A
/// member that is null counts as absent. Call ``finish()`` after the last field and before any
/// check of their values.
public final class JSONObject {
    private let members: [JSONValue.Member]
    /// The path of this object inside the body, empty for the body itself.
    private let prefix: String
    private var unread: Set<String>

    /// Reads a body that holds exactly one object.
    ///
    /// - Throws: 400 `invalid JSON: …`.
    public convenience init(
        parsing bytes: [UInt8],
        maximumDepth: Int = JSONReader.defaultDepth
    ) throws(HTTPError) {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue(parsing: bytes, maximumDepth: maximumDepth)
        } catch {
            throw .invalidJSON(error)
        }
        guard case .object(let members) = value else { throw .invalidJSON(.notOneObject) }
        self.init(members, prefix: "")
    }

    private init(_ members: [JSONValue.Member], prefix: String) {
        self.members = members
        self.prefix = prefix
        unread = Set(members.map(\.key))
    }

    /// The names of all members.
    public var keys: [String] { members.map(\.key) }

    /// True when the member is there, even as null.
    public func has(_ name: String) -> Bool { members.contains { $0.key == name } }

    /// Refuses members that nobody has read.
    ///
    /// - Throws: 400 `invalid JSON: unknown field "x"`.
    public func finish() throws(HTTPError) {
        guard let unknown = members.first(where: { unread.contains($0.key) }) else { return }
        throw .badRequest(
            "invalid JSON: unknown field \"\(prefix)\(unknown.key)\"",
            code: "json.unknown_field"
        )
    }

    /// The member as it is; nil when it is absent or null.
    public func value(_ name: String) -> JSONValue? {
        unread.remove(name)
        guard let member = members.first(where: { $0.key == name }), member.value != .null else {
            return nil
        }
        return member.value
    }

    /// A text.
    ///
    /// - Parameters:
    ///   - name: The member's name.
    ///   - max: The most Unicode scalars it may have.
    /// - Returns: nil when the member is absent or null.
    /// - Throws: 400 for another type or a longer text.
    public func string(_ name: String, max: Int = .max) throws(HTTPError) -> String? {
        guard let value = value(name) else { return nil }
        guard case .string(let text) = value else { throw invalidType(name) }
        guard text.unicodeScalars.count <= max else {
            throw .badRequest(
                "\(prefix)\(name) must be at most \(max) characters",
                code: "json.too_long"
            )
        }
        return text
    }

    /// A whole number, written without a fraction and an exponent.
    ///
    /// - Returns: nil when the member is absent or null.
    /// - Throws: 400 for another type or a number that 64 bits do not hold.
    public func int64(_ name: String) throws(HTTPError) -> Int64? {
        guard let value = value(name) else { return nil }
        guard case .number(let number) = value, number.isWhole else { throw invalidType(name) }
        guard let whole = number.int64 else { throw outOfRange(name) }
        return whole
    }

    /// A whole number, written without a fraction and an exponent.
    ///
    /// - Returns: nil when the member is absent or null.
    /// - Throws: 400 for another type or a number that 64 bits do not hold.
    public func int(_ name: String) throws(HTTPError) -> Int? {
        try int64(name).map { Int($0) }
    }

    /// A number.
    ///
    /// - Returns: nil when the member is absent or null.
    /// - Throws: 400 for another type.
    public func double(_ name: String) throws(HTTPError) -> Double? {
        guard let value = value(name) else { return nil }
        guard case .number(let number) = value else { throw invalidType(name) }
        return number.double
    }

    /// True or false.
    ///
    /// - Returns: nil when the member is absent or null.
    /// - Throws: 400 for another type.
    public func bool(_ name: String) throws(HTTPError) -> Bool? {
        guard let value = value(name) else { return nil }
        guard case .flag(let flag) = value else { throw invalidType(name) }
        return flag
    }

    /// An object; finish it, too.
    ///
    /// - Returns: nil when the member is absent or null.
    /// - Throws: 400 for another type.
    public func object(_ name: String) throws(HTTPError) -> JSONObject? {
        guard let value = value(name) else { return nil }
        guard case .object(let members) = value else { throw invalidType(name) }
        return JSONObject(members, prefix: "\(prefix)\(name).")
    }

    /// An array of objects; finish each of them, too.
    ///
    /// - Returns: nil when the member is absent or null.
    /// - Throws: 400 for another type, of the member or of an element.
    public func objects(_ name: String) throws(HTTPError) -> [JSONObject]? {
        guard let value = value(name) else { return nil }
        guard case .array(let elements) = value else { throw invalidType(name) }
        var objects: [JSONObject] = []
        objects.reserveCapacity(elements.count)
        for element in elements {
            guard case .object(let members) = element else { throw invalidType(name) }
            objects.append(JSONObject(members, prefix: "\(prefix)\(name)."))
        }
        return objects
    }

    /// An array of texts.
    ///
    /// - Returns: nil when the member is absent or null.
    /// - Throws: 400 for another type, of the member or of an element.
    public func strings(_ name: String) throws(HTTPError) -> [String]? {
        guard let value = value(name) else { return nil }
        guard case .array(let elements) = value else { throw invalidType(name) }
        var strings: [String] = []
        for element in elements {
            guard case .string(let text) = element else { throw invalidType(name) }
            strings.append(text)
        }
        return strings
    }

    /// The refusal for a member of another type.
    public func invalidType(_ name: String) -> HTTPError {
        .badRequest("field \"\(prefix)\(name)\" has invalid type", code: "json.invalid_type")
    }

    private func outOfRange(_ name: String) -> HTTPError {
        .badRequest("field \"\(prefix)\(name)\" is out of range", code: "json.out_of_range")
    }
}

extension HTTPError {
    /// 400 for what is not one strict JSON object.
    public static func invalidJSON(_ error: JSONError) -> HTTPError {
        .badRequest("invalid JSON: \(error)", code: "json.invalid")
    }
}
