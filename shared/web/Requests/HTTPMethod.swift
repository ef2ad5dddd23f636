/// What a request asks for (RFC 9110 section 9).
public enum HTTPMethod: String, Sendable, Hashable, CaseIterable {
    /// Reads.
    case get = "GET"
    /// Reads the head of what GET would answer.
    case head = "HEAD"
    /// Makes or acts.
    case post = "POST"
    /// Replaces.
    case put = "PUT"
    /// Changes in part.
    case patch = "PATCH"
    /// Removes.
    case delete = "DELETE"

    /// True when the method only reads, so that a browser may send it across origins.
    public var isSafe: Bool { self == .get || self == .head }
}
