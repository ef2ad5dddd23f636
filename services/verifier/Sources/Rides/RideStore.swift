internal import Database
internal import Messages
internal import Telemetry
internal import Transit
internal import Verification

/// The statements of the writer; each runs inside the transaction that its caller opened.
enum RideStore {
    /// What a row keeps only for as long as its ride is under way.
    static let forgotten = """
        along_shape = NULL, speed = NULL, regressed_to = NULL, batch_digest = NULL, batch_answer = NULL,
        address_block = NULL, installed_at = NULL, install_build = NULL
        """

    // MARK: - Rides

    /// Files a new ride.
    ///
    /// - Returns: nil when it was filed, else the rider's ride that is under way.
    static func insert(
        _ ride: ActiveRide,
        request: StartRide,
        on connection: Connection
    ) throws(DatabaseError) -> UniqueID? {
        let session = ride.session
        let inserted = try connection.execute(
            """
            INSERT INTO verifier.rides (id, slot, rider_id, trip_id, start_date, route_id,
                vehicle_id, boarding_stop_id, destination_stop_id, shape_hash, started_at,
                updated_at, address_block, installed_at, install_build)
            VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, $12, $13, $14)
            ON CONFLICT DO NOTHING
            """,
            [
                .uuid(ride.rideID), .int(Int(ride.slot.rawValue)), .uuid(session.riderID),
                .text(session.journey.trip.id.rawValue),
                .text(session.journey.startDate.description), .text(ride.routeID.rawValue),
                .text(request.vehicleID), .text(request.boardingStopID),
                .text(request.destinationStopID), .int64(session.journey.shapeHash),
                .timestamp(session.startedAt),
                ride.evidence.origin.addressBlock.map { .int64(Int64(bitPattern: $0)) } ?? .null,
                ride.evidence.origin.installedAt.map(SQLValue.timestamp) ?? .null,
                ride.evidence.origin.build.map { .int64(Int64(bitPattern: $0)) } ?? .null,
            ]
        )
        guard inserted == 0 else { return nil }
        let rows = try connection.query(
            "SELECT id FROM verifier.rides WHERE rider_id = $1 AND status = 'active'",
            [.uuid(session.riderID)]
        )
        guard let row = rows.first else {
            // The other ride ended between the two statements; the caller's retry will find no ride.
            throw DatabaseError(.statement, "the rider's other ride just ended", sqlState: "40001")
        }
        return try row.uuid("id")
    }

