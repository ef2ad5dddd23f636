internal import CLibPQ
internal import Transit

/// The peer of `bench ingest`: the rows that a verifier writes, written by libpq and nothing else.
///
/// As a coalescing writer does, it commits the batches of many callers in one transaction with two statements. It judges nothing,
/// encodes columns straight into libpq's binary format and has no queue, no thread and no caller to wake.
final class BareWriter {
    /// Points in a batch.
    static let batchPoints = 12

    private let connection: OpaquePointer
    private let rides: [UniqueID]
    private var nextRide = 0
    private var time: Int64
    private var columns = BareColumns()

    /// Connects, makes rides to write for and prepares the statements.
    ///
    /// - Parameters:
    ///   - url: The owner's URL of a database with the verifier's schema.
    ///   - count: How many rides take turns.
    ///   - now: The time of the first points.
    /// - Throws: When the database cannot be reached or refuses a statement.
    init(url: String, rides count: Int, now: UnixSeconds) throws {
        guard let connection = PQconnectdb(url), PQstatus(connection) == CONNECTION_OK else {
            throw BareFailure("the peer cannot connect")
        }
        self.connection = connection
        rides = (0..<count).map { _ in UniqueID.random() }.sorted()
        time = now - 400
        try command(
            """
            SET TIME ZONE 'UTC';
            DO $$ DECLARE day date; BEGIN FOR offset_days IN -1..1 LOOP
                day := (now() AT TIME ZONE 'UTC')::date + offset_days;
                EXECUTE format('CREATE TABLE verifier.ride_points_%s PARTITION OF
                    verifier.ride_points FOR VALUES FROM (%L) TO (%L)',
                    to_char(day, 'YYYYMMDD'), day, day + 1);
            END LOOP; END $$
            """
        )
        let values = rides.map {
            "('\($0)', 0, '\(UniqueID.random())', 'T', '20260216', 0, now(), now())"
        }
        try command(
            """
            INSERT INTO verifier.rides (id, slot, rider_id, trip_id, start_date, shape_hash,
                started_at, updated_at) VALUES \(values.joined(separator: ", "))
            """
        )
        try prepare("progress", Self.progress)
        try prepare("points", Self.points)
    }

    deinit { PQfinish(connection) }

    /// Commits one batch of each of so many callers.
    func commit(_ callers: Int) throws {
        let chosen = (0..<callers).map { rides[(nextRide + $0) % rides.count] }.sorted()
        if nextRide + callers >= rides.count { time += Int64(Self.batchPoints) }
        nextRide = (nextRide + callers) % rides.count
        try command("BEGIN")
        columns.fillProgress(of: chosen, at: time)
        try execute("progress")
        columns.fillPoints(of: chosen, from: time, count: Self.batchPoints)
        try execute("points")
        try command("COMMIT")
    }

    // The verifier's own columns (`RideStore`): a column less would be fewer bytes and no peer.
    private static let progress = """
        UPDATE verifier.rides r SET state = n.state, corroborated = n.corroborated,
            points_total = n.total, points_matched = n.matched, points_corroborated = n.agreed,
            points_contradicted = n.denied, match_streak = n.match_streak,
            off_route_streak = n.off_streak, contradiction_streak = n.denied_streak,
            recent_outcomes = n.outcomes, first_matched_at = n.first_matched,
            last_matched_at = n.last_matched, last_accepted_at = n.last_accepted,
            last_corroboration = n.last_corroboration, shape_hash = n.shape_hash,
            along_shape = n.along, speed = n.speed, batch_digest = n.digest,
            batch_answer = n.answer, regressed_to = n.regressed_to, witness_traits = n.traits,
            updated_at = now(), verified_at = COALESCE(r.verified_at, n.verified)
        FROM unnest($1::uuid[], $2::text[], $3::bool[], $4::bigint[], $5::bigint[], $6::bigint[],
            $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::text[],
            $12::timestamptz[], $13::timestamptz[], $14::timestamptz[], $15::text[], $16::bigint[],
            $17::float8[], $18::float8[], $19::bigint[], $20::bytea[], $21::timestamptz[],
            $22::float8[], $23::bigint[])
            AS n (id, state, corroborated, total, matched, agreed, denied, match_streak, off_streak,
                denied_streak, outcomes, first_matched, last_matched, last_accepted,
                last_corroboration, shape_hash, along, speed, digest, answer, verified,
                regressed_to, traits)
        WHERE r.id = n.id AND r.status = 'active'
        RETURNING r.id
        """
    private static let points = """
        INSERT INTO verifier.ride_points (ride_id, timestamp, latitude, longitude, accuracy, speed,
            bearing, outcome, corroboration, along_shape, distance_to_shape,
            schedule_deviation_seconds, check_id, measured, threshold, received_at)
        SELECT *, now() FROM unnest($1::uuid[], $2::timestamptz[], $3::float8[], $4::float8[],
            $5::float8[], $6::float8[], $7::float8[], $8::text[], $9::text[], $10::float8[],
            $11::float8[], $12::int[], $13::text[], $14::float8[], $15::float8[])
        ON CONFLICT DO NOTHING
        """

    // MARK: - libpq

    private func command(_ sql: String) throws { try check(PQexec(connection, sql)) }

    private func prepare(_ name: String, _ sql: String) throws {
        try check(PQprepare(connection, name, sql, 0, nil))
    }

    private func execute(_ name: String) throws {
        try check(
            columns.withParameters { values, lengths, formats in
                PQexecPrepared(connection, name, Int32(lengths.count), values, lengths, formats, 1)
            }
        )
    }

    private func check(_ result: OpaquePointer?) throws {
        defer { PQclear(result) }
        let status = PQresultStatus(result)
        guard status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK else {
            throw BareFailure(String(cString: PQerrorMessage(connection)))
        }
    }
}

/// Why the peer gave up.
struct BareFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
