internal import Database
internal import ServiceKit
internal import Transit
internal import Web

/// `POST /api/v1/auth/login` (spec 1.2), and what the browser's log-in has in common with it.
struct LogIn: Sendable {
    let context: AccountContext

    var endpoint: Endpoint {
        Endpoint(
            .post,
            "/api/v1/auth/login",
            access: .anyone,
            bodyLimit: AccountContext.bodyLimit
        ) { request in
            let tokens = try await open(.app, for: AccountContext.roles, request)
            return tokens.response(context.signer)
        }
    }

    /// Checks who is calling by the request's body and opens a session.
    ///
    /// An unknown identity, a wrong password and an account that is switched off are told apart
    /// neither by the answer nor by its time.
    ///
    /// - Parameters:
    ///   - kind: Where the session is used.
    ///   - roles: Who may have one there.
    ///   - request: With the identity and the password in its body.
    /// - Returns: The session's first tokens.
    /// - Throws: 400, 401, 403 for another role, 429, 503.
    func open(
        _ kind: Sessions.Kind,
        for roles: Set<Role>,
        _ request: HTTPRequest
    ) async throws -> IssuedTokens {
        let credentials = try Credentials(request)
        let address = request.clientAddress.callerNetwork
        if let seconds = context.limits.address.knownWait(of: address, at: context.now()) {
            throw HTTPError.tooManyAttempts(seconds)
        }
        return try await context.passwords.admit {
            let account = try await candidate(credentials, request)
            let isRight = try await context.passwords.verify(
                credentials.password,
                against: account?.passwordHash,
                by: request.deadline
            )
            guard isRight, let account, account.isActive else { throw HTTPError.loginRefused }
            guard roles.contains(account.role) else { throw HTTPError.forbidden }
            var hash: String?
            if context.passwords.needsRehash(account.passwordHash) {
                hash = try await context.passwords.hash(
                    credentials.password,
                    by: request.deadline
                )
            }
            return try await begin(kind, account, credentials, rehashed: hash, request)
        }
    }

    /// Counts the attempt and looks the identity up.
    private func candidate(
        _ credentials: Credentials,
        _ request: HTTPRequest
    ) async throws(HTTPError) -> Account? {
        let limits = context.limits
        let now = context.now()
        let address = request.clientAddress.callerNetwork
        let found = try await context.database.transaction(request) {
            connection throws(DatabaseError) -> Candidate in
            // A blocked address does not use up what the owner of an identity has left.
            if case .refused(let seconds) = try limits.address.attempt(
                by: address,
                at: now,
                on: connection
            ) {
                return .refused(retryAfterSeconds: seconds)
            }
            if case .refused(let seconds) = try limits.identity.attempt(
                by: credentials.identity.caller,
                at: now,
                on: connection
            ) {
                return .refused(retryAfterSeconds: seconds)
            }
            return .account(try AccountRows.find(credentials.identity, on: connection))
        }
        switch found {
        case .account(let account): return account
        case .refused(let seconds): throw .tooManyAttempts(seconds)
        }
    }

    private enum Candidate: Sendable {
        case account(Account?)
        case refused(retryAfterSeconds: Int)
    }

    private func begin(
        _ kind: Sessions.Kind,
        _ verified: Account,
        _ credentials: Credentials,
        rehashed: String?,
        _ request: HTTPRequest
    ) async throws(HTTPError) -> IssuedTokens {
        let now = context.now()
        let sessions = context.sessions
        let limits = context.limits
        let tokens = try await context.database.transaction(request) {
            connection throws(DatabaseError) -> IssuedTokens? in
            // The password may have been changed, or the account switched off, since it was read.
            guard let account = try AccountRows.lock(verified.id, on: connection),
                account.isActive, account.role == verified.role,
                account.passwordGeneration == verified.passwordGeneration
            else { return nil }
            if let rehashed, account.passwordHash == verified.passwordHash {
                try AccountRows.replaceHash(rehashed, of: account.id, on: connection)
            }
            try limits.identity.clear(credentials.identity.caller, at: now, on: connection)
            return try sessions.open(kind, for: account, at: now, on: connection)
        }
        guard let tokens else { throw .loginRefused }
        return tokens
    }
}

/// Who somebody says to be, and the proof.
private struct Credentials: Sendable {
    let identity: Identity
    let password: String

    /// Reads a body of `{email|handle, password}`.
    ///
    /// - Throws: 400 `invalid request body` for whatever is no such object, 400 for missing parts,
    ///   413, 415.
    init(_ request: HTTPRequest) throws(HTTPError) {
        let email: String
        let handle: String
        do throws(HTTPError) {
            let body = try request.jsonObject()
            email = try body.string("email") ?? ""
            handle = try body.string("handle") ?? ""
            password = try body.string("password") ?? ""
            try body.finish()
        } catch {
            guard error.status == 400 else { throw error }
            throw .badRequest("invalid request body", code: error.code)
        }
        guard email.isEmpty || handle.isEmpty else {
            throw .badRequest("email and handle exclude each other", code: "login.ambiguous")
        }
        guard !password.isEmpty, !email.isEmpty || !handle.isEmpty else {
            throw .badRequest("email and password are required", code: "login.incomplete")
        }
        identity = handle.isEmpty ? .email(email) : .handle(handle)
    }
}

extension HTTPError {
    /// 401 for an unknown identity, a wrong password and an account that is switched off alike.
    static let loginRefused = HTTPError(
        status: 401,
        code: "login.refused",
        message: "invalid email or password"
    )
}