    /// Writes the absolute state of rides under way, in the order of their ids.
    ///
    /// - Returns: The rides whose rows were still active.
    static func saveProgress(
        _ rides: [ActiveRide],
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> Set<UniqueID> {
        guard !rides.isEmpty else { return [] }
        let rides = rides.sorted { $0.rideID < $1.rideID }
        let records = rides.map { SessionRecord($0.session, tier: $0.tier) }
        let answers = rides.map { ride in
            ride.lastBatch.map { batch in
                RideReply(
                    requestID: ride.rideID,
                    trace: TraceID(high: 0, low: 1),
                    body: .accepted(batch.answer)
                ).encoded()
            }
        }
        let rows = try connection.query(
            """
            UPDATE verifier.rides r SET state = n.state, corroborated = n.corroborated,
                points_total = n.total, points_matched = n.matched,
                points_corroborated = n.agreed, points_contradicted = n.denied,
                match_streak = n.match_streak, off_route_streak = n.off_streak,
                contradiction_streak = n.denied_streak, recent_outcomes = n.outcomes,
                first_matched_at = n.first_matched, last_matched_at = n.last_matched,
                last_accepted_at = n.last_accepted, last_corroboration = n.last_corroboration,
                shape_hash = n.shape_hash, along_shape = n.along, speed = n.speed,
                batch_digest = n.digest, batch_answer = n.answer, regressed_to = n.regressed_to,
                witness_traits = n.traits, updated_at = $21,
                verified_at = COALESCE(r.verified_at, n.verified)
            FROM unnest($1::uuid[], $2::text[], $3::bool[], $4::bigint[], $5::bigint[],
                $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[],
                $11::text[], $12::timestamptz[], $13::timestamptz[], $14::timestamptz[],
                $15::text[], $16::bigint[], $17::float8[], $18::float8[], $19::bigint[],
                $20::bytea[], $22::timestamptz[], $23::float8[], $24::bigint[])
                AS n (id, state, corroborated, total, matched, agreed, denied, match_streak,
                    off_streak, denied_streak, outcomes, first_matched, last_matched,
                    last_accepted, last_corroboration, shape_hash, along, speed, digest, answer,
                    verified, regressed_to, traits)
            WHERE r.id = n.id AND r.status = 'active'
            RETURNING r.id
            """,
            [
                .uuidArray(rides.map(\.rideID)), .textArray(records.map(\.state)),
                .boolArray(records.map(\.isCorroborated)),
                .intArray(records.map { Int64($0.pointsTotal) }),
                .intArray(records.map { Int64($0.pointsMatched) }),
                .intArray(records.map { Int64($0.pointsCorroborated) }),
                .intArray(records.map { Int64($0.pointsContradicted) }),
                .intArray(records.map { Int64($0.matchStreak) }),
                .intArray(records.map { Int64($0.offRouteStreak) }),
                .intArray(records.map { Int64($0.contradictionStreak) }),
                .textArray(records.map(\.recentOutcomes)),
                .timestampArray(records.map(\.firstMatchedAt)),
                .timestampArray(records.map(\.lastMatchedAt)),
                .timestampArray(records.map(\.lastAcceptedAt)),
                .textArray(records.map(\.lastCorroboration)),
                .intArray(records.map(\.shapeHash)), .doubleArray(records.map(\.alongShape)),
                .doubleArray(records.map(\.speed)),
                .intArray(rides.map { $0.lastBatch?.digest }), .bytesArray(answers),
                .timestamp(now), .timestampArray(rides.map(\.verifiedAt)),
                .doubleArray(records.map(\.regressedTo)),
                .intArray(rides.map { Int64($0.evidence.trace.traits.rawValue) }),
            ]
        )
        var saved: Set<UniqueID> = []
        for row in rows { saved.insert(try row.uuid(0)) }
        return saved
    }

    /// Ends a ride and scores its rider; the first end wins.
    ///
    /// - Parameters:
    ///   - ride: The ride with its end decided.
    ///   - requestID: The request that asked for the end, so that its repeat gets the summary.
    ///   - now: The application clock.
    ///   - connection: The writer's.
    /// - Returns: false when the row had already ended or is gone; nothing is changed then.
    /// - Throws: ``DatabaseError`` when a statement fails.
    static func finish(
        _ ride: ActiveRide,
        requestID: UniqueID?,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> Bool {
        guard let summary = ride.session.summary, let end = ride.session.end else {
            preconditionFailure("a ride is finished after its end was decided")
        }
        let record = SessionRecord(ride.session, tier: ride.tier)
        let ended = try connection.execute(
            """
            UPDATE verifier.rides SET status = 'ended', state = $2, corroborated = $3,
                end_reason = $4, points_total = $5, points_matched = $6,
                points_corroborated = $7, points_contradicted = $8, first_matched_at = $9,
                last_matched_at = $10, last_accepted_at = $11, ended_at = $12, ended_by = $13,
                updated_at = $14, verified_at = COALESCE(verified_at, $15), \(Self.forgotten)
            WHERE id = $1 AND status = 'active'
            """,
            [
                .uuid(ride.rideID), .text(record.state), .bool(record.isCorroborated),
                .text(end.reason.rawValue), .int(record.pointsTotal), .int(record.pointsMatched),
                .int(record.pointsCorroborated), .int(record.pointsContradicted),
                record.firstMatchedAt.map(SQLValue.timestamp) ?? .null,
                record.lastMatchedAt.map(SQLValue.timestamp) ?? .null,
                record.lastAcceptedAt.map(SQLValue.timestamp) ?? .null,
                // A rejection is dated by the point that decided it, all else in the row by our clock.
                .timestamp(max(end.reason.isRejection ? now : end.endedAt, ride.session.startedAt)),
                SQLValue(requestID),
                .timestamp(now), ride.verifiedAt.map(SQLValue.timestamp) ?? .null,
            ]
        )
        guard ended == 1 else { return false }
        try score(ride, summary, on: connection)
        return true
    }

    private static func score(
        _ ride: ActiveRide,
        _ summary: RideSummary,
        on connection: Connection
    ) throws(DatabaseError) {
        try connection.execute(
            """
            UPDATE verifier.rider_reputation p SET score = n.score,
                tier = CASE WHEN n.score <= $3 THEN 'blocked' WHEN n.score >= $4 THEN 'trusted'
                    ELSE 'new' END,
                last_seen_at = GREATEST(p.last_seen_at, $9),
                rides_total = rides_total + 1, rides_corroborated = rides_corroborated + $5,
                rides_rejected = rides_rejected + $6
            FROM (SELECT rider_id, LEAST($7, GREATEST($8, score + $2)) AS score
                FROM verifier.rider_reputation WHERE rider_id = $1 FOR UPDATE) n
            WHERE p.rider_id = n.rider_id
            """,
            [
                .uuid(ride.session.riderID), .int(Reputation.scoreDelta(of: summary)),
                .int(Reputation.blockedAt), .int(Reputation.trustedAt),
                .int(summary.isCorroborated ? 1 : 0), .int(summary.endReason.isRejection ? 1 : 0),
                .int(Reputation.range.upperBound), .int(Reputation.range.lowerBound),
                .timestamp(ride.session.lastAcceptedAt ?? ride.session.startedAt),
            ]
        )
    }

    // MARK: - Points

    /// Files judged points, in the order of ride and time; a point that is there already stays.
    static func insert(
        _ points: [(rideID: UniqueID, point: JudgedPoint)],
        receivedAt now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) {
        guard !points.isEmpty else { return }
        func present(_ value: Double?) -> Double? { value.flatMap { $0 >= 0 ? $0 : nil } }
        let measures = points.map(\.point.verdict.storedMeasure)
        try connection.execute(
            """
            INSERT INTO verifier.ride_points (ride_id, timestamp, latitude, longitude, accuracy,
                speed, bearing, outcome, corroboration, along_shape, distance_to_shape,
                schedule_deviation_seconds, check_id, measured, threshold, received_at)
            SELECT *, $13::timestamptz FROM unnest($1::uuid[], $2::timestamptz[], $3::float8[],
                $4::float8[], $5::float8[], $6::float8[], $7::float8[], $8::text[], $9::text[],
                $10::float8[], $11::float8[], $12::int[], $14::text[], $15::float8[],
                $16::float8[])
            ON CONFLICT DO NOTHING
            """,
            [
                .uuidArray(points.map(\.rideID)),
                .timestampArray(points.map(\.point.point.timestamp)),
                .doubleArray(points.map(\.point.point.coordinate.latitude)),
                .doubleArray(points.map(\.point.point.coordinate.longitude)),
                .doubleArray(points.map { present($0.point.point.accuracy) }),
                .doubleArray(points.map { present($0.point.point.speed) }),
                .doubleArray(points.map { present($0.point.point.bearing) }),
                .textArray(points.map(\.point.verdict.outcome.rawValue)),
                .textArray(points.map(\.point.verdict.corroboration.rawValue)),
                .doubleArray(points.map(\.point.verdict.alongShape)),
                .doubleArray(points.map(\.point.verdict.distanceToShape)),
                .intArray(
                    points.map { $0.point.verdict.scheduleDeviationSeconds.map(Int64.init) }
                ),
                .timestamp(now), .textArray(measures.map { $0?.check.rawValue }),
                .doubleArray(measures.map { $0?.measured }),
                .doubleArray(measures.map { $0?.limit }),
            ]
        )
    }
}
