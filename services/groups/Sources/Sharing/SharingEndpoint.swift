internal import Database
internal import ServiceKit
internal import Transit
internal import Web

/// `PUT /api/circles/{id}/sharing`: the switch of one member in one group (decisions 1 and 4).
struct SharingEndpoint: Sendable {
    let api: SocialAPI

    var all: [Endpoint] {
        [api.endpoint(.put, "/api/circles/{id}/sharing", handler: set)]
    }

    private func set(_ caller: Account, _ request: HTTPRequest) async throws -> HTTPResponse {
        let sharing = try request.jsonObject().requiredBool("sharing")
        let groupID = try request.groupID
        let change = try await api.transaction { connection in
            let (pass, group) = try Gate.passToLockedGroup(
                caller.id,
                to: groupID,
                where: \.isPausable,
                on: connection
            )
            return sharing
                ? try Sharing.resume(pass, at: api.clock.milliseconds(), in: group)
                : try Sharing.pause(pass, in: group)
        }
        if let change { await api.live.tell([change], trace: request.trace) }
        return .json { json in
            json.beginObject()
            json.member("sharing", sharing)
            json.endObject()
        }
    }
}
