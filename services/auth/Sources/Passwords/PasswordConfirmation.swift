internal import Database
internal import ServiceKit
internal import Transit
internal import Web

/// Asks a logged-in caller for the password once more, before something that cannot be undone.
struct PasswordConfirmation: Sendable {
    let context: AccountContext

    /// Verifies the caller's password; for callers that the password worker let in.
    ///
    /// - Parameters:
    ///   - password: What the caller says it is.
    ///   - id: The caller's account.
    ///   - request: For its deadline and its trace.
    /// - Returns: The account as it was verified.
    /// - Throws: 401 when the account is gone, 403 for another password, 429, 503.
    func verify(
        _ password: String,
        of id: UniqueID,
        _ request: HTTPRequest
    ) async throws -> Account {
        let now = context.now()
        let limiter = context.limits.confirmation
        let found = try await context.database.transaction(request) {
            connection throws(DatabaseError) -> Found in
            let answer = try limiter.attempt(
                by: Identity.caller(id),
                at: now,
                on: connection
            )
            if case .refused(let seconds) = answer {
                return .limited(retryAfterSeconds: seconds)
            }
            return .account(try AccountRows.find(id, on: connection))
        }
        switch found {
        case .limited(let seconds): throw HTTPError.tooManyAttempts(seconds)
        case .account(nil): throw HTTPError.invalidToken
        case .account(.some(let account)):
            let isRight = try await context.passwords.verify(
                password,
                against: account.passwordHash,
                by: request.deadline
            )
            guard isRight, account.isActive else { throw HTTPError.wrongPassword }
            return account
        }
    }

    private enum Found: Sendable {
        case account(Account?)
        case limited(retryAfterSeconds: Int)
    }
}
