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
            if try await ScheduleArchive(database).active()?.contentHash != hash {
                // What does not load is not archived.
                try await source.use(
                    bytes,
                    from: source.location,
                    keepsRiders: hasRiders
                )
                try await activate(bytes, hash, from: source.location)
                logger.info("schedule archived", ["archive.bytes": .integer(bytes.count)])
            }
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
