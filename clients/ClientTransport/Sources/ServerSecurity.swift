package import Foundation

/// Which servers may be sent a token.
package enum ServerSecurity: Sendable {
    case httpsOnly
    /// Also `http`, for a developer's machine.
    case anyForDevelopment

    /// Why a server may not be called.
    package struct Refusal: Error, Sendable {
        /// Fit for a developer's eyes.
        package let reason: String
    }

    /// The URL of a call.
    ///
    /// - Parameters:
    ///   - serverURL: The server; a path prefix is kept.
    ///   - path: Below it, percent-encoded.
    ///   - query: Items, not yet encoded.
    /// - Returns: The URL.
    /// - Throws: ``Refusal`` for a server that may not be called.
    package func url(
        _ serverURL: URL,
        path: String,
        query: [String: String] = [:]
    ) throws(Refusal) -> URL {
        guard var components = URLComponents(url: serverURL, resolvingAgainstBaseURL: true),
            let scheme = components.scheme?.lowercased(), components.host?.isEmpty == false
        else {
            throw Refusal(reason: "the server URL has no scheme or no host")
        }
        guard scheme == "https" || (self == .anyForDevelopment && scheme == "http") else {
            throw Refusal(reason: "the server URL must be https")
        }
        var prefix = components.percentEncodedPath
        while prefix.hasSuffix("/") { prefix.removeLast() }
        components.percentEncodedPath = prefix + path
        components.percentEncodedQuery = PercentEncoding.query(query)
        components.fragment = nil
        components.user = nil
        components.password = nil
        guard let url = components.url else {
            throw Refusal(reason: "the server URL cannot be completed")
        }
        return url
    }

    /// Whether a text can stand in a header as a token: a line break in it would begin another one.
    package static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }

    /// Whether a redirect may carry the token along.
    package static func isSameOrigin(_ first: URL?, _ second: URL?) -> Bool {
        guard let first = first.flatMap(origin), let second = second.flatMap(origin) else {
            return false
        }
        return first == second
    }

    /// Scheme, host and port in one comparable text; the scheme's usual port is written out.
    private static func origin(_ url: URL) -> String? {
        guard let scheme = url.scheme?.lowercased(), let host = url.host()?.lowercased() else {
            return nil
        }
        let port = url.port ?? (["https", "wss"].contains(scheme) ? 443 : 80)
        return "\(scheme)://\(host):\(port)"
    }
}
