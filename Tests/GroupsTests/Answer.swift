import Foundation
import TestKit
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
