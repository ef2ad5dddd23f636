internal import Database
internal import Transit
internal import Web

/// Vehicles over HTTP: admins keep them, drivers see their own (spec 1.4).
struct VehicleEndpoints: Sendable {
    /// Bytes of a body (spec 1.1).
    static let bodyLimit = 1024

    let database: FeedDatabase
    let now: @Sendable () -> UnixSeconds

    /// Every endpoint, with who may call it.
    var all: [Endpoint] {
        [
            Endpoint(.get, "/api/v1/admin/vehicles", access: .admins, handler: list),
            Endpoint(
                .post,
                "/api/v1/admin/vehicles",
                access: .admins,
                bodyLimit: Self.bodyLimit,
                handler: upsert
            ),
            Endpoint(.get, "/api/v1/admin/vehicles/{id}", access: .admins, handler: show),
            Endpoint(.delete, "/api/v1/admin/vehicles/{id}", access: .admins, handler: deactivate),
            Endpoint(.get, "/api/v1/vehicles", access: .staff, handler: listOwn),
        ]
    }

    private func list(_ request: HTTPRequest) async throws -> HTTPResponse {
        let page = try Page(request.query)
        let isActive: Bool? =
            switch request.query.first("active") ?? "" {
            case "", "true": true
            case "false": false
            case "all": nil
            default:
                throw HTTPError.badRequest(
                    "active must be true, false or all",
                    code: "active.invalid"
                )
            }
        let vehicles = try await database.transaction(for: request) {
            connection throws(DatabaseError) in
            try VehicleStore.list(isActive: isActive, page, on: connection)
        }
        return Self.answer(vehicles)
    }

    private func listOwn(_ request: HTTPRequest) async throws -> HTTPResponse {
        let userID = try request.accountID
        let vehicles = try await database.transaction(for: request) {
            connection throws(DatabaseError) in
            try VehicleStore.assigned(to: userID, on: connection)
        }
        return Self.answer(vehicles)
    }

    private func show(_ request: HTTPRequest) async throws -> HTTPResponse {
        let id = try request.vehicleID()
        let vehicle = try await database.transaction(for: request) {
            connection throws(DatabaseError) in
            try VehicleStore.vehicle(id, on: connection)
        }
        guard let vehicle else { throw HTTPError.vehicleNotFound }
        return Self.answer(vehicle)
    }

    private func upsert(_ request: HTTPRequest) async throws -> HTTPResponse {
        let body = try VehicleBody(try request.jsonObject())
        let now = now()
        let vehicle = try await database.transaction(for: request) {
            connection throws(DatabaseError) in
            try VehicleStore.upsert(body, at: now, on: connection)
        }
        return Self.answer(vehicle)
    }

    private func deactivate(_ request: HTTPRequest) async throws -> HTTPResponse {
        let id = try request.vehicleID()
        let now = now()
        let isThere = try await database.transaction(for: request) {
            connection throws(DatabaseError) in
            try VehicleStore.deactivate(id, at: now, on: connection)
        }
        guard isThere else { throw HTTPError.vehicleNotFound }
        return .empty()
    }

    private static func answer(_ vehicle: Vehicle) -> HTTPResponse {
        var json = JSONWriter()
        vehicle.write(to: &json)
        return .json(bytes: json.bytes)
    }

    private static func answer(_ vehicles: [Vehicle]) -> HTTPResponse {
        var json = JSONWriter(capacity: 64 + 160 * vehicles.count)
        json.beginArray()
        for vehicle in vehicles { vehicle.write(to: &json) }
        json.endArray()
        return .json(bytes: json.bytes)
    }
}

extension HTTPRequest {
    /// The vehicle of the path.
    ///
    /// - Throws: 400 for what cannot be a vehicle's id.
    func vehicleID(_ parameter: String = "id") throws(HTTPError) -> VehicleID {
        try VehicleID(checking: self.parameter(parameter), named: "vehicle id")
    }
}

extension HTTPError {
    static let vehicleNotFound = HTTPError(
        status: 404,
        code: "vehicle.not_found",
        message: "vehicle not found"
    )
}
