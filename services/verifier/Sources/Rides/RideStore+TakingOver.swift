internal import Database
internal import Messages
internal import Telemetry
internal import Transit
internal import Verification

/// What a process reads when it takes over slots, and what it finds of rides that are not under way with it.
extension RideStore {
    /// The active rides of slots.
    static func activeRides(
        in slots: [Slot],
        on connection: Connection
    ) throws(DatabaseError) -> [RideRow] {
        let rows = try connection.query(
            """
            SELECT \(RideRow.columns)
            FROM verifier.rides r LEFT JOIN verifier.rider_reputation p USING (rider_id)
            WHERE r.status = 'active' AND r.slot = ANY ($1::smallint[])
            """,
            [.smallintArray(slots.map { Int16($0.rawValue) })]
        )
        var result: [RideRow] = []
        result.reserveCapacity(rows.count)
        for row in rows { result.append(try RideRow(row)) }
        return result
    }

    /// Numbers for slots that were just acquired, one each; the higher one speaks for its slot.
    static func epochs(_ count: Int, on connection: Connection) throws(DatabaseError) -> [UInt64] {
        let rows = try connection.query(
            "SELECT nextval('verifier.slot_epoch') AS epoch FROM generate_series(1, $1)",
            [.int(count)]
        )
        var epochs: [UInt64] = []
        for row in rows { epochs.append(UInt64(try row.int64("epoch"))) }
        return epochs
    }

    /// Ends rides that cannot go on, without a change of score.
    static func endWithoutScore(
        _ rides: [UniqueID],
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) {
        guard !rides.isEmpty else { return }
        try connection.execute(
            """
            UPDATE verifier.rides SET status = 'ended', end_reason = $2, ended_at = $3,
                updated_at = $3, \(Self.forgotten)
            WHERE id = ANY ($1::uuid[]) AND status = 'active'
            """,
            [
                .uuidArray(rides.sorted()), .text(EndReason.serverRestart.rawValue),
                .timestamp(now),
            ]
        )
    }

    // MARK: - Looking up

    /// What a ride that is not under way here was.
    struct PastRide {
        let rideID: UniqueID
        let riderID: UniqueID
        let isActive: Bool
        let endReason: String
        let endedBy: UniqueID?
        let summary: RideEnded
    }

    /// Rides by id, whatever their state.
    static func pastRides(
        _ ids: [UniqueID],
        on connection: Connection
    ) throws(DatabaseError) -> [UniqueID: PastRide] {
        guard !ids.isEmpty else { return [:] }
        let rows = try connection.query(
            """
            SELECT id, rider_id, status = 'active' AS active, end_reason, ended_by, points_total,
                points_matched, points_corroborated, started_at, ended_at
            FROM verifier.rides WHERE id = ANY ($1::uuid[])
            """,
            [.uuidArray(ids)]
        )
        var rides: [UniqueID: PastRide] = [:]
        for row in rows {
            let startedAt = try row.timestamp("started_at")
            let endedAt = try row.optionalTimestamp("ended_at") ?? startedAt
            let ride = PastRide(
                rideID: try row.uuid("id"),
                riderID: try row.uuid("rider_id"),
                isActive: try row.bool("active"),
                endReason: try row.text("end_reason"),
                endedBy: try row.optionalUUID("ended_by"),
                summary: RideEnded(
                    points: try row.int("points_total"),
                    matched: try row.int("points_matched"),
                    corroborated: try row.int("points_corroborated"),
                    durationSeconds: Int(max(0, endedAt - startedAt))
                )
            )
            rides[ride.rideID] = ride
        }
        return rides
    }
}
