import Transit
import Web

/// A JSON value that a test looks into; what is absent is null.
struct JSON: Sendable, Equatable, CustomStringConvertible {
    private let value: JSONValue

    init(_ text: String) { self.init(Array(text.utf8)) }

    init(_ bytes: [UInt8]) { value = (try? JSONValue(parsing: bytes)) ?? .null }

    private init(_ value: JSONValue) { self.value = value }

    subscript(name: String) -> JSON {
        guard case .object(let members) = value,
            let member = members.first(where: { $0.key == name })
        else { return JSON(.null) }
        return JSON(member.value)
    }

    var keys: [String] {
        guard case .object(let members) = value else { return [] }
        return members.map(\.key)
    }

    var array: [JSON] {
        guard case .array(let elements) = value else { return [] }
        return elements.map(JSON.init)
    }

    var string: String? { if case .string(let text) = value { text } else { nil } }
    var id: UniqueID? { string.flatMap { UniqueID($0) } }
    var int: Int? {
        if case .number(let number) = value { number.int64.map { Int($0) } } else { nil }
    }
    var double: Double? { if case .number(let number) = value { number.double } else { nil } }
    var isNull: Bool { value == .null }
    var type: String { self["type"].string ?? "" }

    var description: String { "\(value)" }
}

/// Polls until the condition holds; fails at the deadline.
func eventually(
    _ what: String,
    within limit: Duration = .seconds(20),
    _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + limit
    while try await !condition() {
        guard ContinuousClock.now < end else { throw Late(what: what) }
        try await Task.sleep(for: .milliseconds(3))
    }
}

/// Something did not come about in time.
struct Late: Error { let what: String }
