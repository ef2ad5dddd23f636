internal import Database
internal import Messages
internal import Transit

/// The newest report of a vehicle, as its row has it.
struct LiveVehicle: Sendable, Equatable {
    var vehicleID: VehicleID
    /// Empty when it was not reported, as the route.
    var tripID: TripID
    var routeID: RouteID
    var startDate: ServiceDate?
    /// WGS-84 degrees.
    var latitude, longitude: Double
    /// Degrees clockwise from north; nil when it was not reported.
    var bearing: Double?
    /// Metres per second; nil when it was not reported.
    var speed: Double?
    /// As the driver's clock said, POSIX seconds.
    var timestamp: UnixSeconds
    /// The same, but never ahead of the receipt: what is published and what ages.
    var reportedAt: UnixSeconds
    var receivedAt: UnixSeconds
    /// nil for one who was erased since.
    var driverID: UniqueID?
    /// Whether the driver was assigned to the vehicle at the report.
    var isAssigned: Bool
    /// Rises with each report of the vehicle.
    var revision: Int64

    /// The columns that ``list(_:)`` reads.
    static let columns = """
        vehicle_id, trip_id, route_id, start_date, latitude, longitude, bearing, speed, timestamp, \
        reported_at, received_at, driver_id, assigned, revision
        """

    /// Reads rows of ``columns``.
    static func list(_ rows: Rows) throws(DatabaseError) -> [LiveVehicle] {
        var vehicles: [LiveVehicle] = []
        vehicles.reserveCapacity(rows.count)
        for row in rows {
            vehicles.append(
                LiveVehicle(
                    vehicleID: VehicleID(try row.text(0)),
                    tripID: TripID(try row.text(1)),
                    routeID: RouteID(try row.text(2)),
                    startDate: ServiceDate(try row.text(3)),
                    latitude: try row.double(4),
                    longitude: try row.double(5),
                    bearing: try row.optionalDouble(6),
                    speed: try row.optionalDouble(7),
                    timestamp: try row.timestamp(8),
                    reportedAt: try row.timestamp(9),
                    receivedAt: try row.timestamp(10),
                    driverID: try row.optionalUUID(11),
                    isAssigned: try row.bool(12),
                    revision: try row.int64(13)
                )
            )
        }
        return vehicles
    }

    /// The report as verifiers take it; nil when it names no trip.
    var trusted: TrustedVehicle? {
        guard !tripID.isEmpty else { return nil }
        return TrustedVehicle(
            tripID: tripID,
            startDate: startDate,
            vehicleID: vehicleID,
            latitude: latitude,
            longitude: longitude,
            timestamp: reportedAt,
            source: .driver
        )
    }
}
