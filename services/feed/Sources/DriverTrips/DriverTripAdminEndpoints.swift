internal import Database
internal import Telemetry
internal import Transit
internal import Web

/// Drivers' trips and their trails, for admins (spec 1.5).
struct DriverTripAdminEndpoints: Sendable {
    let database: FeedDatabase
    let now: @Sendable () -> UnixSeconds

    /// Every endpoint, with who may call it.
    var all: [Endpoint] {
        [
            Endpoint(.get, "/api/v1/admin/trips", access: .admins, handler: list),
            Endpoint(.get, "/api/v1/admin/trips/{id}", access: .admins, handler: show),
            Endpoint(.get, "/api/v1/admin/trips/{id}/locations", access: .admins, handler: trail),
        ]
    }

    private func list(_ request: HTTPRequest) async throws -> HTTPResponse {
        let filter = try DriverTripFilter(request.query)
        let found = try await database.transaction(for: request) {
            connection throws(DatabaseError) in
            try DriverTripStore.list(filter, on: connection)
        }
        let trips = found.prefix(filter.page.limit)
        var json = JSONWriter()
        json.beginObject()
        json.member("count", trips.count)
        json.member("has_more", found.count > trips.count)
        json.key("trips")
        json.beginArray()
        for trip in trips { trip.writeForAdmin(to: &json) }
        json.endArray()
        json.endObject()
        return .json(bytes: json.bytes)
    }

    private func show(_ request: HTTPRequest) async throws -> HTTPResponse {
        let id = try request.driverTripID
        let trip = try await database.transaction(for: request) {
            connection throws(DatabaseError) in
            try DriverTripStore.trip(id, on: connection)
        }
        guard let trip else { throw HTTPError.tripNotFound }
        var json = JSONWriter()
        trip.writeForAdmin(to: &json)
        return .json(bytes: json.bytes)
    }

    private func trail(_ request: HTTPRequest) async throws -> HTTPResponse {
        let id = try request.driverTripID
        let now = now()
        let found = try await database.transaction(for: request) {
            connection throws(DatabaseError) -> (DriverTrip, [LocationPoint])? in
            guard let trip = try DriverTripStore.trip(id, on: connection) else { return nil }
            return (trip, try HistoryStore.trail(of: trip, at: now, on: connection))
        }
        guard let (trip, points) = found else { throw HTTPError.tripNotFound }
        var json = JSONWriter(capacity: 512 + 180 * points.count)
        json.beginObject()
        json.key("trip")
        trip.writeForAdmin(to: &json)
        json.key("points")
        json.beginArray()
        for point in points {
            json.beginObject()
            point.writePlace(to: &json)
            json.member("reported_at", point.timestamp)
            json.member("received_at", Timestamps.text(ofSeconds: point.receivedAt))
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return .json(bytes: json.bytes)
    }
}

extension HTTPRequest {
    /// The trip of the path; what is no number was never a trip.
    fileprivate var driverTripID: Int64 {
        get throws(HTTPError) {
            guard let id = Int64(parameter("id")) else { throw .tripNotFound }
            return id
        }
    }
}

extension HTTPError {
    fileprivate static let tripNotFound = HTTPError(
        status: 404,
        code: "trip.not_found",
        message: "trip not found"
    )
}
