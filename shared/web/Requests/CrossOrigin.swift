/// The rule against requests that a browser sends for a page of another site.
///
/// Every browser of today names the relation in `Sec-Fetch-Site`; an older one sends `Origin`,
/// which must then be our own host. Programs that are no browsers send neither and pass.
enum CrossOrigin {
    /// True when the request must be refused.
    static func refuses(_ method: HTTPMethod, _ headers: HTTPHeaders) -> Bool {
        guard !method.isSafe else { return false }
        if let site = headers.first("Sec-Fetch-Site") {
            return site != "same-origin" && site != "none"
        }
        guard let origin = headers.first("Origin") else { return false }
        guard let host = headers.first("Host"), let separator = origin.firstRange(of: "://") else {
            return true
        }
        return origin[separator.upperBound...].lowercased() != host.lowercased()
    }
}

extension HTTPRequest {
    /// True for an unsafe request that a browser sends for a page of another site.
    ///
    /// Servers refuse these by themselves; whoever accepts a cookie asks once more, as it must hold
    /// whatever the server's configuration is.
    public var isRefusedAsCrossOrigin: Bool { CrossOrigin.refuses(method, headers) }
}
