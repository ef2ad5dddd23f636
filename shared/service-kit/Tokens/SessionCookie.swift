public import Web

/// The cookie that carries a staff token for browser pages (spec 1.2).
///
/// It counts on endpoints for staff alone, and only when a request has no `Authorization` header at
/// all. Riders and members never use one.
public enum SessionCookie {
    /// The cookie's name.
    public static let name = "vp_session"
    private static let staff: Set<Role> = [.driver, .admin]

    /// Whether endpoints for these roles take the cookie.
    static func counts(for roles: Set<Role>) -> Bool { roles.isSubset(of: staff) }

    /// The cookie's value (RFC 6265 section 5.4); nil when there is none, or more than one, which is
    /// how a neighbouring host would slip in a session of its own.
    ///
    /// - Parameter headers: The headers of a request.
    public static func token(in headers: HTTPHeaders) -> String? {
        var values: [Substring] = []
        for line in headers.values("Cookie") {
            for pair in line.split(separator: ";") {
                let pair = pair.drop { $0 == " " || $0 == "\t" }
                if pair.hasPrefix(name + "=") { values.append(pair.dropFirst(name.count + 1)) }
            }
        }
        guard values.count == 1, let value = values.first, !value.isEmpty else { return nil }
        return String(value)
    }
}
