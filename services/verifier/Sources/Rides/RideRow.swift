internal import Database
internal import Messages
internal import Telemetry
internal import Transit
internal import Verification

/// A row of `verifier.rides` as a new owner of its slot reads it.
struct RideRow {
    let rideID: UniqueID
    let riderID: UniqueID
    let tripID: TripID
    let startDate: ServiceDate?
    let routeID: RouteID
    let startedAt: UnixSeconds
    let tier: Tier
    let record: SessionRecord
    let evidence: WitnessEvidence
    let lastBatch: StoredBatch?

    /// The columns that ``init(_:)`` reads, for a SELECT over `rides r` and `rider_reputation p`.
    static let columns = """
        r.id, r.rider_id, r.trip_id, r.start_date, r.route_id, r.started_at, r.state,
        r.corroborated, r.points_total, r.points_matched, r.points_corroborated,
        r.points_contradicted, r.match_streak, r.off_route_streak, r.contradiction_streak,
        r.recent_outcomes, r.first_matched_at, r.last_matched_at, r.last_accepted_at,
        r.last_corroboration, r.shape_hash, r.along_shape, r.speed, r.batch_digest,
        r.batch_answer, r.regressed_to, r.witness_traits, r.address_block, r.installed_at,
        r.install_build, p.tier
        """

    /// Reads a row of the columns above.
    init(_ row: Row) throws(DatabaseError) {
        rideID = try row.uuid("id")
        riderID = try row.uuid("rider_id")
        tripID = TripID(try row.text("trip_id"))
        startDate = ServiceDate(try row.text("start_date"))
        routeID = RouteID(try row.text("route_id"))
        startedAt = try row.timestamp("started_at")
        tier = Tier(wireName: try row.optionalText("tier") ?? "")
        var record = SessionRecord(shapeHash: try row.int64("shape_hash"))
        record.state = try row.text("state")
        record.isCorroborated = try row.bool("corroborated")
        record.pointsTotal = try row.int("points_total")
        record.pointsMatched = try row.int("points_matched")
        record.pointsCorroborated = try row.int("points_corroborated")
        record.pointsContradicted = try row.int("points_contradicted")
        record.matchStreak = try row.int("match_streak")
        record.offRouteStreak = try row.int("off_route_streak")
        record.contradictionStreak = try row.int("contradiction_streak")
        record.recentOutcomes = try row.text("recent_outcomes")
        record.firstMatchedAt = try row.optionalTimestamp("first_matched_at")
        record.lastMatchedAt = try row.optionalTimestamp("last_matched_at")
        record.lastAcceptedAt = try row.optionalTimestamp("last_accepted_at")
        record.lastCorroboration = try row.text("last_corroboration")
        record.alongShape = try row.optionalDouble("along_shape")
        record.speed = try row.optionalDouble("speed")
        record.regressedTo = try row.optionalDouble("regressed_to")
        self.record = record
        let traits = Int16(truncatingIfNeeded: try row.int("witness_traits"))
        evidence = WitnessEvidence(
            WitnessTrace(WitnessTrace.Traits(rawValue: traits)),
            origin: WitnessOrigin(
                addressBlock: try row.optionalInt64("address_block").map(UInt64.init(bitPattern:)),
                installedAt: try row.optionalTimestamp("installed_at"),
                build: try row.optionalInt64("install_build").map(UInt64.init(bitPattern:))
            )
        )
        // An answer that this release cannot read is no answer: the batch is then judged afresh, and
        // its points are not newer than the session.
        if let digest = try row.optionalInt64("batch_digest"),
            let bytes = try row.optionalBytes("batch_answer"),
            let reply = try? RideReply(decoding: bytes), case .accepted(let answer) = reply.body
        {
            lastBatch = StoredBatch(digest: digest, answer: answer)
        } else {
            lastBatch = nil
        }
    }

    /// The ride as it goes on, or nil when it cannot.
    func resumed(
        on index: ScheduleIndex,
        at now: UnixSeconds,
        thresholds: Thresholds
    ) -> ActiveRide? {
        let journey = startDate.flatMap { startDate in
            index.trip(tripID).map { trip in
                Journey(
                    trip: trip,
                    startDate: startDate,
                    startOfService: index.startOfService(on: startDate)
                )
            }
        }
        let restored = record.restored(
            rideID: rideID,
            riderID: riderID,
            journey: journey,
            startedAt: startedAt,
            now: now,
            thresholds: thresholds
        )
        guard case .resumed(let session) = restored else { return nil }
        return ActiveRide(
            session: session,
            tier: tier,
            routeID: routeID,
            evidence: evidence,
            lastBatch: lastBatch
        )
    }
}
