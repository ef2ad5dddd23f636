internal import Database
internal import ServiceKit
internal import Transit
internal import Web

/// `/api/circles/{id}/places` and `/api/circle-places/{id}` (spec 1.6).
struct PlaceEndpoints: Sendable {
    let api: SocialAPI

    var all: [Endpoint] {
        [
            api.endpoint(
                .post,
                "/api/circles/{id}/places",
                bodyLimit: SharedPlace.bodyLimit,
                handler: put
            ),
            api.endpoint(.get, "/api/circles/{id}/places", handler: list),
            api.endpoint(.delete, "/api/circle-places/{id}", handler: remove),
        ]
    }

    private func put(_ caller: Account, _ request: HTTPRequest) async throws -> HTTPResponse {
        let place = try SharedPlace(try request.jsonBytes())
        let groupID = try request.groupID
        let now = api.clock.milliseconds()
        let id = try await api.transaction { connection in
            let pass = try Gate.pass(
                caller.id,
                to: groupID,
                holding: .membershipAlone,
                where: \.hasPlaces,
                on: connection
            )
            return try PlaceStore.put(place, at: now, pass)
        }
        return .json { json in
            json.beginObject()
            json.member("id", id.description)
            json.endObject()
        }
    }

    private func list(_ caller: Account, _ request: HTTPRequest) async throws -> HTTPResponse {
        let groupID = try request.groupID
        let places = try await api.reading { connection in
            try Gate.read(PlaceLook.look, as: caller.id, from: groupID, on: connection)
        }
        return .json { json in places.write(to: &json) }
    }

    private func remove(_ caller: Account, _ request: HTTPRequest) async throws -> HTTPResponse {
        guard let id = UniqueID(request.parameter("id")) else { throw HTTPError.placeNotFound }
        try await api.transaction { connection in
            let groupID = try PlaceStore.groupID(of: id, ownedBy: caller.id, on: connection)
            let pass = try Gate.pass(
                caller.id,
                to: groupID,
                holding: .membershipAlone,
                where: \.hasPlaces,
                on: connection
            )
            try PlaceStore.delete(id, pass)
        }
        return .empty()
    }
}
