internal import Database
internal import ServiceKit
internal import Telemetry
internal import Transit
internal import Web

/// `/api/v1/admin/users`: drivers and admins, for admins (spec 1.3).
///
/// Members are no users in this sense: what people do among themselves is not the agency's.
struct Users: Sendable {
    private static let path = "/api/v1/admin/users"
    private static let access = Access.roles([.admin])

    let context: AccountContext

    var endpoints: [Endpoint] {
        [
            Endpoint(.get, Self.path, access: Self.access, handler: list),
            Endpoint(
                .post,
                Self.path,
                access: Self.access,
                bodyLimit: AccountContext.bodyLimit,
                handler: create
            ),
            Endpoint(.get, Self.path + "/{id}", access: Self.access, handler: show),
            Endpoint(
                .put,
                Self.path + "/{id}",
                access: Self.access,
                bodyLimit: AccountContext.bodyLimit,
                handler: update
            ),
            Endpoint(.delete, Self.path + "/{id}", access: Self.access, handler: delete),
        ]
    }

    // MARK: - Reading

    private func list(_ request: HTTPRequest) async throws -> HTTPResponse {
        let wanted = try UserPage(request.query)
        let page = try await context.database.transaction(request) {
            connection throws(DatabaseError) in
            try StaffRows.page(limit: wanted.limit, offset: wanted.offset, on: connection)
        }
        var json = JSONWriter(capacity: 256 * page.count)
        json.beginArray()
        for user in page { json.user(user) }
        json.endArray()
        return .json(bytes: json.bytes).notStored()
    }

    private func show(_ request: HTTPRequest) async throws -> HTTPResponse {
        let id = try userID(request)
        let user = try await context.database.transaction(request) {
            connection throws(DatabaseError) in
            try AccountRows.find(id, on: connection)
        }
        guard let user, user.isStaff else { throw HTTPError.userNotFound }
        return .user(user)
    }

    /// An id that is no UUID names nobody (spec 0).
    private func userID(_ request: HTTPRequest) throws(HTTPError) -> UniqueID {
        guard let id = UniqueID(request.parameter("id")) else { throw HTTPError.userNotFound }
        return id
    }

    // MARK: - Creating

    private func create(_ request: HTTPRequest) async throws -> HTTPResponse {
        let wanted = try UserChange(request, isNew: true)
        let now = context.now()
        let hash = try await context.passwords.admit {
            try await context.passwords.hash(wanted.password ?? "", by: request.deadline)
        }
        let new = NewAccount(
            role: wanted.role,
            handle: nil,
            email: wanted.email,
            name: wanted.name,
            passwordHash: hash
        )
        let user = try await context.database.transaction(
            request,
            conflicts: true
        ) { connection throws(DatabaseError) in
            try StaffRows.insert(new, at: now, on: connection)
        }
        log("a user was made", user.id, request)
        return .user(user, status: 201)
    }

    // MARK: - Changing

    private enum Outcome: Sendable {
        case changed(Account)
        case notFound
        case lastAdmin(String)
    }

    private func update(_ request: HTTPRequest) async throws -> HTTPResponse {
        let id = try userID(request)
        let change = try UserChange(request, isNew: false)
        var hash: String?
        if let password = change.password {
            hash = try await context.passwords.admit {
                try await context.passwords.hash(password, by: request.deadline)
            }
        }
        let outcome = try await store(change, hash, id, request)
        switch outcome {
        case .notFound: throw HTTPError.userNotFound
        case .lastAdmin(let verb): throw HTTPError.lastAdmin(verb)
        case .changed(let user):
            await context.sessions.revocations.announce()
            log("a user was changed", user.id, request)
            return .user(user)
        }
    }

