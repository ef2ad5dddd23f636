internal import Transit
internal import Web

/// The schedule as drivers' apps show it, to choose a route and a trip (spec 1.12).
struct CatalogueEndpoints: Sendable {
    /// The limits by which riders on a trip are judged; drivers' apps warn by the same.
    struct Thresholds: Sendable {
        /// Metres beside the shape.
        var shapeDistance: Double
        /// Seconds ahead of the schedule.
        var scheduleEarly: Int64
        /// Seconds behind the schedule.
        var scheduleLate: Int64
    }

    /// The schedule in use; nil while there is none.
    let schedule: @Sendable () -> ScheduleIndex?
    let thresholds: Thresholds
    let now: @Sendable () -> UnixSeconds

    /// Every endpoint, with who may call it.
    var all: [Endpoint] {
        [
            Endpoint(.get, "/api/v1/gtfs/routes", access: .staff, handler: routes),
            Endpoint(
                .get,
                "/api/v1/gtfs/routes/{route_id}/trips",
                access: .staff,
                handler: tripsOfRoute
            ),
            Endpoint(.get, "/api/v1/gtfs/trips/{trip_id}", access: .staff, handler: trip),
        ]
    }

    private func routes(_ request: HTTPRequest) async throws -> HTTPResponse {
        let index = try current()
        // Only what can be driven: a route of which a trip is known.
        let routes = index.routes.filter { !index.tripIDs(of: $0.id).isEmpty }
            .sorted(by: RouteOrder.precedes)
        var json = JSONWriter(capacity: 64 + 160 * routes.count)
        json.beginObject()
        json.key("routes")
        json.beginArray()
        for route in routes {
            json.beginObject()
            json.member("id", route.id.rawValue)
            CatalogueJSON.writeNames(of: route, to: &json)
            json.member("type", route.type)
            json.endObject()
        }
        json.endArray()
        json.endObject()
        return .json(bytes: json.bytes)
    }

    private func tripsOfRoute(_ request: HTTPRequest) async throws -> HTTPResponse {
        let index = try current()
        let date = try Self.date(request) ?? index.serviceDate(at: now())
        let routeID = RouteID(request.parameter("route_id"))
        let ids = index.tripIDs(of: routeID)
        guard !ids.isEmpty else {
            throw HTTPError(status: 404, code: "route.unknown", message: "unknown route")
        }
        let trips = ids.compactMap { index.trip($0) }.filter { index.isActive($0, on: date) }
        return .json(bytes: CatalogueJSON.trips(trips, of: routeID, on: date, in: index))
    }

    private func trip(_ request: HTTPRequest) async throws -> HTTPResponse {
        let index = try current()
        let wanted = try Self.date(request)
        guard let trip = index.trip(TripID(request.parameter("trip_id"))) else {
            throw HTTPError(status: 404, code: "trip.unknown", message: "unknown trip")
        }
        let date = wanted ?? index.defaultStartDate(for: trip, at: now())
        guard index.isActive(trip, on: date) else {
            throw HTTPError(
                status: 422,
                code: "trip.not_active",
                message: "trip not active on date"
            )
        }
        return .json(bytes: CatalogueJSON.trip(trip, on: date, in: index, thresholds))
    }

    private func current() throws(HTTPError) -> ScheduleIndex {
        guard let index = schedule() else {
            throw HTTPError(
                status: 503,
                code: "schedule.unavailable",
                message: "schedule data unavailable",
                retryAfter: 2
            )
        }
        return index
    }

    private static func date(_ request: HTTPRequest) throws(HTTPError) -> ServiceDate? {
        guard let text = request.query.first("date"), !text.isEmpty else { return nil }
        guard let date = ServiceDate(text) else {
            throw .badRequest("date must be YYYYMMDD", code: "date.invalid")
        }
        return date
    }
}
