import Foundation
import Web

/// What a call was answered.
struct Answer: Sendable, CustomStringConvertible {
    let status: Int
    let body: String
    let headers: HTTPHeaders

    init(_ response: HTTPClientResponse) {
        status = response.status
        body = String(decoding: response.body, as: UTF8.self)
        headers = response.headers
    }

    /// The body; null where there is none.
    var json: JSON { JSON(body) }

    /// A text of the body's object.
    func text(_ name: String) -> String? { json[name].string }

    /// The `code` of a refusal.
    var code: String? { text("code") }

    var description: String { "\(status) \(body)" }
}

/// A JSON value that a test looks into; what is absent is null.
struct JSON: Sendable, Equatable, CustomStringConvertible {
    private let value: JSONValue

    init(_ text: String) { value = (try? JSONValue(parsing: Array(text.utf8))) ?? .null }

    private init(_ value: JSONValue) { self.value = value }

    subscript(name: String) -> JSON {
        guard case .object(let members) = value,
            let member = members.first(where: { $0.key == name })
        else { return JSON(.null) }
        return JSON(member.value)
    }

    subscript(index: Int) -> JSON { array.indices.contains(index) ? array[index] : JSON(.null) }

    var keys: [String] {
        guard case .object(let members) = value else { return [] }
        return members.map(\.key)
    }

    var array: [JSON] {
        guard case .array(let elements) = value else { return [] }
        return elements.map(JSON.init)
    }

    var isArray: Bool { if case .array = value { true } else { false } }
    var isNull: Bool { value == .null }
    var string: String? { if case .string(let text) = value { text } else { nil } }
    var bool: Bool? { if case .flag(let flag) = value { flag } else { nil } }
    var int: Int? {
        if case .number(let number) = value { number.int64.map { Int($0) } } else { nil }
    }
    var double: Double? { if case .number(let number) = value { number.double } else { nil } }

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
        try await Task.sleep(for: .milliseconds(5))
    }
}

/// Something did not come about in time.
struct Late: Error { let what: String }
