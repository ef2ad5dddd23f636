internal import Database
internal import Telemetry
internal import Web

/// Database work of a request, with the answers for what can go wrong.
struct RequestDatabase: Sendable {
    let database: Database
    let logger: Logger

    /// Runs `body` in a transaction.
    ///
    /// - Parameters:
    ///   - request: For its trace in the log.
    ///   - conflicts: Whether a taken handle or address is the caller's doing, answered 409.
    ///   - body: The work.
    /// - Returns: What `body` returns, after the commit.
    /// - Throws: 409 for a conflict; 503 when the database is away, so that the caller tries again; 500 for the rest.
    func transaction<Value: Sendable>(
        _ request: HTTPRequest,
        conflicts: Bool = false,
        _ body: @escaping @Sendable (Connection) throws(DatabaseError) -> Value
    ) async throws(HTTPError) -> Value {
        do throws(DatabaseError) {
            return try await database.transaction(body)
        } catch {
            if conflicts, let conflict = AccountConflict(error) { throw conflict.refusal }
            logger.error(
                "a call failed in the database",
                ["error": .text(error.description), "trace.id": .text("\(request.trace)")]
            )
            throw error.isRetryable ? HTTPError.databaseUnavailable : HTTPError.failure
        }
    }
}

extension HTTPError {
    /// 503 while the database is away.
    static let databaseUnavailable = HTTPError(
        status: 503,
        code: "database.unavailable",
        message: "accounts are unavailable, try again",
        retryAfter: 2
    )
}
