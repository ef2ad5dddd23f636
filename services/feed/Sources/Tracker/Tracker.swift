internal import Database
internal import Synchronization
internal import Transit

/// What this replica knows of live vehicles: a copy of the rows that any replica writes.
///
/// A row is believed by its revision, whichever way it came: from a commit here, or read after
/// another replica's. What ages is the time of the report, so a restart, which reads the rows
/// again, prolongs no vehicle's life (spec 1.7).
final class Tracker: Sendable {
    /// Where commits of live rows are told.
    static let channel = "feed_live_vehicles"

    /// Numbers for admins.
    struct Counts: Sendable, Equatable {
        /// Vehicles with a fresh report.
        var active: Int
        /// Vehicles that were ever seen by this process.
        var total: Int
        /// The newest receipt; nil when there was none.
        var lastUpdate: UnixSeconds?
    }

    private struct State {
        var vehicles: [VehicleID: LiveVehicle] = [:]
        var lastUpdate: UnixSeconds?
    }

    /// Seconds of report time during which a vehicle is live.
    let staleness: Int64
    private let state = Mutex(State())

    /// Makes an empty tracker.
    ///
    /// - Parameter staleness: Seconds of report time during which a vehicle is live, above 0.
    init(staleness: Int64) {
        precondition(staleness > 0, "a vehicle is live for some time")
        self.staleness = staleness
    }

    /// Takes rows; one that is older than what is known changes nothing.
    func apply(_ rows: [LiveVehicle]) {
        guard !rows.isEmpty else { return }
        state.withLock { state in
            for row in rows {
                if let known = state.vehicles[row.vehicleID], known.revision >= row.revision {
                    continue
                }
                state.vehicles[row.vehicleID] = row
                state.lastUpdate = max(state.lastUpdate ?? row.receivedAt, row.receivedAt)
            }
        }
    }

    /// The vehicles with a fresh report, by id.
    func live(at now: UnixSeconds) -> [LiveVehicle] {
        state.withLock { state in
            state.vehicles.values.filter { isFresh($0, now) }
        }
        .sorted { $0.vehicleID < $1.vehicleID }
    }

    /// Numbers for admins.
    func counts(at now: UnixSeconds) -> Counts {
        state.withLock { state in
            Counts(
                active: state.vehicles.values.count { isFresh($0, now) },
                total: state.vehicles.count,
                lastUpdate: state.lastUpdate
            )
        }
    }

    private func isFresh(_ vehicle: LiveVehicle, _ now: UnixSeconds) -> Bool {
        vehicle.reportedAt >= now - staleness
    }
}
