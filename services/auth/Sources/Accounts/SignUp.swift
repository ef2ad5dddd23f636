internal import Database
internal import Messages
internal import ServiceKit
internal import Web

/// `POST /api/v1/auth/register {handle, password, email?}`: a new member (architecture section 12).
struct SignUp: Sendable {
    static let setting = Setting.flag(
        "SIGNUP_ENABLED",
        default: true,
        "Whether people may make accounts for themselves; off answers 403."
    )

    let context: AccountContext
    let isEnabled: Bool

    var endpoint: Endpoint {
        Endpoint(
            .post,
            "/api/v1/auth/register",
            access: .anyone,
            bodyLimit: AccountContext.bodyLimit,
            handler: register
        )
    }

    private func register(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard isEnabled else {
            throw HTTPError(status: 403, code: "signup.disabled", message: "sign-up is disabled")
        }
        let wanted = try Application(request)
        let address = request.clientAddress.callerNetwork
        if let seconds = context.limits.signUp.knownWait(of: address, at: context.now()) {
            throw HTTPError.tooManyRegistrations(seconds)
        }
        let tokens = try await context.passwords.admit {
            try await count(request)
            let hash = try await context.passwords.hash(wanted.password, by: request.deadline)
            return try await store(wanted, hash, request)
        }
        return tokens.response(context.signer, status: 201)
    }

    private func count(_ request: HTTPRequest) async throws(HTTPError) {
        let now = context.now()
        let limiter = context.limits.signUp
        let address = request.clientAddress.callerNetwork
        let answer = try await context.database.transaction(request) {
            connection throws(DatabaseError) in
            try limiter.attempt(by: address, at: now, on: connection)
        }
        if case .refused(let seconds) = answer { throw .tooManyRegistrations(seconds) }
    }

    private func store(
        _ wanted: Application,
        _ hash: String,
        _ request: HTTPRequest
    ) async throws(HTTPError) -> IssuedTokens {
        let now = context.now()
        let sessions = context.sessions
        let new = NewAccount(
            role: .member,
            handle: wanted.handle,
            email: wanted.email,
            name: "",
            passwordHash: hash
        )
        return try await context.database.transaction(
            request,
            conflicts: true
        ) { connection throws(DatabaseError) in
            let account = try AccountRows.insert(new, at: now, on: connection)
            return try sessions.open(.app, for: account, at: now, on: connection)
        }
    }
}

/// What somebody wants to be called, and how to prove it later.
private struct Application: Sendable {
    let handle: Handle
    let email: EmailAddress?
    let password: String

    init(_ request: HTTPRequest) throws(HTTPError) {
        let body = try request.jsonObject()
        let handleText = try body.string("handle") ?? ""
        let emailText = try body.string("email")
        password = try body.string("password") ?? ""
        try body.finish()
        guard let handle = Handle(handleText) else {
            throw .badRequest(
                handleText.isEmpty
                    ? "handle is required"
                    : "handle must be 3 to 24 letters, digits, \"_\", \".\" or \"-\"",
                code: handleText.isEmpty ? "handle.required" : "handle.invalid"
            )
        }
        self.handle = handle
        if let emailText {
            guard let email = EmailAddress(emailText) else { throw .invalidEmail }
            self.email = email
        } else {
            email = nil
        }
        do throws(PasswordRules.Fault) {
            try PasswordRules.check(password)
        } catch {
            throw HTTPError(error)
        }
    }
}

extension HTTPError {
    /// 400 for what cannot be an e-mail address.
    static let invalidEmail = HTTPError.badRequest("email is not valid", code: "email.invalid")
}
