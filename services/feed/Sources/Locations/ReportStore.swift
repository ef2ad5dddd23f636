internal import Database
internal import Transit

/// The statements of ``ReportCommit``, in the order in which it runs them.
enum ReportStore {
    /// Writes what was charged; the rows are locked already.
    static func save(
        _ charges: [DriverCharge],
        on connection: Connection
    ) throws(DatabaseError) {
        guard !charges.isEmpty else { return }
        try connection.execute(
            """
            UPDATE feed.drivers d SET reported_at = n.reported, batched_at = n.batched,
                skewed_reports = d.skewed_reports + n.skewed
            FROM unnest($1::uuid[], $2::timestamptz[], $3::timestamptz[], $4::bigint[])
                AS n (id, reported, batched, skewed)
            WHERE d.id = n.id
            """,
            [
                .uuidArray(charges.map(\.driverID)), .timestampArray(charges.map(\.lastReport)),
                .timestampArray(charges.map(\.lastBatch)), .intArray(charges.map(\.skewed)),
            ]
        )
    }

    /// Makes vehicles that nobody had named yet (spec 1.6).
    static func makeVehicles(
        of points: [ReportCommit.Point],
        on connection: Connection
    ) throws(DatabaseError) {
        guard !points.isEmpty else { return }
        var receipts: [VehicleID: UnixSeconds] = [:]
        for point in points {
            receipts[point.key.vehicleID] = receipts[point.key.vehicleID] ?? point.receivedAt
        }
        let vehicles = receipts.sorted { $0.key < $1.key }
        try connection.execute(
            """
            INSERT INTO feed.vehicles (id, created_at, updated_at)
            SELECT id, received, received
            FROM unnest($1::text[], $2::timestamptz[]) AS n (id, received)
            ON CONFLICT DO NOTHING
            """,
            [
                .textArray(vehicles.map(\.key.rawValue)), .timestampArray(vehicles.map(\.value)),
            ]
        )
    }

    /// Files points in the order of their keys; one that is there already stays as it is.
    ///
    /// - Returns: The keys of those that are new.
    static func insert(
        _ points: [ReportCommit.Point],
        on connection: Connection
    ) throws(DatabaseError) -> Set<ReportCommit.Key> {
        guard !points.isEmpty else { return [] }
        let reports = points.map(\.report)
        let rows = try connection.query(
            """
            INSERT INTO feed.location_points (vehicle_id, timestamp, trip_id, route_id, start_date,
                latitude, longitude, bearing, speed, accuracy, driver_id, received_at)
            SELECT * FROM unnest($1::text[], $2::timestamptz[], $3::text[], $4::text[], $5::text[],
                $6::float8[], $7::float8[], $8::float8[], $9::float8[], $10::float8[],
                $11::uuid[], $12::timestamptz[])
            ON CONFLICT DO NOTHING RETURNING vehicle_id, timestamp
            """,
            [
                .textArray(reports.map(\.vehicleID.rawValue)),
                .timestampArray(reports.map(\.timestamp)),
                .textArray(reports.map(\.tripID.rawValue)),
                .textArray(reports.map(\.routeID.rawValue)),
                .textArray(reports.map { $0.startDate?.description ?? "" }),
                .doubleArray(reports.map(\.latitude)), .doubleArray(reports.map(\.longitude)),
                .doubleArray(reports.map(\.bearing)), .doubleArray(reports.map(\.speed)),
                .doubleArray(reports.map(\.accuracy)), .uuidArray(points.map(\.driverID)),
                .timestampArray(points.map(\.receivedAt)),
            ]
        )
        var inserted: Set<ReportCommit.Key> = []
        inserted.reserveCapacity(rows.count)
        for row in rows {
            inserted.insert(
                ReportCommit.Key(
                    vehicleID: VehicleID(try row.text(0)),
                    timestamp: try row.timestamp(1)
                )
            )
        }
        return inserted
    }

    /// Makes points the live rows of their vehicles, unless a newer one is there.
    ///
    /// Newer is what was reported later by times that are not ahead of the receipt, so that a driver whose
    /// clock runs ahead keeps the next one out no longer than a second.
    ///
    /// - Parameters:
    ///   - points: One of each vehicle, by vehicle.
    ///   - connection: In the transaction that filed the points.
    /// - Returns: The rows that changed; other replicas are told of them at the commit.
    /// - Throws: ``DatabaseError`` when a statement fails.
    static func makeLive(
        _ points: [ReportCommit.Point],
        on connection: Connection
    ) throws(DatabaseError) -> [LiveVehicle] {
        guard !points.isEmpty else { return [] }
        let reports = points.map(\.report)
        let rows = try connection.query(
            """
            INSERT INTO feed.live_vehicles AS l (vehicle_id, trip_id, route_id, start_date,
                latitude, longitude, bearing, speed, timestamp, reported_at, received_at,
                driver_id, assigned, transaction)
            SELECT n.*, EXISTS (SELECT FROM feed.assignments a
                    WHERE a.user_id = n.driver_id AND a.vehicle_id = n.vehicle_id),
                pg_current_xact_id()
            FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::float8[],
                $6::float8[], $7::float8[], $8::float8[], $9::timestamptz[], $10::timestamptz[],
                $11::timestamptz[], $12::uuid[])
                AS n (vehicle_id, trip_id, route_id, start_date, latitude, longitude, bearing,
                    speed, timestamp, reported_at, received_at, driver_id)
            ON CONFLICT (vehicle_id) DO UPDATE SET trip_id = excluded.trip_id,
                route_id = excluded.route_id, start_date = excluded.start_date,
                latitude = excluded.latitude, longitude = excluded.longitude,
                bearing = excluded.bearing, speed = excluded.speed,
                timestamp = excluded.timestamp, reported_at = excluded.reported_at,
                received_at = excluded.received_at, driver_id = excluded.driver_id,
                assigned = excluded.assigned, revision = l.revision + 1,
                transaction = excluded.transaction
            WHERE (excluded.reported_at, excluded.timestamp) > (l.reported_at, l.timestamp)
            RETURNING \(LiveVehicle.columns)
            """,
            [
                .textArray(reports.map(\.vehicleID.rawValue)),
                .textArray(reports.map(\.tripID.rawValue)),
                .textArray(reports.map(\.routeID.rawValue)),
                .textArray(reports.map { $0.startDate?.description ?? "" }),
                .doubleArray(reports.map(\.latitude)), .doubleArray(reports.map(\.longitude)),
                .doubleArray(reports.map(\.bearing)), .doubleArray(reports.map(\.speed)),
                .timestampArray(reports.map(\.timestamp)),
                .timestampArray(points.map(\.reportedAt)),
                .timestampArray(points.map(\.receivedAt)), .uuidArray(points.map(\.driverID)),
            ]
        )
        let live = try LiveVehicle.list(rows)
        if !live.isEmpty {
            try connection.query("SELECT pg_notify($1, '')", [.text(Tracker.channel)])
        }
        return live
    }
}
