internal import Database
internal import Transit
internal import Web

/// The start and the end of a driver's trip (spec 1.5).
struct DriverTripEndpoints: Sendable {
    let database: FeedDatabase
    let accounts: AccountDirectory
    let now: @Sendable () -> UnixSeconds

    /// Every endpoint, with who may call it.
    var all: [Endpoint] {
        [
            Endpoint(
                .post,
                "/api/v1/trips/start",
                access: .staff,
                bodyLimit: VehicleEndpoints.bodyLimit,
                handler: start
            ),
            Endpoint(
                .post,
                "/api/v1/trips/end",
                access: .staff,
                bodyLimit: VehicleEndpoints.bodyLimit,
                handler: end
            ),
        ]
    }

    private func start(_ request: HTTPRequest) async throws -> HTTPResponse {
        let bytes = try request.jsonBytes()
        let userID = try request.accountID
        let body = try StartTripBody(try JSONObject(parsing: bytes))
        let now = now()
        // Who drives is known by the token; the name is for the admin's lists and may come later.
        var name: String?
        if case .known(let known) = await accounts.lookUp(userID) { name = known }
        let trip = try await database.transaction(for: request) {
            [name] connection throws(DatabaseError) in
            try DriverTripStore.start(body, by: userID, named: name, at: now, on: connection)
        }.get()
        var json = JSONWriter()
        trip.writeForDriver(to: &json)
        return .json(bytes: json.bytes, status: 201)
    }

    private func end(_ request: HTTPRequest) async throws -> HTTPResponse {
        let bytes = try request.jsonBytes()
        let userID = try request.accountID
        let body = try JSONObject(parsing: bytes)
        let tripID = try body.int64("trip_id") ?? 0
        try body.finish()
        guard tripID > 0 else {
            throw HTTPError.badRequest(
                "trip_id is required and must be positive",
                code: "trip_id.required"
            )
        }
        let now = now()
        let isEnded = try await database.transaction(for: request) {
            connection throws(DatabaseError) in
            try DriverTripStore.end(tripID, by: userID, at: now, on: connection)
        }
        guard isEnded else {
            throw HTTPError(
                status: 404,
                code: "driver_trip.not_active",
                message: "active trip not found"
            )
        }
        var json = JSONWriter()
        json.beginObject()
        json.member("status", "trip ended")
        json.endObject()
        return .json(bytes: json.bytes)
    }
}
