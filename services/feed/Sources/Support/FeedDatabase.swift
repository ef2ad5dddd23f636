internal import Database
internal import Telemetry
internal import Web

/// Database work on behalf of a caller: what fails becomes the answer that the caller gets.
struct FeedDatabase: Sendable {
    let pool: Database
    let logger: Logger

    /// Runs work in a transaction.
    ///
    /// - Parameters:
    ///   - request: Whose trace the log line of a failure carries.
    ///   - body: The work, on a connection's own thread.
    /// - Returns: What `body` returns, after COMMIT.
    /// - Throws: 503 when the same call may succeed later, else 500; nothing was stored then,
    ///   unless the connection ended during COMMIT.
    func transaction<Value: Sendable>(
        for request: HTTPRequest,
        _ body: @escaping @Sendable (Connection) throws(DatabaseError) -> Value
    ) async throws(HTTPError) -> Value {
        do throws(DatabaseError) {
            return try await pool.transaction(body)
        } catch {
            throw refusal(of: error, request)
        }
    }

    /// Writes a failure to the log and gives the caller's answer.
    func refusal(of error: DatabaseError, _ request: HTTPRequest) -> HTTPError {
        logger.error(
            "database work failed",
            ["error": .text(error.description), "trace.id": .text("\(request.trace)")]
        )
        return error.isRetryable ? .databaseUnavailable : .failure
    }
}

extension HTTPError {
    /// 503 while the database is away: nothing is acknowledged that is not committed.
    static let databaseUnavailable = HTTPError(
        status: 503,
        code: "database.unavailable",
        message: "the database is unavailable, try again",
        retryAfter: 2
    )
}
