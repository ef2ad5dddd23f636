internal import Database
internal import ServiceKit
internal import Telemetry
internal import Transit
internal import Web

/// `POST /api/v1/auth/refresh` (spec 1.2): spends a refresh token for the next pair.
///
/// It never waits for a password hash.
struct Refresh: Sendable {
    let context: AccountContext

    var endpoint: Endpoint {
        Endpoint(
            .post,
            "/api/v1/auth/refresh",
            access: .anyone,
            bodyLimit: AccountContext.bodyLimit,
            handler: refresh
        )
    }

    private enum Outcome: Sendable {
        case done(Sessions.Refreshed)
        case limited(retryAfterSeconds: Int)
    }

    private func refresh(_ request: HTTPRequest) async throws -> HTTPResponse {
        let body = try request.jsonObject()
        let token = try body.string("refresh_token") ?? ""
        try body.finish()
        guard !token.isEmpty else {
            throw HTTPError.badRequest("refresh_token is required", code: "refresh.incomplete")
        }
        let now = context.now()
        let limiter = context.limits.address
        let sessions = context.sessions
        let address = request.clientAddress.callerNetwork
        if let seconds = limiter.knownWait(of: address, at: now) {
            throw HTTPError.tooManyAttempts(seconds)
        }
        let outcome = try await context.database.transaction(request) {
            connection throws(DatabaseError) -> Outcome in
            if case .refused(let seconds) = try limiter.attempt(
                by: address,
                at: now,
                on: connection
            ) {
                return .limited(retryAfterSeconds: seconds)
            }
            return .done(try sessions.refresh(token, at: now, on: connection))
        }
        switch outcome {
        case .limited(let seconds): throw HTTPError.tooManyAttempts(seconds)
        case .done(.tokens(let tokens)): return tokens.response(context.signer)
        case .done(.refused): throw HTTPError.refreshRefused
        case .done(.reused(let account)):
            await sessions.revocations.announce()
            context.logger.warning(
                "a spent refresh token came again; all sessions of its account were ended",
                [
                    "account.digest": .text(SubjectDigest.text(of: account.description)),
                    "trace.id": .text("\(request.trace)"),
                ]
            )
            throw HTTPError.refreshRefused
        }
    }
}

extension HTTPError {
    /// 401 for every refresh token that gives no pair, whatever the reason.
    static let refreshRefused = HTTPError(
        status: 401,
        code: "refresh.refused",
        message: "invalid or expired refresh token"
    )
}
