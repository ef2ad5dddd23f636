internal import Database
internal import Messages
internal import ServiceKit
internal import Transit
internal import Web

/// Making, listing, entering and leaving groups of every kind (spec 1.2 and 1.3).
struct GroupEndpoints: Sendable {
    let api: SocialAPI

    var all: [Endpoint] {
        GroupKind.all.flatMap(endpoints) + [
            api.endpoint(.post, "/api/groups/{id}/invitations", handler: invite),
            api.endpoint(.post, "/api/groups/{id}/invitations/respond", handler: respond),
            api.endpoint(.delete, "/api/groups/{id}/membership", handler: leave),
        ]
    }

    /// The kind comes from the path.
    private func endpoints(of kind: GroupKind) -> [Endpoint] {
        let path = "/api/\(kind.collection)"
        return [
            api.endpoint(.post, path) { try await create(kind, $0, $1) },
            api.endpoint(.get, path) { caller, _ in try await list(kind, caller) },
        ]
    }

    private func create(
        _ kind: GroupKind,
        _ caller: Account,
        _ request: HTTPRequest
    ) async throws -> HTTPResponse {
        let name = try GroupName(typed: try request.jsonObject().string("name"))
        let group = NewGroup(kind: kind, name: name, founder: caller)
        let now = api.clock.milliseconds()
        try await api.transaction { connection in try group.insert(at: now, on: connection) }
        await api.live.tell([GroupChanged(group.id, version: 1)], trace: request.trace)
        return .json(status: 201) { json in GroupList.Entry(group).write(to: &json) }
    }

    private func list(_ kind: GroupKind, _ caller: Account) async throws -> HTTPResponse {
        let list = try await api.reading { connection in
            try GroupList(of: caller.id, kind: kind, on: connection)
        }
        return .json { json in list.write(to: &json) }
    }

    private func invite(_ caller: Account, _ request: HTTPRequest) async throws -> HTTPResponse {
        let handle = try request.jsonObject().username()
        let groupID = try request.groupID
        let now = api.clock.now()
        // A stranger hears of the group alone, whomever they name.
        try await api.reading { connection in
            _ = try Gate.pass(caller.id, to: groupID, on: connection)
        }
        let invitee = try await api.person(named: handle, trace: request.trace)
        guard invitee != caller.id else { throw HTTPError.alreadyAMember }
        let status = try await api.transaction { connection in
            try Invitation.invite(
                invitee,
                by: caller.id,
                to: groupID,
                at: now,
                on: connection
            )
        }
        return .status(status)
    }

    private func respond(_ caller: Account, _ request: HTTPRequest) async throws -> HTTPResponse {
        let accepting = try request.jsonObject().requiredBool("accept")
        let groupID = try request.groupID
        let now = api.clock.milliseconds()
        guard accepting else {
            try await api.transaction { connection in
                try Invitation.decline(by: caller.id, in: groupID, on: connection)
            }
            return .status("declined")
        }
        let change = try await api.transaction { connection in
            try Invitation.accept(by: caller.id, in: groupID, at: now, on: connection)
        }
        await api.live.tell([change], trace: request.trace)
        return .status("accepted")
    }

    private func leave(_ caller: Account, _ request: HTTPRequest) async throws -> HTTPResponse {
        let groupID = try request.groupID
        let changes = try await api.transaction { connection -> [GroupChanged] in
            _ = try OwnSeat(of: caller.id, in: groupID, on: connection)
            guard let group = try Locks.groups([groupID], on: connection).first else {
                throw HTTPError.groupNotFound
            }
            guard try OwnSeat(of: caller.id, in: groupID, on: connection).isAccepted else {
                try Departure.withdrawInvitation(of: caller.id, from: group, on: connection)
                return []
            }
            return [
                try Departure.remove(caller.id, from: group, because: .left, on: connection)
            ]
        }
        await api.live.tell(changes, trace: request.trace)
        return .empty()
    }
}
