internal import Database
internal import Schedule
internal import ServiceKit
internal import Telemetry
internal import Transit

/// Fetches, checks and archives the schedule while this process builds; follows the archive otherwise.
struct ScheduleArchivist: Sendable {
    /// How often a turn is looked for: a change of the schedule need not wait long.
    static let lookPeriod = Duration.seconds(5)
    /// Archives that are kept: rides in progress may still be on the one before.
    static let keptArchives = 3

    let follower: ScheduleFollower
    let database: Database
    /// `GTFS_STATIC_REFRESH`.
    let refreshPeriod: Duration
    /// `RIDER_MODE_ENABLED`: then a schedule without a trip for riders takes no other's place.
    let hasRiders: Bool
    let isBuilding: @Sendable () -> Bool
    let now: @Sendable () -> UnixSeconds
    let logger: Logger

    /// Works until the task is cancelled.
    func run() async {
        var due = ContinuousClock.now
        while !Task.isCancelled {
            if !isBuilding() {
                await follower.look()
            } else if ContinuousClock.now >= due {
                due = .now + (await renew() ? refreshPeriod : min(refreshPeriod, .seconds(60)))
            }
            try? await Task.sleep(for: due > .now + Self.lookPeriod ? Self.lookPeriod : .seconds(1))
        }
    }

    /// Fetches the schedule once, and archives it when it is another one.
    ///
    /// - Returns: Whether it was fetched and is in the archive.
    func renew() async -> Bool {
        let source = follower.source
        do {
            let bytes = try await source.fetched()
            let hash = ScheduleArchive.hash(of: bytes)
            let isArchived = try await ScheduleArchive(database).active()?.contentHash == hash
            // What does not load is not archived.
            try await source.use(
                bytes,
                from: source.location,
                keepsRiders: hasRiders && !isArchived
            )
            if !isArchived {
                try await activate(bytes, hash, from: source.location)
                logger.info("schedule archived", ["archive.bytes": .integer(bytes.count)])
            }
            if let outlook = source.current?.index.outlook { try await note(outlook, of: hash) }
            follower.isOn(hash)
            return true
        } catch {
            logger.warning(
                "the schedule cannot be renewed, the one in use stays",
                ["error": .text(String(describing: error))]
            )
            return false
        }
    }

    /// Writes beside a schedule what it is good for; those of earlier versions have it from the next look on.
    private func note(_ outlook: ScheduleOutlook, of hash: [UInt8]) async throws(DatabaseError) {
        try await database.withConnection { connection throws(DatabaseError) in
            try connection.execute(
                """
                UPDATE feed.schedule_archive
                SET last_service_date = $2, trips = $3, rider_trips = $4
                WHERE content_hash = $1
                    AND (last_service_date, trips, rider_trips) IS DISTINCT FROM ($2, $3, $4)
                """,
                [
                    .bytes(hash), .text(outlook.lastServiceDate?.description ?? ""),
                    .int(outlook.trips), .int(outlook.riderTrips),
                ]
            )
        }
    }

    /// Puts a schedule into the archive and to use, in one transaction.
    private func activate(
        _ bytes: [UInt8],
        _ hash: [UInt8],
        from place: String
    ) async throws(DatabaseError) {
        let now = now()
        try await database.transaction { connection throws(DatabaseError) in
            let isNew = try connection.query(
                """
                INSERT INTO feed.schedule_archive
                    (content_hash, source, archive_bytes, epoch, activated_at)
                VALUES ($1, $2, $3, nextval('feed.schedule_epoch'), $4)
                ON CONFLICT (content_hash) DO UPDATE
                    SET epoch = excluded.epoch, activated_at = excluded.activated_at,
                        source = excluded.source
                RETURNING xmax = 0
                """,
                [.bytes(hash), .text(place), .int(bytes.count), .timestamp(now)]
            ).one().bool(0)
            if isNew {
                for (number, start) in stride(
                    from: 0,
                    to: bytes.count,
                    by: ScheduleArchive.chunkBytes
                ).enumerated() {
                    let end = min(bytes.count, start + ScheduleArchive.chunkBytes)
                    try connection.execute(
                        """
                        INSERT INTO feed.schedule_chunks (content_hash, number, body)
                        VALUES ($1, $2, $3)
                        """,
                        [.bytes(hash), .int(number), .bytes(Array(bytes[start..<end]))]
                    )
                }
            }
            try connection.execute(
                """
                DELETE FROM feed.schedule_archive WHERE epoch NOT IN (
                    SELECT epoch FROM feed.schedule_archive ORDER BY epoch DESC LIMIT $1)
                """,
                [.int(Self.keptArchives)]
            )
        }
    }
}
