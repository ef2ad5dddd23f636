internal import Database
internal import Messages
internal import ServiceKit
internal import Telemetry
internal import Transit
internal import Web

/// `/api/friends`: who may invite whom (spec 1.7).
struct FriendEndpoints: Sendable {
    let api: SocialAPI

    var all: [Endpoint] {
        [
            api.endpoint(.get, "/api/friends", handler: list),
            api.endpoint(.post, "/api/friends/requests", handler: request),
            api.endpoint(.post, "/api/friends/requests/{id}/respond", handler: respond),
            api.endpoint(.delete, "/api/friends/{id}", handler: remove),
        ]
    }

    private func list(_ caller: Account, _ request: HTTPRequest) async throws -> HTTPResponse {
        let list = try await api.reading { connection in
            try FriendList(of: caller.id, on: connection)
        }
        return .json { json in
            json.beginObject()
            json.key("riders")
            list.write(to: &json)
            json.endObject()
        }
    }

    private func request(_ caller: Account, _ request: HTTPRequest) async throws -> HTTPResponse {
        let handle = try request.jsonObject().username()
        let now = api.clock.now()
        let other = try await api.person(named: handle, trace: request.trace)
        guard other != caller.id else { throw HTTPError.cannotFriendYourself }
        let status = try await api.transaction { connection in
            try Locks.pair(caller.id, other, orRefuse: .userNotFound, on: connection)
            return try Friendships.request(by: caller.id, to: other, at: now, on: connection)
        }
        return .status(status)
    }

    private func respond(_ caller: Account, _ request: HTTPRequest) async throws -> HTTPResponse {
        let accepting = try request.jsonObject().requiredBool("accept")
        let other = try request.riderID
        let now = api.clock.now()
        guard other != caller.id else { throw HTTPError.noPendingRequest }
        let status = try await api.transaction { connection in
            try Locks.pair(caller.id, other, orRefuse: .noPendingRequest, on: connection)
            return try Friendships.respond(
                by: caller.id,
                to: other,
                accepting: accepting,
                at: now,
                on: connection
            )
        }
        return .status(status)
    }

    private func remove(_ caller: Account, _ request: HTTPRequest) async throws -> HTTPResponse {
        let other = try request.riderID
        guard other != caller.id else { return .empty() }
        let changes = try await api.transaction { connection -> [GroupChanged] in
            let pair = Pair(caller.id, other)
            guard try Friendships.find(pair, on: connection) != nil else { return [] }
            try Locks.accounts(pair.accounts, on: connection)
            guard let friendship = try Friendships.find(pair, on: connection) else { return [] }
            try Friendships.delete(pair, on: connection)
            guard friendship.isAccepted else { return [] }
            return try Severance.part(caller.id, from: other, on: connection)
        }
        await api.live.tell(changes, trace: request.trace)
        return .empty()
    }
}

extension SocialAPI {
    /// Finds a person by handle, here or at auth, and takes note of one never seen.
    ///
    /// - Throws: 404 when nobody has the handle, 503 when auth cannot be asked; `DatabaseError`.
    func person(named handle: Handle, trace: TraceID) async throws -> UniqueID {
        let known = try await reading { connection in
            try AccountBook.account(named: handle, on: connection)
        }
        if let known { return known }
        let found: Account?
        do throws(AccountDirectoryError) {
            found = try await directory.member(named: handle, trace: trace)
        } catch {
            throw HTTPError.accountsUnavailable
        }
        guard let found else { throw HTTPError.userNotFound }
        do {
            try await accounts.see(found)
        } catch is Locks.Gone {
            // Erased here, and on its way out at auth.
            throw HTTPError.userNotFound
        }
        return found.id
    }
}

extension HTTPRequest {
    /// The person of the path; a path without an id is none of ours.
    fileprivate var riderID: UniqueID {
        get throws(HTTPError) {
            guard let id = UniqueID(parameter("id")) else { throw .notFound }
            return id
        }
    }
}
