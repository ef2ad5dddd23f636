internal import Database
internal import ServiceKit
internal import Transit
internal import Web

/// The statements about drivers' trips; each runs inside the transaction that its caller opened.
enum DriverTripStore {
    /// Files the start of a trip.
    ///
    /// - Parameters:
    ///   - body: What the driver said.
    ///   - userID: The driver.
    ///   - name: What auth calls the driver; nil keeps what is known.
    ///   - now: The application clock.
    ///   - connection: In a transaction.
    /// - Returns: The trip; or 403 for a vehicle that is not the driver's, 401 for a driver who was
    ///   erased, 409 when another trip of the driver is active, however close the two starts are.
    /// - Throws: ``DatabaseError`` when a statement fails.
    static func start(
        _ body: StartTripBody,
        by userID: UniqueID,
        named name: String?,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> Result<DriverTrip, HTTPError> {
        let isAssigned = try connection.query(
            """
            SELECT EXISTS (SELECT FROM feed.assignments WHERE user_id = $1 AND vehicle_id = $2)
            """,
            [.uuid(userID), .text(body.vehicleID.rawValue)]
        ).one().bool(0)
        guard isAssigned else { return .failure(.notAssigned) }
        guard try DriverStore.enter(userID, named: name, on: connection) else {
            return .failure(.invalidToken)
        }
        // A racing start in another replica meets the unique index and waits for the first.
        let inserted = try connection.query(
            """
            INSERT INTO feed.driver_trips (user_id, vehicle_id, route_id, gtfs_trip_id, started_at)
            VALUES ($1, $2, $3, $4, $5)
            ON CONFLICT (user_id) WHERE status = 'active' DO NOTHING RETURNING id
            """,
            [
                .uuid(userID), .text(body.vehicleID.rawValue), .text(body.routeID.rawValue),
                .text(body.gtfsTripID.rawValue), .timestamp(now),
            ]
        )
        guard let row = inserted.first else { return .failure(.alreadyActive) }
        guard let trip = try trip(try row.int64("id"), on: connection) else {
            throw DatabaseError(.statement, "a trip that was just filed is not there")
        }
        return .success(trip)
    }

    /// Ends a driver's active trip; the first end decides.
    ///
    /// - Returns: false when the driver has no such active trip.
    static func end(
        _ id: Int64,
        by userID: UniqueID,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> Bool {
        try connection.execute(
            """
            UPDATE feed.driver_trips SET status = 'completed', ended_at = GREATEST($3, started_at)
            WHERE id = $1 AND user_id = $2 AND status = 'active'
            """,
            [.int64(id), .uuid(userID), .timestamp(now)]
        ) == 1
    }

    /// One trip.
    static func trip(
        _ id: Int64,
        on connection: Connection
    ) throws(DatabaseError) -> DriverTrip? {
        let rows = try connection.query(
            "\(DriverTrip.selection) WHERE t.id = $1",
            [.int64(id)]
        )
        guard let row = rows.first else { return nil }
        return try DriverTrip(row)
    }

    /// A page of trips, the newest first, and one more when there are more.
    static func list(
        _ filter: DriverTripFilter,
        on connection: Connection
    ) throws(DatabaseError) -> [DriverTrip] {
        let rows = try connection.query(
            """
            \(DriverTrip.selection)
            WHERE ($1::text IS NULL OR t.status = $1) AND ($2::text IS NULL OR t.vehicle_id = $2)
                AND ($3::uuid IS NULL OR t.user_id = $3)
                AND ($4::text IS NULL OR strpos(lower(t.route_id), lower($4)) > 0
                    OR strpos(lower(t.gtfs_trip_id), lower($4)) > 0
                    OR strpos(lower(d.name), lower($4)) > 0)
            ORDER BY t.started_at DESC, t.id DESC LIMIT $5 OFFSET $6
            """,
            [
                SQLValue(filter.status), SQLValue(filter.vehicleID?.rawValue),
                SQLValue(filter.userID), SQLValue(filter.text), .int(filter.page.limit + 1),
                .int(filter.page.offset),
            ]
        )
        var trips: [DriverTrip] = []
        for row in rows { trips.append(try DriverTrip(row)) }
        return trips
    }
}

/// Which trips an admin asked for.
struct DriverTripFilter: Sendable {
    let status: String?
    let vehicleID: VehicleID?
    let userID: UniqueID?
    /// Part of a driver's name, a route's or a GTFS trip's id, whatever the case.
    let text: String?
    let page: Page

    /// Reads `status`, `vehicle_id`, `user_id`, `q`, `limit` and `offset`; empty ones are absent.
    ///
    /// - Throws: 400 for a status, a user id or a page that cannot be.
    init(_ query: QueryItems) throws(HTTPError) {
        func value(_ name: String) -> String? {
            query.first(name).flatMap { $0.isEmpty ? nil : $0 }
        }
        status = value("status")
        guard status == nil || ["active", "completed"].contains(status) else {
            throw .badRequest(
                "status must be \"active\" or \"completed\"",
                code: "status.invalid"
            )
        }
        vehicleID = value("vehicle_id").map { VehicleID($0) }
        userID = try value("user_id").map { text throws(HTTPError) in
            guard let id = UniqueID(text) else {
                throw .badRequest("user_id must be a UUID", code: "user_id.invalid")
            }
            return id
        }
        text = value("q")
        page = try Page(query)
    }
}

extension HTTPError {
    fileprivate static let notAssigned = HTTPError(
        status: 403,
        code: "vehicle.not_assigned",
        message: "driver is not assigned to this vehicle"
    )
    fileprivate static let alreadyActive = HTTPError(
        status: 409,
        code: "trip.active",
        message: "driver already has an active trip"
    )
}
