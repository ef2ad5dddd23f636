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
                try await endSession(request)
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
    /// A token without `jti` belongs to no session: nothing is ended then.
    func endSession(_ request: HTTPRequest) async throws {
        let caller = try context.caller(request)
        guard let tokenID = caller.tokenID else { return }
        let now = context.now()
        let sessions = context.sessions
        try await context.database.transaction(request) { connection throws(DatabaseError) in
            // A refresh of the same session either comes first, and its tokens are found here, or
            // finds the session ended.
            _ = try AccountRows.lock(caller.account, on: connection)
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
