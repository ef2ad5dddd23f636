internal import Database
internal import ServiceKit
internal import Telemetry
internal import Transit
internal import Web

/// `GET /api/me`, `GET /api/me/export` and `DELETE /api/me` (architecture section 12).
struct Profile: Sendable {
    /// How long an export may take: a part of the reports of a driver is read in some 30 ms.
    static let exportDeadline = Duration.seconds(14)

    let context: AccountContext

    var endpoints: [Endpoint] {
        [
            Endpoint(.get, "/api/me", access: AccountContext.everyAccount, handler: show),
            Endpoint(
                .get,
                "/api/me/export",
                access: AccountContext.everyAccount,
                deadline: Self.exportDeadline,
                handler: export
            ),
            Endpoint(
                .delete,
                "/api/me",
                access: AccountContext.everyAccount,
                bodyLimit: AccountContext.bodyLimit,
                handler: delete
            ),
        ]
    }

    private func show(_ request: HTTPRequest) async throws -> HTTPResponse {
        let id = try context.caller(request).account
        let account = try await context.database.transaction(request) {
            connection throws(DatabaseError) in
            try AccountRows.find(id, on: connection)
        }
        guard let account else { throw HTTPError.invalidToken }
        var json = JSONWriter()
        json.beginObject()
        json.identity(of: account)
        json.endObject()
        return .json(bytes: json.bytes).notStored()
    }

    /// Everything that is stored about the caller, but what only proves who it is: auth's own, then
    /// what every other owner has, by its name.
    private func export(_ request: HTTPRequest) async throws -> HTTPResponse {
        let id = try context.caller(request).account
        let now = context.now()
        let limit = ExportLimit("account_export", keys: context.keys)
        let refusal = try await context.database.transaction(request) {
            connection throws(DatabaseError) in
            try limit.refusal(of: id, at: now, on: connection)
        }
        if let refusal { throw refusal }
        let others = try await context.exports.of(id)
        let stored = try await context.database.transaction(request) {
            connection throws(DatabaseError) -> (account: Account, sessions: [SessionRecord])? in
            guard let account = try AccountRows.find(id, on: connection) else { return nil }
            return (account, try SessionRecord.all(of: id, on: connection))
        }
        guard let (account, sessions) = stored else { throw HTTPError.invalidToken }
        var json = JSONWriter(capacity: 1024)
        json.beginObject()
        json.key("account")
        json.beginObject()
        json.identity(of: account)
        json.member("name", account.name)
        json.member("updated_at", Timestamps.text(ofSeconds: account.updatedAt))
        json.endObject()
        json.key("sessions")
        json.beginArray()
        for session in sessions { json.session(session) }
        json.endArray()
        for other in others {
            json.key(other.owner)
            json.value(json: other.json)
        }
        json.endObject()
        return .json(bytes: json.bytes).notStored()
    }

    // MARK: - Deletion

    private func delete(_ request: HTTPRequest) async throws -> HTTPResponse {
        let caller = try context.caller(request)
        let body = try request.jsonObject()
        let password = try body.string("password") ?? ""
        try body.finish()
        guard !password.isEmpty else { throw HTTPError(PasswordRules.Fault.missing) }
        let erasure = try await context.passwords.admit {
            let account = try await PasswordConfirmation(context: context).verify(
                password,
                of: caller.account,
                request
            )
            return try await begin(account, request)
        }
        return .erasure(isDone: await context.erasures.carryOut(erasure))
    }

    private func begin(
        _ verified: Account,
        _ request: HTTPRequest
    ) async throws(HTTPError) -> Erasure {
        let now = context.now()
        let deletion = AccountDeletion(sessions: context.sessions, erasures: context.erasures)
        let outcome = try await context.database.transaction(request) {
            connection throws(DatabaseError) in
            try deletion.begin(verified.id, at: now, on: connection) {
                $0.passwordGeneration == verified.passwordGeneration
            }
        }
        switch outcome {
        case .begun(let erasure): return erasure
        case .notFound: throw .invalidToken
        case .lastAdmin: throw .lastAdmin("delete")
        }
    }
}

extension JSONWriter {
    /// The members of `GET /api/me` (circles spec 24).
    fileprivate mutating func identity(of account: Account) {
        member("id", account.id.description)
        member("handle", account.handle)
        member("email", account.email)
        member("role", account.role.rawValue)
        member("created_at", Timestamps.text(ofSeconds: account.createdAt))
    }
}
