internal import Database
internal import Telemetry
internal import Transit

/// Keeps the history's partitions: made ahead, dropped when they are too old (spec 1.11).
struct LocationRetention: Sendable {
    /// How often it is looked at, and so how late a new day's partition may come at most.
    static let interval = Duration.seconds(3600)
    static let partitions = DayPartitions(
        schema: "feed",
        table: "location_points",
        lateness: DriverReport.longestBatchAge
    )

    let database: Database
    /// Seconds that points are kept after their receipt; nil keeps them for ever.
    let period: Int64?
    let now: @Sendable () -> UnixSeconds
    let logger: Logger

    /// Looks at each interval until the task is cancelled; the first look is the caller's.
    func run() async {
        while true {
            do { try await Task.sleep(for: Self.interval) } catch { return }
            await step()
        }
    }

    /// One look; a failure is left to the next one, as points go to the default partition meanwhile.
    func step() async {
        let now = now()
        let cutoff = period.map { now - $0 }
        do throws(DatabaseError) {
            let change = try await database.withConnection { connection throws(DatabaseError) in
                try Self.partitions.maintain(at: now, keepingFrom: cutoff, on: connection)
            }
            guard !change.isEmpty else { return }
            logger.info(
                "partitions of the history changed",
                [
                    "partitions.made": .integer(change.made.count),
                    "partitions.dropped": .integer(change.dropped.count),
                    "rows.deleted": .integer(change.deletedRows),
                ]
            )
        } catch {
            logger.warning(
                "partitions of the history wait for the next round",
                ["error": .text(error.description)]
            )
        }
    }
}
