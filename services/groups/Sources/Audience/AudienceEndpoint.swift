internal import Database
internal import Web

/// `GET /api/me/audience`.
struct AudienceEndpoint: Sendable {
    let api: SocialAPI

    var all: [Endpoint] { [api.endpoint(.get, "/api/me/audience", handler: show)] }

    private func show(_ caller: Account, _ request: HTTPRequest) async throws -> HTTPResponse {
        let audience = try await api.reading { connection in
            try Gate.survey(Audience.survey, of: [caller.id], on: connection)
        }
        return .json { json in audience.write(to: &json) }
    }
}
