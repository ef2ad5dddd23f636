internal import Database
internal import Telemetry
internal import Transit
internal import Web

/// Who may drive what, kept by admins (spec 1.4).
struct AssignmentEndpoints: Sendable {
    let database: FeedDatabase
    let accounts: AccountDirectory
    let now: @Sendable () -> UnixSeconds

    /// Every endpoint, with who may call it.
    var all: [Endpoint] {
        [
            Endpoint(
                .post,
                "/api/v1/admin/assignments",
                access: .admins,
                bodyLimit: VehicleEndpoints.bodyLimit,
                handler: assign
            ),
            Endpoint(
                .delete,
                "/api/v1/admin/users/{userID}/vehicles/{vehicleID}",
                access: .admins,
                handler: remove
            ),
            Endpoint(
                .get,
                "/api/v1/admin/users/{id}/vehicles",
                access: .admins,
                handler: vehiclesOfUser
            ),
            Endpoint(
                .get,
                "/api/v1/admin/vehicles/{id}/users",
                access: .admins,
                handler: usersOfVehicle
            ),
        ]
    }

    private func assign(_ request: HTTPRequest) async throws -> HTTPResponse {
        let body = try request.jsonObject()
        let user = try body.string("user_id") ?? ""
        let vehicle = try body.string("vehicle_id") ?? ""
        try body.finish()
        guard let userID = UniqueID(user) else {
            throw HTTPError.badRequest("user_id must be a UUID", code: "user_id.invalid")
        }
        let vehicleID = try VehicleID(checking: vehicle, named: "vehicle_id")
        let name: String
        switch await accounts.lookUp(userID) {
        case .known(let known): name = known
        case .unknown: throw HTTPError.userNotFound
        case .unavailable: throw HTTPError.accountsUnavailable
        }
        let assignment = Assignment(userID: userID, vehicleID: vehicleID, createdAt: now())
        try await database.transaction(for: request) { connection throws(DatabaseError) in
            guard try VehicleStore.vehicle(vehicleID, on: connection) != nil else {
                return Result<Void, HTTPError>.failure(.vehicleNotFound)
            }
            guard try DriverStore.enter(userID, named: name, on: connection) else {
                return .failure(.userNotFound)
            }
            guard try assignment.insert(on: connection) else { return .failure(.alreadyAssigned) }
            return .success(())
        }.get()
        var json = JSONWriter()
        assignment.write(to: &json)
        return .json(bytes: json.bytes, status: 201)
    }

    private func remove(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard let userID = UniqueID(request.parameter("userID")) else {
            throw HTTPError.assignmentNotFound
        }
        let vehicleID = try request.vehicleID("vehicleID")
        let wasThere = try await database.transaction(for: request) {
            connection throws(DatabaseError) in
            try connection.execute(
                "DELETE FROM feed.assignments WHERE user_id = $1 AND vehicle_id = $2",
                [.uuid(userID), .text(vehicleID.rawValue)]
            ) == 1
        }
        guard wasThere else { throw HTTPError.assignmentNotFound }
        var json = JSONWriter()
        json.beginObject()
        json.member("status", "assignment removed")
        json.endObject()
        return .json(bytes: json.bytes)
    }

    private func vehiclesOfUser(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard let userID = UniqueID(request.parameter("id")) else { throw HTTPError.userNotFound }
        return Self.answer(
            try await database.transaction(for: request) { connection throws(DatabaseError) in
                try Assignment.list(
                    connection.query(
                        """
                        SELECT user_id, vehicle_id, created_at FROM feed.assignments
                        WHERE user_id = $1 ORDER BY vehicle_id
                        """,
                        [.uuid(userID)]
                    )
                )
            }
        )
    }

    private func usersOfVehicle(_ request: HTTPRequest) async throws -> HTTPResponse {
        let vehicleID = try request.vehicleID()
        return Self.answer(
            try await database.transaction(for: request) { connection throws(DatabaseError) in
                try Assignment.list(
                    connection.query(
                        """
                        SELECT user_id, vehicle_id, created_at FROM feed.assignments
                        WHERE vehicle_id = $1 ORDER BY created_at, user_id
                        """,
                        [.text(vehicleID.rawValue)]
                    )
                )
            }
        )
    }

    private static func answer(_ assignments: [Assignment]) -> HTTPResponse {
        var json = JSONWriter()
        json.beginArray()
        for assignment in assignments { assignment.write(to: &json) }
        json.endArray()
        return .json(bytes: json.bytes)
    }
}

/// That an account may drive a vehicle.
private struct Assignment: Sendable {
    let userID: UniqueID
    let vehicleID: VehicleID
    let createdAt: UnixSeconds

    static func list(_ rows: Rows) throws(DatabaseError) -> [Assignment] {
        var assignments: [Assignment] = []
        for row in rows {
            assignments.append(
                Assignment(
                    userID: try row.uuid("user_id"),
                    vehicleID: VehicleID(try row.text("vehicle_id")),
                    createdAt: try row.timestamp("created_at")
                )
            )
        }
        return assignments
    }

    /// Files it.
    ///
    /// - Returns: false when it was there already.
    func insert(on connection: Connection) throws(DatabaseError) -> Bool {
        try connection.execute(
            """
            INSERT INTO feed.assignments (user_id, vehicle_id, created_at) VALUES ($1, $2, $3)
            ON CONFLICT DO NOTHING
            """,
            [.uuid(userID), .text(vehicleID.rawValue), .timestamp(createdAt)]
        ) == 1
    }

    func write(to json: inout JSONWriter) {
        json.beginObject()
        json.member("user_id", userID.description)
        json.member("vehicle_id", vehicleID.rawValue)
        json.member("created_at", Timestamps.text(ofSeconds: createdAt))
        json.endObject()
    }
}

extension HTTPError {
    fileprivate static let userNotFound = HTTPError(
        status: 404,
        code: "user.not_found",
        message: "user not found"
    )
    fileprivate static let assignmentNotFound = HTTPError(
        status: 404,
        code: "assignment.not_found",
        message: "assignment not found"
    )
    /// 503 while auth cannot say whether a user exists.
    fileprivate static let accountsUnavailable = HTTPError(
        status: 503,
        code: "accounts.unavailable",
        message: "accounts cannot be looked up now, try again",
        retryAfter: 2
    )
    fileprivate static let alreadyAssigned = HTTPError(
        status: 409,
        code: "assignment.exists",
        message: "vehicle is already assigned to this user"
    )
}
