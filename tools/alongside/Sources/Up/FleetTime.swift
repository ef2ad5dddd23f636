internal import Database
internal import ServiceKit
internal import Telemetry

/// How far the fleet's clock is ahead of this machine's.
struct FleetTime: Sendable {
    private static let table = SettingsTable([FleetClock.start.declaration])

    /// In seconds; 0 for the machine's own time.
    let offsetSeconds: Int64

    /// Asks the fleet's database, and fixes the clock there when the setting shifts it and nobody has yet.
    ///
    /// - Parameters:
    ///   - url: The migrated database.
    ///   - environment: May hold `ALONGSIDE_CLOCK_START`.
    /// - Throws: ``OperationError`` when the setting is wrong or the database does not tell.
    init(_ url: String, environment: [String: String]) throws(OperationError) {
        let start: Int64?
        do throws(SettingsError) {
            start = try Self.table.read(environment: environment)[FleetClock.start]
        } catch {
            throw OperationError("\(error)")
        }
        let now = ApplicationClock.live().now()
        let offset = BlockingWait.run(on: url, called: "alongside-clock") { database in
            try await database.withConnection { connection throws(DatabaseError) -> Int64? in
                guard let start else { return try FleetClock.fixedOffset(on: connection) }
                return try FleetClock.offsetSeconds(start: start, now: now, on: connection)
            }
        }
        switch offset {
        case .success(let seconds): offsetSeconds = seconds ?? 0
        case .failure(let error):
            throw OperationError("the fleet's clock cannot be read: \(error)")
        }
    }

    /// The fleet's clock.
    var clock: ApplicationClock { .live(offsetSeconds: offsetSeconds) }

    /// What the screen says of a shifted clock, with how to have another time.
    var warning: String? {
        guard offsetSeconds != 0 else { return nil }
        let now = Timestamps.text(ofSeconds: clock.now())
        return "the fleet's clock is shifted and says \(now), as its first start has fixed it; for "
            + "another time use a new ALONGSIDE_DATA, or delete the row in bus.clock"
    }
}
