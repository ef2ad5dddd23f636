internal import Schedule
internal import Web

/// Fetches a schedule over HTTP, for services and tools alike.
public enum ScheduleDownload {
    /// A schedule is no larger than this when it is fetched (spec 1.13).
    static let limitBytes = 512 << 20
    /// A fetch takes no longer than this (spec 1.13).
    static let limitTime = Duration.seconds(600)
    static let redirects = 5

    /// Whether a schedule's location is an address rather than a path.
    public static func isAddress(_ location: String) -> Bool {
        location.hasPrefix("http://") || location.hasPrefix("https://")
    }

    /// What ``isLocation(_:)`` lets pass, as a phrase after "must be".
    public static let allowedLocation = "a path, or an address that begins with http:// or https://"

    /// Whether a schedule can lie there at all: an address of another scheme is no path either.
    public static func isLocation(_ text: String) -> Bool {
        isAddress(text) || !text.contains("://")
    }

    /// Fetches a zip.
    ///
    /// - Parameter address: An http or https URL; up to five redirects are followed.
    /// - Returns: The bytes, at most 512 MiB.
    /// - Throws: `ScheduleError` when there is no whole answer, or another one than 200.
    public static func bytes(_ address: String) async throws -> [UInt8] {
        let limits = HTTPClientLimits(bodyBytes: limitBytes, time: limitTime, redirects: redirects)
        let response: HTTPClientResponse
        do throws(HTTPClientError) {
            response = try await HTTPClient().get(address, limits: limits)
        } catch {
            throw ScheduleError(source: address, reason: "it cannot be fetched: \(error)")
        }
        guard response.status == 200 else {
            throw ScheduleError(source: address, reason: "it answers \(response.status)")
        }
        return response.body
    }
}
