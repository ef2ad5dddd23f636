internal import Database
internal import Transit

/// The statements about vehicles; each runs inside the transaction that its caller opened.
enum VehicleStore {
    /// A page of vehicles, the newest first.
    ///
    /// - Parameters:
    ///   - isActive: Active ones or those that were made inactive; nil for both.
    ///   - page: Which part.
    ///   - connection: In a transaction.
    /// - Returns: The vehicles.
    /// - Throws: ``DatabaseError`` when the statement fails.
    static func list(
        isActive: Bool?,
        _ page: Page,
        on connection: Connection
    ) throws(DatabaseError) -> [Vehicle] {
        try vehicles(
            connection.query(
                """
                SELECT \(Vehicle.columns) FROM feed.vehicles v
                WHERE $1::boolean IS NULL OR v.active = $1
                ORDER BY v.created_at DESC, v.id LIMIT $2 OFFSET $3
                """,
                [SQLValue(isActive), .int(page.limit), .int(page.offset)]
            )
        )
    }

    /// The active vehicles that an account is assigned to, by id.
    static func assigned(
        to userID: UniqueID,
        on connection: Connection
    ) throws(DatabaseError) -> [Vehicle] {
        try vehicles(
            connection.query(
                """
                SELECT \(Vehicle.columns) FROM feed.vehicles v
                JOIN feed.assignments a ON a.vehicle_id = v.id
                WHERE a.user_id = $1 AND v.active ORDER BY v.id
                """,
                [.uuid(userID)]
            )
        )
    }

    /// One vehicle, active or not.
    static func vehicle(
        _ id: VehicleID,
        on connection: Connection
    ) throws(DatabaseError) -> Vehicle? {
        try vehicles(
            connection.query(
                "SELECT \(Vehicle.columns) FROM feed.vehicles v WHERE v.id = $1",
                [.text(id.rawValue)]
            )
        ).first
    }

    /// Makes a vehicle or renames it; either way it is active then.
    static func upsert(
        _ body: VehicleBody,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> Vehicle {
        try Vehicle(
            connection.query(
                """
                INSERT INTO feed.vehicles AS v (id, label, agency_tag, active, created_at, updated_at)
                VALUES ($1, $2, $3, true, $4, $4)
                ON CONFLICT (id) DO UPDATE SET label = excluded.label,
                    agency_tag = excluded.agency_tag, active = true, updated_at = excluded.updated_at
                RETURNING \(Vehicle.columns)
                """,
                [
                    .text(body.id.rawValue), .text(body.label), .text(body.agencyTag),
                    .timestamp(now),
                ]
            ).one()
        )
    }

    /// Makes a vehicle inactive; once it is, nothing changes.
    ///
    /// - Returns: false when there is no such vehicle.
    static func deactivate(
        _ id: VehicleID,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> Bool {
        try connection.execute(
            """
            UPDATE feed.vehicles SET active = false,
                updated_at = CASE WHEN active THEN $2 ELSE updated_at END
            WHERE id = $1
            """,
            [.text(id.rawValue), .timestamp(now)]
        ) == 1
    }

    private static func vehicles(_ rows: Rows) throws(DatabaseError) -> [Vehicle] {
        var vehicles: [Vehicle] = []
        vehicles.reserveCapacity(rows.count)
        for row in rows { vehicles.append(try Vehicle(row)) }
        return vehicles
    }
}
