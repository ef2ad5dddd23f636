internal import Database
internal import ServiceKit
internal import Telemetry
internal import Transit
internal import Web

/// What every endpoint of the social API goes through: members alone, limits, the caller's account,
/// and answers that no cache keeps.
struct SocialAPI: Sendable {
    /// The most bytes of a body, inflated, where an endpoint does not say otherwise (decision 6).
    static let bodyLimit = 16 * 1024

    let database: Database
    let accounts: AccountBook
    let directory: any AccountDirectory
    let live: LiveNews
    let limits: RequestLimits
    let clock: ApplicationClock
    let logger: Logger

    /// An answer to an account's request.
    typealias Handler = @Sendable (Account, HTTPRequest) async throws -> HTTPResponse

    /// Makes an endpoint for members.
    ///
    /// - Parameters:
    ///   - method: What is asked for.
    ///   - pattern: The path.
    ///   - bodyLimit: The most bytes of a body, compressed and inflated.
    ///   - handler: Makes the answer.
    /// - Returns: The endpoint; the caller is within the limits and known when `handler` runs.
    func endpoint(
        _ method: HTTPMethod,
        _ pattern: String,
        bodyLimit: Int = SocialAPI.bodyLimit,
        handler: @escaping Handler
    ) -> Endpoint {
        Endpoint(method, pattern, access: .roles([.member]), bodyLimit: bodyLimit) { request in
            let account = try Account(calling: request)
            try limits.admit(account.id, from: request.clientAddress)
            return try await answer(request, of: account, by: handler).notStored()
        }
    }

    /// Runs database work of one request in a transaction; a refusal rolls it back.
    ///
    /// - Parameter work: The work; it may block.
    /// - Returns: What `work` returns, after COMMIT.
    /// - Throws: The refusal that `work` threw; `DatabaseError`.
    func transaction<Value: Sendable>(
        _ work: @escaping @Sendable (Connection) throws -> Value
    ) async throws -> Value {
        try await database.refusable(work)
    }

    /// Reads with one statement.
    ///
    /// - Parameter work: One statement; it may block.
    /// - Returns: What `work` returns.
    /// - Throws: The refusal that `work` threw; `DatabaseError`.
    func reading<Value: Sendable>(
        _ work: @escaping @Sendable (Connection) throws -> Value
    ) async throws -> Value {
        try await database.withConnection { connection throws(DatabaseError) in
            try connection.outcome(of: work)
        }.get()
    }

    // MARK: - Details

    private func answer(
        _ request: HTTPRequest,
        of account: Account,
        by handler: Handler
    ) async throws -> HTTPResponse {
        do {
            try await accounts.see(account)
            return try await handler(account, request)
        } catch let gone as Locks.Gone {
            accounts.forget(gone.accountID)
            throw HTTPError.invalidToken
        } catch let error as DatabaseError {
            logger.error(
                "a social call failed in the database",
                ["error": .text(error.description), "trace.id": .text("\(request.trace)")]
            )
            throw error.isRetryable ? HTTPError.databaseUnavailable : HTTPError.failure
        }
    }
}

extension Database {
    /// Runs work in a transaction that also rolls back when the work refuses.
    ///
    /// - Parameter work: The work; it may block.
    /// - Returns: What `work` returns, after COMMIT.
    /// - Throws: What `work` threw; `DatabaseError`.
    func refusable<Value: Sendable>(
        _ work: @escaping @Sendable (Connection) throws -> Value
    ) async throws -> Value {
        try await transaction { connection throws(DatabaseError) in
            let outcome = try connection.outcome(of: work)
            if case .failure = outcome { connection.rollBackAtEnd() }
            return outcome
        }.get()
    }
}

extension Connection {
    /// What work returned or why it refused; trouble with the database is thrown.
    fileprivate func outcome<Value>(
        of work: (Connection) throws -> Value
    ) throws(DatabaseError) -> Result<Value, any Error> {
        do {
            return .success(try work(self))
        } catch let error as DatabaseError {
            throw error
        } catch {
            return .failure(error)
        }
    }
}
