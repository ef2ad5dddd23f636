internal import Database
internal import Transit

/// The statements that read stored reports; each runs inside the transaction that its caller opened.
enum HistoryStore {
    /// Points of a trip's trail, at most (spec 1.5).
    static let trailLimit = 10_000

    /// Reports of a vehicle, the newest first.
    ///
    /// - Parameters:
    ///   - vehicleID: The vehicle.
    ///   - span: First and last time as reported, both included.
    ///   - limit: At most how many.
    ///   - connection: In a transaction.
    /// - Returns: The points; nil when there is no such vehicle.
    /// - Throws: ``DatabaseError`` when a statement fails.
    static func points(
        of vehicleID: VehicleID,
        in span: ClosedRange<UnixSeconds>,
        limit: Int,
        on connection: Connection
    ) throws(DatabaseError) -> [LocationPoint]? {
        guard try VehicleStore.vehicle(vehicleID, on: connection) != nil else { return nil }
        return try points(
            connection.query(
                """
                SELECT \(LocationPoint.columns) FROM feed.location_points
                WHERE vehicle_id = $1 AND timestamp BETWEEN $2 AND $3
                ORDER BY timestamp DESC LIMIT $4
                """,
                [
                    .text(vehicleID.rawValue), .timestamp(span.lowerBound),
                    .timestamp(span.upperBound), .int(limit),
                ]
            )
        )
    }

    /// What a driver reported on a trip, the oldest first.
    ///
    /// A trip does not name its points: they are those that the driver reported of the vehicle and
    /// that were received during the trip, or measured during it and sent later. The bounds on the
    /// time as reported let whole days be left out.
    ///
    /// - Parameters:
    ///   - trip: The trip.
    ///   - now: The application clock, where an active trip ends for now.
    ///   - connection: In a transaction.
    /// - Returns: At most ``trailLimit`` points.
    /// - Throws: ``DatabaseError`` when the statement fails.
    static func trail(
        of trip: DriverTrip,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> [LocationPoint] {
        let end = max(trip.startedAt, trip.endedAt ?? now)
        return try points(
            connection.query(
                """
                SELECT \(LocationPoint.columns) FROM feed.location_points
                WHERE vehicle_id = $1 AND driver_id = $2 AND timestamp BETWEEN $3 AND $4
                    AND (received_at BETWEEN $5 AND $6 OR timestamp BETWEEN $5 AND $6)
                ORDER BY timestamp LIMIT $7
                """,
                [
                    .text(trip.vehicleID.rawValue), .uuid(trip.userID),
                    .timestamp(trip.startedAt - DriverReport.longestBatchAge),
                    .timestamp(end + DriverReport.clockTolerance),
                    .timestamp(trip.startedAt), .timestamp(end), .int(trailLimit),
                ]
            )
        )
    }

    private static func points(_ rows: Rows) throws(DatabaseError) -> [LocationPoint] {
        var points: [LocationPoint] = []
        points.reserveCapacity(rows.count)
        for row in rows { points.append(try LocationPoint(row)) }
        return points
    }
}