    private func store(
        _ change: UserChange,
        _ hash: String?,
        _ id: UniqueID,
        _ request: HTTPRequest
    ) async throws(HTTPError) -> Outcome {
        let now = context.now()
        let sessions = context.sessions
        return try await context.database.transaction(
            request,
            conflicts: true
        ) { connection throws(DatabaseError) -> Outcome in
            let admins = try StaffRows.lockActiveAdmins(on: connection)
            guard let user = try AccountRows.lock(id, on: connection), user.isStaff else {
                return .notFound
            }
            let isActive = change.isActive ?? user.isActive
            if admins == [id] {
                if !isActive { return .lastAdmin("deactivate") }
                if change.role != .admin { return .lastAdmin("demote") }
            }
            if let hash { try AccountRows.setPassword(hash, of: id, at: now, on: connection) }
            let changed = try StaffRows.update(
                id,
                change,
                isActive: isActive,
                at: now,
                on: connection
            )
            // What a token says about rights must not outlive them.
            if changed.role != user.role || !changed.isActive || hash != nil {
                try sessions.endAll(of: id, at: now, on: connection)
            }
            return .changed(changed)
        }
    }

    // MARK: - Deleting

    private func delete(_ request: HTTPRequest) async throws -> HTTPResponse {
        let id = try userID(request)
        let now = context.now()
        let deletion = AccountDeletion(sessions: context.sessions, erasures: context.erasures)
        let isOwn = request.principal?.subject == id.description
        let outcome = try await context.database.transaction(request) {
            connection throws(DatabaseError) -> AccountDeletion.Outcome? in
            // One's own goes by `DELETE /api/me`, which asks for the password (circles spec, case 75).
            if isOwn, try StaffRows.lockActiveAdmins(on: connection) != [id] { return nil }
            return try deletion.begin(id, at: now, on: connection) { $0.isStaff }
        }
        switch outcome {
        case nil: throw HTTPError.ownAccount
        case .notFound: throw HTTPError.userNotFound
        case .lastAdmin: throw HTTPError.lastAdmin("delete")
        case .begun(let erasure):
            log("a user was deleted", id, request)
            _ = await context.erasures.carryOut(erasure)
            return .empty()
        }
    }

    /// Who changed whom; the one record of what admins do.
    ///
    /// Logs are not erased, so they hold digests.
    private func log(_ message: String, _ user: UniqueID, _ request: HTTPRequest) {
        context.logger.info(
            message,
            [
                "user.digest": .text(SubjectDigest.text(of: user.description)),
                "admin.digest": .text(SubjectDigest.text(of: request.principal?.subject ?? "")),
                "trace.id": .text("\(request.trace)"),
            ]
        )
    }
}

extension JSONWriter {
    /// `{id, name, email, role, active, created_at, updated_at}` (spec 1.3).
    fileprivate mutating func user(_ user: Account) {
        beginObject()
        member("id", user.id.description)
        member("name", user.name)
        member("email", user.email)
        member("role", user.role.rawValue)
        member("active", user.isActive)
        member("created_at", Timestamps.text(ofSeconds: user.createdAt))
        member("updated_at", Timestamps.text(ofSeconds: user.updatedAt))
        endObject()
    }
}

extension HTTPResponse {
    fileprivate static func user(_ user: Account, status: Int = 200) -> HTTPResponse {
        var json = JSONWriter()
        json.user(user)
        return .json(bytes: json.bytes, status: status).notStored()
    }
}

extension HTTPError {
    /// 404 for an id of nobody on the staff.
    fileprivate static let userNotFound = HTTPError(
        status: 404,
        code: "user.not_found",
        message: "user not found"
    )

    /// 400 for an admin who would delete themselves in passing.
    fileprivate static let ownAccount = HTTPError(
        status: 400,
        code: "user.own_account",
        message: "cannot delete your own account here"
    )

    /// 409 for what would leave nobody who can let others in (spec 1.3).
    static func lastAdmin(_ verb: String) -> HTTPError {
        HTTPError(
            status: 409,
            code: "user.last_admin",
            message: "cannot \(verb) the last active admin"
        )
    }
}
