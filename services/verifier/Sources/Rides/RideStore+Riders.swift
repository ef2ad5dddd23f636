internal import Database
internal import Messages
internal import Telemetry
internal import Transit
internal import Verification

/// Who a rider is, and how often they may change rides.
extension RideStore {
    /// Seconds in which one ride change (a start or an end) is earned back (spec 0.1, D10).
    static let changeInterval: Int64 = 10
    /// Ride changes that may come at once.
    static let changeBurst: Int64 = 3
    /// Seconds in which an allowance that is used up is whole again; no honest row is further ahead.
    private static let changesWholeIn = changeInterval * changeBurst

    /// A rider's standing, with its row locked until the transaction ends.
    struct Standing {
        let tier: Tier
        /// Whether the allowance of ride changes has one left.
        let mayChange: Bool
    }

    /// Makes sure that a rider's row exists and locks it.
    static func standing(
        of riderID: UniqueID,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> Standing {
        let row = try connection.query(
            """
            INSERT INTO verifier.rider_reputation AS p (rider_id, changes_full_at, last_seen_at)
            VALUES ($1, $2, $2)
            ON CONFLICT (rider_id) DO UPDATE SET last_seen_at = GREATEST(p.last_seen_at, $2)
            RETURNING tier, changes_full_at
            """,
            [.uuid(riderID), .timestamp(now)]
        ).one()
        let missing = try row.timestamp("changes_full_at") - now
        return Standing(
            tier: Tier(wireName: try row.text("tier")),
            // What a clock that was ahead has written says nothing of what was used.
            mayChange: missing <= changeInterval * (changeBurst - 1) || missing > changesWholeIn
        )
    }

    /// Takes one ride change from a rider's allowance.
    static func chargeChange(
        of riderID: UniqueID,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) {
        try connection.execute(
            """
            UPDATE verifier.rider_reputation
            SET changes_full_at = make_interval(secs => $3) + CASE
                WHEN changes_full_at > $4 THEN $2 ELSE GREATEST(changes_full_at, $2) END
            WHERE rider_id = $1
            """,
            [
                .uuid(riderID), .timestamp(now), .double(Double(changeInterval)),
                .timestamp(now + changesWholeIn),
            ]
        )
    }
}
