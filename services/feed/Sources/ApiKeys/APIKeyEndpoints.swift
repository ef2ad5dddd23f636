internal import Database
internal import ServiceKit
internal import Telemetry
internal import Transit
internal import Web

/// Consumers' keys, kept by admins (spec 0).
struct APIKeyEndpoints: Sendable {
    /// What keys begin with.
    static let prefix = "vpk_"

    let database: FeedDatabase
    let now: @Sendable () -> UnixSeconds

    /// Every endpoint, with who may call it.
    var all: [Endpoint] {
        [
            Endpoint(
                .post,
                "/api/v1/admin/api-keys",
                access: .admins,
                bodyLimit: VehicleEndpoints.bodyLimit,
                handler: create
            ),
            Endpoint(.get, "/api/v1/admin/api-keys", access: .admins, handler: list),
            Endpoint(.delete, "/api/v1/admin/api-keys/{id}", access: .admins, handler: deactivate),
        ]
    }

    private func create(_ request: HTTPRequest) async throws -> HTTPResponse {
        let body = try request.jsonObject()
        let name = try body.string("name") ?? ""
        try body.finish()
        guard !name.isEmpty else {
            throw HTTPError.badRequest("name is required", code: "name.required")
        }
        guard name.unicodeScalars.count <= APIKey.nameLimit else {
            throw HTTPError.badRequest(
                "name must be at most \(APIKey.nameLimit) characters",
                code: "name.too_long"
            )
        }
        guard name.isVisible else {
            throw HTTPError.badRequest(
                "the name has characters that are not seen",
                code: "name.invalid"
            )
        }
        let key = OpaqueKey(randomWithPrefix: Self.prefix)
        let now = now()
        let stored = try await database.transaction(for: request) {
            connection throws(DatabaseError) in
            try APIKeyStore.insert(name: name, digest: key.digest, at: now, on: connection)
        }
        var json = JSONWriter()
        json.beginObject()
        json.member("id", stored.id)
        json.member("name", stored.name)
        json.member("key", key.text.revealed())
        json.member("created_at", Timestamps.text(ofSeconds: stored.createdAt))
        json.endObject()
        return .json(bytes: json.bytes, status: 201).notStored()
    }

    private func list(_ request: HTTPRequest) async throws -> HTTPResponse {
        let keys = try await database.transaction(for: request) {
            connection throws(DatabaseError) in try APIKeyStore.list(on: connection)
        }
        var json = JSONWriter(capacity: 64 + 160 * keys.count)
        json.beginObject()
        json.key("api_keys")
        json.beginArray()
        for key in keys { key.write(to: &json) }
        json.endArray()
        json.endObject()
        return .json(bytes: json.bytes)
    }

    private func deactivate(_ request: HTTPRequest) async throws -> HTTPResponse {
        let notFound = HTTPError(
            status: 404,
            code: "api_key.not_found",
            message: "API key not found"
        )
        guard let id = Int64(request.parameter("id")) else { throw notFound }
        let now = now()
        let isThere = try await database.transaction(for: request) {
            connection throws(DatabaseError) in
            try APIKeyStore.deactivate(id, at: now, on: connection)
        }
        guard isThere else { throw notFound }
        return .empty()
    }
}
