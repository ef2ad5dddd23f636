internal import Database
internal import Telemetry
internal import Transit
internal import Web

/// A driver's shift on a vehicle, from start to end (spec 1.5); not to be mixed up with a GTFS trip.
struct DriverTrip: Sendable {
    let id: Int64
    let userID: UniqueID
    let vehicleID: VehicleID
    let vehicleLabel: String
    /// As auth last said; nil until it did.
    let driverName: String?
    let routeID: RouteID
    let gtfsTripID: TripID
    let startedAt: UnixSeconds
    /// nil while it is active.
    let endedAt: UnixSeconds?

    /// What ``init(_:)`` reads.
    static let selection = """
        SELECT t.id, t.user_id, t.vehicle_id, v.label, d.name, t.route_id, t.gtfs_trip_id,
            t.started_at, t.ended_at
        FROM feed.driver_trips t JOIN feed.vehicles v ON v.id = t.vehicle_id
        LEFT JOIN feed.drivers d ON d.id = t.user_id
        """

    /// Reads a row of ``selection``.
    init(_ row: Row) throws(DatabaseError) {
        id = try row.int64("id")
        userID = try row.uuid("user_id")
        vehicleID = VehicleID(try row.text("vehicle_id"))
        vehicleLabel = try row.text("label")
        driverName = try row.optionalText("name")
        routeID = RouteID(try row.text("route_id"))
        gtfsTripID = TripID(try row.text("gtfs_trip_id"))
        startedAt = try row.timestamp("started_at")
        endedAt = try row.optionalTimestamp("ended_at")
    }

    private var status: String { endedAt == nil ? "active" : "completed" }

    /// Writes the trip as its driver sees it.
    func writeForDriver(to json: inout JSONWriter) {
        json.beginObject()
        json.member("id", id)
        json.member("user_id", userID.description)
        json.member("vehicle_id", vehicleID.rawValue)
        writeRest(to: &json)
    }

    /// Writes the trip as admins see it.
    func writeForAdmin(to json: inout JSONWriter) {
        json.beginObject()
        json.member("id", id)
        json.member("vehicle_id", vehicleID.rawValue)
        json.member("vehicle_label", vehicleLabel)
        json.member("user_id", userID.description)
        json.member("driver_name", driverName)
        writeRest(to: &json)
    }

    private func writeRest(to json: inout JSONWriter) {
        json.member("route_id", routeID.rawValue)
        json.member("gtfs_trip_id", gtfsTripID.rawValue)
        json.member("start_time", Timestamps.text(ofSeconds: startedAt))
        if let endedAt { json.member("end_time", Timestamps.text(ofSeconds: endedAt)) }
        json.member("status", status)
        json.endObject()
    }
}

/// What a driver says at the start of a trip.
struct StartTripBody: Sendable {
    let vehicleID: VehicleID
    let routeID: RouteID
    let gtfsTripID: TripID

    /// Reads and checks a body, in the order of spec 1.5.
    init(_ body: JSONObject) throws(HTTPError) {
        let vehicle = try body.string("vehicle_id") ?? ""
        let route = try body.string("route_id") ?? ""
        let trip = try body.string("gtfs_trip_id") ?? ""
        try body.finish()
        vehicleID = try VehicleID(checking: vehicle, named: "vehicle_id")
        routeID = try RouteID(bounded: route, named: "route_id")
        gtfsTripID = try TripID(bounded: trip, named: "gtfs_trip_id")
    }
}

extension Identifier {
    /// Characters of a GTFS id in drivers' bodies (spec 1.5, 1.6).
    static var lengthLimit: Int { 100 }

    /// Checks the length of an id that may be empty.
    ///
    /// - Throws: 400 `… must be at most 100 characters`.
    init(bounded text: String, named field: String) throws(HTTPError) {
        guard text.unicodeScalars.count <= Self.lengthLimit else {
            throw .badRequest(
                "\(field) must be at most \(Self.lengthLimit) characters",
                code: "\(field).too_long"
            )
        }
        self.init(text)
    }
}
