public import Foundation

/// Why a call did not succeed.
public enum CompanionError: Error, Sendable, Equatable {
    /// Nobody is signed in, or the server has ended the session.
    case notSignedIn
    /// The server refused; `code` is stable, `message` is for people.
    case server(status: Int, code: String, message: String, retryAfter: Duration?)
    /// No answer came.
    case transport(String)
    /// The answer is not what the server's documents promise.
    case decoding(String)

    /// The refusal's stable code, nil for anything but a refusal.
    public var code: String? {
        if case .server(_, let code, _, _) = self { code } else { nil }
    }

    /// Whether the same call may succeed later.
    ///
    /// A refusal for good is an answer from 400 to 499, but for 401, 408 and 429.
    public var isWorthRepeating: Bool {
        switch self {
        case .notSignedIn, .transport: true
        case .server: !isRefusalForGood
        case .decoding: false
        }
    }

    /// Whether the server has said a no that stands.
    var isRefusalForGood: Bool {
        guard case .server(let status, _, _, _) = self else { return false }
        return 400...499 ~= status && ![401, 408, 429].contains(status)
    }
}

extension CompanionError: LocalizedError {
    /// A sentence for people.
    public var errorDescription: String? {
        switch self {
        case .notSignedIn: "Not signed in"
        case .server(_, _, let message, _): message
        case .transport(let reason): reason
        case .decoding: "The server's answer cannot be read"
        }
    }
}
