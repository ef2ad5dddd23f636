internal import Database
internal import Transit
internal import Web

/// `POST /api/v1/auth/password {current, new}` (architecture section 12).
///
/// The caller's session goes on, with the tokens that it has; every other one ends (circles spec
/// 23). They are ended by the ids of their tokens: a row for the whole account could not tell the
/// caller's token from others of the same second.
struct ChangePassword: Sendable {
    let context: AccountContext

    var endpoint: Endpoint {
        Endpoint(
            .post,
            "/api/v1/auth/password",
            access: AccountContext.everyAccount,
            bodyLimit: AccountContext.bodyLimit,
            handler: change
        )
    }

    private func change(_ request: HTTPRequest) async throws -> HTTPResponse {
        let caller = try context.caller(request)
        let body = try request.jsonObject()
        let current = try body.string("current") ?? ""
        let new = try body.string("new") ?? ""
        try body.finish()
        guard !current.isEmpty, !new.isEmpty else {
            throw HTTPError.badRequest(
                "current and new are required",
                code: "password.incomplete"
            )
        }
        do throws(PasswordRules.Fault) {
            try PasswordRules.check(new)
        } catch {
            throw HTTPError(error)
        }
        try await context.passwords.admit {
            let account = try await PasswordConfirmation(context: context).verify(
                current,
                of: caller.account,
                request
            )
            let hash = try await context.passwords.hash(new, by: request.deadline)
            try await store(hash, caller, verified: account, request)
        }
        await context.sessions.revocations.announce()
        return .empty()
    }

    private func store(
        _ hash: String,
        _ caller: AccountContext.Caller,
        verified: Account,
        _ request: HTTPRequest
    ) async throws(HTTPError) {
        let now = context.now()
        let sessions = context.sessions
        let limits = context.limits
        let isStored = try await context.database.transaction(request) {
            connection throws(DatabaseError) -> Bool in
            // Another change may have come between: then the current password is not what was said.
            guard let account = try AccountRows.lock(verified.id, on: connection),
                account.passwordGeneration == verified.passwordGeneration
            else { return false }
            try AccountRows.setPassword(hash, of: account.id, at: now, on: connection)
            try limits.confirmation.clear(
                Identity.caller(account.id),
                at: now,
                on: connection
            )
            let own = try sessions.session(
                ofToken: caller.tokenID,
                of: account.id,
                on: connection
            )
            if let own {
                try sessions.endOthers(than: own, of: account.id, at: now, on: connection)
            } else {
                try sessions.endAll(of: account.id, at: now, on: connection)
            }
            return true
        }
        guard isStored else { throw .wrongPassword }
    }
}
