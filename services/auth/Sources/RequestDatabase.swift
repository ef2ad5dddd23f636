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
    ///   - refusal: The answer for an error that is the caller's doing, such as a taken name.
    ///   - body: The work.
    /// - Returns: What `body` returns, after the commit.
    /// - Throws: 503 when the database is away, so that the caller tries again; 500 for the rest.
    func transaction<Value: Sendable>(
        _ request: HTTPRequest,
        refusal: @Sendable (DatabaseError) -> HTTPError? = { _ in nil },
        _ body: @escaping @Sendable (Connection) throws(DatabaseError) -> Value
    ) async throws(HTTPError) -> Value {
        do throws(DatabaseError) {
            return try await database.transaction(body)
        } catch {
            if let refusal = refusal(error) { throw refusal }
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
