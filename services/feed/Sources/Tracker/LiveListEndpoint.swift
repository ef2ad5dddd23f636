internal import Database
internal import Telemetry
internal import Transit
internal import Web

/// `GET /api/v1/admin/vehicles/live`: who reports now (spec 1.4).
struct LiveListEndpoint: Sendable {
    let database: FeedDatabase
    let tracker: Tracker
    let now: @Sendable () -> UnixSeconds

    var endpoint: Endpoint {
        Endpoint(.get, "/api/v1/admin/vehicles/live", access: .admins, handler: list)
    }

    /// What the rows say of a live vehicle.
    private struct Context: Sendable {
        let label: String
        let driverName: String?
        let tripID: Int64?
        let routeID: String?
    }

    private func list(_ request: HTTPRequest) async throws -> HTTPResponse {
        let live = tracker.live(at: now())
        let suppressed = DriverArbitration(live).suppressed
        let contexts = try await database.transaction(for: request) {
            connection throws(DatabaseError) in try Self.contexts(of: live, on: connection)
        }
        var json = JSONWriter(capacity: 64 + 320 * live.count)
        json.beginObject()
        json.member("count", live.count)
        json.key("vehicles")
        json.beginArray()
        for vehicle in live {
            Self.write(
                vehicle,
                contexts[vehicle.vehicleID],
                isSuppressed: suppressed.contains(vehicle.vehicleID),
                to: &json
            )
        }
        json.endArray()
        json.endObject()
        return .json(bytes: json.bytes)
    }

    private static func write(
        _ vehicle: LiveVehicle,
        _ context: Context?,
        isSuppressed: Bool,
        to json: inout JSONWriter
    ) {
        let id = vehicle.vehicleID.rawValue
        let label = context?.label ?? ""
        let reportedRoute = vehicle.routeID.isEmpty ? nil : vehicle.routeID.rawValue
        json.beginObject()
        json.member("vehicle_id", id)
        json.member("label", label.isEmpty ? id : label)
        json.member("latitude", vehicle.latitude)
        json.member("longitude", vehicle.longitude)
        json.member("bearing", vehicle.bearing)
        json.member("speed", vehicle.speed)
        json.member("gtfs_trip_id", vehicle.tripID.rawValue)
        json.member("trip_db_id", context?.tripID)
        json.member("route_id", context?.routeID ?? reportedRoute)
        json.member("driver_name", context?.driverName)
        json.member("reported_at", vehicle.timestamp)
        json.member("updated_at", Timestamps.text(ofSeconds: vehicle.receivedAt))
        if isSuppressed { json.member("suppressed", true) }
        json.endObject()
    }

    /// Labels, drivers' names and active trips; of two trips on one vehicle the reporting driver's.
    private static func contexts(
        of live: [LiveVehicle],
        on connection: Connection
    ) throws(DatabaseError) -> [VehicleID: Context] {
        let rows = try connection.query(
            """
            SELECT v.id, v.label, d.name, t.id AS trip_id, t.route_id
            FROM unnest($1::text[], $2::uuid[]) AS n (vehicle_id, driver_id)
            JOIN feed.vehicles v ON v.id = n.vehicle_id
            LEFT JOIN feed.drivers d ON d.id = n.driver_id
            LEFT JOIN LATERAL (
                SELECT a.id, a.route_id FROM feed.driver_trips a
                WHERE a.vehicle_id = n.vehicle_id AND a.status = 'active'
                ORDER BY a.user_id = n.driver_id DESC, a.started_at DESC LIMIT 1
            ) t ON true
            """,
            [
                .textArray(live.map(\.vehicleID.rawValue)), .uuidArray(live.map(\.driverID)),
            ]
        )
        var contexts: [VehicleID: Context] = [:]
        for row in rows {
            contexts[VehicleID(try row.text("id"))] = Context(
                label: try row.text("label"),
                driverName: try row.optionalText("name"),
                tripID: try row.optionalInt64("trip_id"),
                routeID: try row.optionalText("route_id")
            )
        }
        return contexts
    }
}
