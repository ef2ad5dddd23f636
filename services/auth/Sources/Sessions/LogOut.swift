internal import Database
internal import Transit
internal import Web

/// `POST /api/v1/auth/logout` and `logout-all` (spec 1.2, circles spec 23).
struct LogOut: Sendable {
    let context: AccountContext

    var endpoints: [Endpoint] {
        [
            Endpoint(
                .post,
                "/api/v1/auth/logout",
                access: AccountContext.everyAccount,
                bodyLimit: AccountContext.bodyLimit
            ) { request in
                try await endSession(request, withRefreshTokensOfStaff: true)
                return .empty()
            },
            Endpoint(
                .post,
                "/api/v1/auth/logout-all",
                access: AccountContext.everyAccount,
                bodyLimit: AccountContext.bodyLimit,
                handler: endAll
            ),
        ]
    }

    /// Ends the session that the caller's token was signed for; returns when this process refuses it.
    ///
    /// A token without `jti` belongs to no session: none is ended then.
    ///
    /// - Parameters:
    ///   - request: With the token of the session.
    ///   - withRefreshTokensOfStaff: Whether no other session of a driver or admin goes on beyond its
    ///     access token (spec 1.2); those of a member do (circles spec 23).
    /// - Throws: 401 for a subject that is no account, 503.
    func endSession(
        _ request: HTTPRequest,
        withRefreshTokensOfStaff: Bool = false
    ) async throws {
        let caller = try context.caller(request)
        let now = context.now()
        let sessions = context.sessions
        try await context.database.transaction(request) { connection throws(DatabaseError) in
            // A refresh of the same session either comes first, and its tokens are found here, or
            // finds the session ended.
            let account = try AccountRows.lock(caller.account, on: connection)
            if withRefreshTokensOfStaff, account?.isStaff == true {
                try sessions.dropRefreshTokens(of: caller.account, on: connection)
            }
            guard let tokenID = caller.tokenID else { return }
            let session = try sessions.session(
                ofToken: tokenID,
                of: caller.account,
                on: connection
            )
            if let session {
                try sessions.end(session, at: now, on: connection)
            } else {
                try sessions.revocations.revoke(
                    token: tokenID,
                    until: now + sessions.lifetimes.longest.components.seconds,
                    at: now,
                    on: connection
                )
            }
        }
        await sessions.revocations.announce()
    }

    private func endAll(_ request: HTTPRequest) async throws -> HTTPResponse {
        let caller = try context.caller(request)
        let now = context.now()
        let sessions = context.sessions
        try await context.database.transaction(request) { connection throws(DatabaseError) in
            guard try AccountRows.lock(caller.account, on: connection) != nil else { return }
            try sessions.endAll(of: caller.account, at: now, on: connection)
        }
        await sessions.revocations.announce()
        return .empty()
    }
}
