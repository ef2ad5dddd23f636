internal import Messages
internal import Telemetry

/// Who knows people that were never seen here: auth.
protocol AccountDirectory: Sendable {
    /// Finds a member by handle.
    ///
    /// - Parameters:
    ///   - handle: In any case.
    ///   - trace: The call's trace.
    /// - Returns: The account, or nil when nobody has the handle.
    /// - Throws: ``AccountDirectoryError`` when it cannot be said now.
    func member(
        named handle: Handle,
        trace: TraceID
    ) async throws(AccountDirectoryError) -> Account?
}

/// Nobody can say now whether a handle exists.
struct AccountDirectoryError: Error {}
