internal import Database
internal import ServiceKit
internal import Transit
internal import Web

/// How often somebody may ask for all that is stored about them: each time reads many rows.
struct ExportLimit: Sendable {
    /// Exports of one caller in a minute.
    static let perMinute = 5

    private let limiter: AttemptLimiter

    /// Makes a limit.
    ///
    /// - Parameters:
    ///   - kind: Whose exports are counted, such as `rider_export`.
    ///   - keys: Make the marks of callers.
    init(_ kind: String, keys: KeyRing) {
        limiter = AttemptLimiter(kind: kind, limit: Self.perMinute, keys: keys)
    }

    /// Counts an export.
    ///
    /// - Parameters:
    ///   - caller: The rider or account.
    ///   - now: The application clock.
    ///   - connection: In a transaction.
    /// - Returns: 429 for who asks too often, else nil.
    /// - Throws: ``DatabaseError`` when the statement fails.
    func refusal(
        of caller: UniqueID,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> HTTPError? {
        let answer = try limiter.attempt(by: caller.description, at: now, on: connection)
        guard case .refused(let seconds) = answer else { return nil }
        return HTTPError(
            status: 429,
            code: "rate.exports",
            message: "too many exports, try again later",
            retryAfter: seconds
        )
    }
}
