internal import Database
internal import Messages
internal import Transit
internal import Verification

/// What operators read of the stored rides; on the pool, never on the writer's connection.
enum RideArchive {
    /// Points of one ride that are read at most: more than one for each second that a ride can span.
    static let pointLimit = 20_000

    private static let entryColumns = """
        id, rider_id, trip_id, start_date, route_id, state, corroborated, end_reason, points_total,
        points_matched, points_corroborated, started_at, ended_at
        """

    /// A page of rides, the newest first.
    static func page(
        _ query: RideListQuery,
        on connection: Connection
    ) throws(DatabaseError) -> RideListReply {
        let rows = try connection.query(
            """
            SELECT \(entryColumns) FROM verifier.rides WHERE status = $1
            ORDER BY started_at DESC, id DESC LIMIT $2 OFFSET $3
            """,
            // One more than asked for tells whether more follow.
            [.text(query.status.rawValue), .int(query.limit + 1), .int(query.offset)]
        )
        var rides: [RideListEntry] = []
        for row in rows where rides.count < query.limit { rides.append(try entry(row)) }
        return RideListReply(rides: rides, hasMore: rows.count > query.limit)
    }

    /// One ride with everything that is stored of it.
    ///
    /// - Returns: nil when there is no such ride.
    static func detail(
        of rideID: UniqueID,
        on connection: Connection
    ) throws(DatabaseError) -> RideDetailReply? {
        let rows = try connection.query(
            """
            SELECT \(entryColumns), vehicle_id, boarding_stop_id, destination_stop_id, verified_at
            FROM verifier.rides WHERE id = $1
            """,
            [.uuid(rideID)]
        )
        guard let row = rows.first else { return nil }
        let ride = try entry(row)
        return RideDetailReply(
            ride: ride,
            vehicleID: try row.text("vehicle_id"),
            boardingStopID: try row.text("boarding_stop_id"),
            destinationStopID: try row.text("destination_stop_id"),
            changes: changes(of: ride, verifiedAt: try row.optionalTimestamp("verified_at")),
            points: try points(of: rideID, on: connection)
        )
    }

    /// Riders who ever started a ride, by tier.
    static func riders(
        on connection: Connection
    ) throws(DatabaseError) -> (all: Int, trusted: Int, blocked: Int) {
        let row = try connection.query(
            """
            SELECT count(*) AS total, count(*) FILTER (WHERE tier = 'trusted') AS trusted,
                count(*) FILTER (WHERE tier = 'blocked') AS blocked
            FROM verifier.rider_reputation
            """
        ).one()
        return (try row.int("total"), try row.int("trusted"), try row.int("blocked"))
    }

    private static func entry(_ row: Row) throws(DatabaseError) -> RideListEntry {
        let date = try row.text("start_date")
        guard let startDate = ServiceDate(date) else {
            throw DatabaseError(.statement, "start_date \(date) is no date")
        }
        return RideListEntry(
            rideID: try row.uuid("id"),
            riderID: try row.uuid("rider_id"),
            trip: TripInstance(tripID: TripID(try row.text("trip_id")), startDate: startDate),
            routeID: RouteID(try row.text("route_id")),
            state: try row.text("state"),
            corroborated: try row.bool("corroborated"),
            endReason: try row.text("end_reason"),
            points: try row.int("points_total"),
            matchedPoints: try row.int("points_matched"),
            corroboratedPoints: try row.int("points_corroborated"),
            startedAt: try row.timestamp("started_at"),
            endedAt: try row.optionalTimestamp("ended_at")
        )
    }

    /// The states of a ride, by our clock: a rejection is decided by the point that also ends the ride.
    ///
    /// Rows of earlier versions have times of points beside those of receipts; no state is told before the one before it.
    private static func changes(
        of ride: RideListEntry,
        verifiedAt: UnixSeconds?
    ) -> [RideStateChange] {
        var changes = [RideStateChange(state: RideState.pending.rawValue, at: ride.startedAt)]
        func add(_ state: String, at time: UnixSeconds) {
            changes.append(RideStateChange(state: state, at: max(time, changes.last?.at ?? time)))
        }
        if let verifiedAt { add(RideState.verified.rawValue, at: verifiedAt) }
        guard let endedAt = ride.endedAt else { return changes }
        if ride.state == RideState.rejected.rawValue {
            add(RideState.rejected.rawValue, at: endedAt)
        }
        add("ended", at: endedAt)
        return changes
    }

    private static func points(
        of rideID: UniqueID,
        on connection: Connection
    ) throws(DatabaseError) -> [ExplainedPoint] {
        let rows = try connection.query(
            """
            SELECT timestamp, latitude, longitude, accuracy, speed, bearing, outcome, corroboration,
                check_id, measured, threshold, along_shape, distance_to_shape,
                schedule_deviation_seconds, received_at
            FROM verifier.ride_points WHERE ride_id = $1 ORDER BY timestamp LIMIT $2
            """,
            [.uuid(rideID), .int(pointLimit)]
        )
        var points: [ExplainedPoint] = []
        points.reserveCapacity(rows.count)
        for row in rows { points.append(try ExplainedPoint(row)) }
        return points
    }
}

extension ExplainedPoint {
    fileprivate init(_ row: Row) throws(DatabaseError) {
        let outcome = try row.text("outcome")
        let corroboration = try row.text("corroboration")
        let rule = try row.optionalText("check_id")
        let measured = try row.optionalDouble("measured")
        let threshold = try row.optionalDouble("threshold")
        var measure: StoredMeasure?
        if let check = rule.flatMap(CheckID.init), let measured, let threshold {
            measure = StoredMeasure(check: check, measured: measured, limit: threshold)
        }
        // A name of a newer release is shown as it is stored, without a sentence of ours.
        let verdict = Outcome(rawValue: outcome).map {
            Verdict(
                outcome: $0,
                corroboration: Corroboration(rawValue: corroboration) ?? .unavailable,
                measure: measure
            )
        }
        self.init(
            point: ReportedPoint(
                latitude: try row.double("latitude"),
                longitude: try row.double("longitude"),
                accuracy: try row.optionalDouble("accuracy"),
                speed: try row.optionalDouble("speed"),
                bearing: try row.optionalDouble("bearing"),
                timestamp: try row.timestamp("timestamp")
            ),
            outcome: outcome,
            corroboration: corroboration,
            rule: rule,
            measured: measured,
            threshold: threshold,
            unit: verdict?.unit,
            explanation: verdict?.explanation ?? "Judged by another version as \(outcome).",
            alongShape: try row.optionalDouble("along_shape"),
            distanceToShape: try row.optionalDouble("distance_to_shape"),
            scheduleDeviationSeconds: try row.optionalInt("schedule_deviation_seconds"),
            receivedAt: try row.timestamp("received_at")
        )
    }
}
