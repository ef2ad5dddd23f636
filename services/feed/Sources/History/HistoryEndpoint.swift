internal import Database
internal import Telemetry
internal import Transit
internal import Web

/// `GET /api/v1/admin/vehicles/{vehicleID}/locations`: where a vehicle was (spec 1.11).
struct HistoryEndpoint: Sendable {
    let database: FeedDatabase
    let now: @Sendable () -> UnixSeconds

    var endpoint: Endpoint {
        Endpoint(
            .get,
            "/api/v1/admin/vehicles/{vehicleID}/locations",
            access: .admins,
            handler: history
        )
    }

    private func history(_ request: HTTPRequest) async throws -> HTTPResponse {
        let vehicleID = try VehicleID(
            checking: request.parameter("vehicleID"),
            named: "vehicle_id"
        )
        let query = try HistoryQuery(request.query, now: now())
        let found = try await database.transaction(for: request) {
            connection throws(DatabaseError) in
            try HistoryStore.points(
                of: vehicleID,
                in: query.span,
                limit: query.limit + 1,
                on: connection
            )
        }
        guard let found else { throw HTTPError.vehicleNotFound }
        let points = found.prefix(query.limit)
        switch query.form {
        case .json:
            return Self.json(vehicleID, points, hasMore: found.count > points.count)
        case .csv:
            return HTTPResponse(
                headers: [
                    ("Content-Type", "text/csv"),
                    (
                        "Content-Disposition",
                        "attachment; filename=\"\(vehicleID)_locations.csv\""
                    ),
                ],
                body: .bytes(HistoryCSV.bytes(of: points))
            )
        }
    }

    private static func json(
        _ vehicleID: VehicleID,
        _ points: ArraySlice<LocationPoint>,
        hasMore: Bool
    ) -> HTTPResponse {
        var json = JSONWriter(capacity: 128 + 200 * points.count)
        json.beginObject()
        json.member("vehicle_id", vehicleID.rawValue)
        json.member("count", points.count)
        json.member("has_more", hasMore)
        json.key("locations")
        json.beginArray()
        for point in points {
            json.beginObject()
            point.writePlace(to: &json)
            json.member("timestamp", point.timestamp)
            json.member("trip_id", point.tripID.rawValue)
            json.member("received_at", Timestamps.text(ofSeconds: point.receivedAt))
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return .json(bytes: json.bytes)
    }
}
