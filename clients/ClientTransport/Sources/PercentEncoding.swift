internal import Foundation

/// Escapes identifiers that become part of a URL.
package enum PercentEncoding {
    private static let segmentAllowed = CharacterSet.urlPathAllowed.subtracting(
        CharacterSet(charactersIn: "/")
    )
    private static let unreserved = CharacterSet(
        charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
    )

    /// One path segment.
    ///
    /// An id of one or two dots is escaped too, or it would climb the path.
    package static func segment(_ text: String) -> String {
        if text == "." || text == ".." {
            return text.replacingOccurrences(of: ".", with: "%2E")
        }
        return text.addingPercentEncoding(withAllowedCharacters: segmentAllowed) ?? ""
    }

    /// A query string sorted by name, or nil when there is nothing to say.
    package static func query(_ items: [String: String]) -> String? {
        guard !items.isEmpty else { return nil }
        return items.sorted { $0.key < $1.key }
            .map { "\(escape($0.key))=\(escape($0.value))" }
            .joined(separator: "&")
    }

    private static func escape(_ text: String) -> String {
        text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }
}
