internal import Database
internal import Messages
internal import Transit
internal import Verification

/// The statements that forget a rider.
enum ErasureStore {
    /// What is left after a rider's rows are gone.
    enum Remainder: Sendable {
        /// Nothing.
        case nothing
        /// The mark of a blocked installation.
        case blockedSuccessor
        /// A ride is under way again; nothing was deleted.
        case activeRide
    }

    /// Makes sure that no ride of a rider begins any more.
    ///
    /// A start locks the rider's row and then asks ``isErased(_:at:on:)``. Whoever has the row first
    /// decides: a start before is found by ``activeRide(of:on:)``, a start after is refused.
    static func mark(_ request: EraseRider, on connection: Connection) throws(DatabaseError) {
        try connection.execute(
            """
            INSERT INTO verifier.rider_reputation AS p (rider_id, changes_full_at, last_seen_at)
            VALUES ($1, $2, $2)
            ON CONFLICT (rider_id) DO UPDATE SET last_seen_at = p.last_seen_at
            """,
            [.uuid(request.riderID), .timestamp(request.receivedAt)]
        )
        try connection.execute(
            """
            INSERT INTO verifier.erased_riders AS e (digest, until)
            VALUES (sha256(uuid_send($1)), $2)
            ON CONFLICT (digest) DO UPDATE SET until = GREATEST(e.until, excluded.until)
            """,
            [.uuid(request.riderID), .timestamp(request.forgottenUntil)]
        )
        try connection.execute(
            """
            DELETE FROM verifier.erased_riders WHERE ctid = ANY (ARRAY(
                SELECT ctid FROM verifier.erased_riders WHERE until < $1
                FOR UPDATE SKIP LOCKED))
            """,
            [.timestamp(request.receivedAt)]
        )
    }

    /// Whether a rider was forgotten; asked by a start, after it has locked the rider's row.
    static func isErased(
        _ riderID: UniqueID,
        at now: UnixSeconds,
        on connection: Connection
    ) throws(DatabaseError) -> Bool {
        let rows = try connection.query(
            "SELECT FROM verifier.erased_riders WHERE digest = sha256(uuid_send($1)) AND until > $2",
            [.uuid(riderID), .timestamp(now)]
        )
        return !rows.isEmpty
    }

    /// Takes back the row that a refused start has made, unless it keeps an installation blocked.
    static func dropStanding(
        of riderID: UniqueID,
        on connection: Connection
    ) throws(DatabaseError) {
        try connection.execute(
            "DELETE FROM verifier.rider_reputation WHERE rider_id = $1 AND tier <> 'blocked'",
            [.uuid(riderID)]
        )
    }

    /// The ride that a rider has under way.
    static func activeRide(
        of riderID: UniqueID,
        on connection: Connection
    ) throws(DatabaseError) -> UniqueID? {
        try connection.query(
            "SELECT id FROM verifier.rides WHERE rider_id = $1 AND status = 'active'",
            [.uuid(riderID)]
        ).first?.uuid(0)
    }

    /// Deletes rides, points and standing of a rider without an active ride.
    static func delete(
        _ request: EraseRider,
        on connection: Connection
    ) throws(DatabaseError) -> Remainder {
        let rider = SQLValue.uuid(request.riderID)
        let standing = try connection.query(
            "SELECT tier, score FROM verifier.rider_reputation WHERE rider_id = $1 FOR UPDATE",
            [rider]
        ).first
        guard try activeRide(of: request.riderID, on: connection) == nil else {
            return .activeRide
        }
        try connection.execute(
            """
            DELETE FROM verifier.ride_points WHERE ride_id IN (
                SELECT id FROM verifier.rides WHERE rider_id = $1)
            """,
            [rider]
        )
        try connection.execute("DELETE FROM verifier.rides WHERE rider_id = $1", [rider])
        try connection.execute("DELETE FROM verifier.rider_reputation WHERE rider_id = $1", [rider])
        guard let successor = request.successorID else { return .nothing }
        if let standing, try standing.text("tier") == Tier.blocked.rawValue {
            try connection.execute(
                """
                INSERT INTO verifier.rider_reputation (rider_id, score, tier, changes_full_at,
                    last_seen_at)
                VALUES ($1, $2, 'blocked', $3, $3)
                ON CONFLICT (rider_id) DO NOTHING
                """,
                [
                    .uuid(successor), .int(try standing.int("score")),
                    .timestamp(request.receivedAt),
                ]
            )
        }
        // Also after a repeat, whose rider had no standing any more.
        let blocked = try connection.query(
            "SELECT FROM verifier.rider_reputation WHERE rider_id = $1 AND tier = 'blocked'",
            [.uuid(successor)]
        )
        return blocked.isEmpty ? .nothing : .blockedSuccessor
    }

    // MARK: - Export

    /// A rider's standing as a JSON object, nil when there is none.
    static func standing(
        of riderID: UniqueID,
        on connection: Connection
    ) throws(DatabaseError) -> String? {
        try connection.query(
            """
            SELECT to_jsonb(p)::text FROM verifier.rider_reputation p WHERE rider_id = $1
            """,
            [.uuid(riderID)]
        ).first?.text(0)
    }

    /// Some rides of a rider with their points, the oldest first, each a JSON object.
    ///
    /// Every column is in it, those of later migrations too, but for what only serves the machine.
    static func rides(
        of riderID: UniqueID,
        limit: Int,
        offset: Int,
        on connection: Connection
    ) throws(DatabaseError) -> [String] {
        let rows = try connection.query(
            """
            SELECT (to_jsonb(r) - '{slot,batch_digest,batch_answer,shape_hash}'::text[]
                || jsonb_build_object('points', (
                    SELECT coalesce(jsonb_agg(to_jsonb(p) - 'ride_id' ORDER BY p.timestamp), '[]')
                    FROM verifier.ride_points p WHERE p.ride_id = r.id)))::text
            FROM verifier.rides r WHERE r.rider_id = $1
            ORDER BY r.started_at, r.id LIMIT $2 OFFSET $3
            """,
            [.uuid(riderID), .int(limit), .int(offset)]
        )
        var rides: [String] = []
        for row in rows { rides.append(try row.text(0)) }
        return rides
    }
}
