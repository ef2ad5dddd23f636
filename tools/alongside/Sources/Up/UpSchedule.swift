internal import Database
internal import ServiceKit

/// The schedule of an `up`: the operator's, else the demo's, which is made when the fleet's clock is known.
struct UpSchedule {
    /// A path or an address.
    let location: String
    /// Whether it is the operator's.
    let isGiven: Bool

    init(_ settings: Settings, _ folder: DataFolder) {
        let given = settings[UpSettings.schedule]
        isGiven = given != nil
        let isAddress = given.map(ScheduleDownload.isAddress) ?? false
        let place = given ?? folder.schedules + "/demo.zip"
        location = isAddress ? place : DataFolder.absolute(place)
    }

    /// Whether a database holds a schedule, so that a start does not need the agency.
    ///
    /// - Throws: ``OperationError`` when the database does not answer.
    static func isArchived(in url: String) throws(OperationError) -> Bool {
        let active = BlockingWait.run(on: url, called: "alongside-up") { database in
            try await ScheduleArchive(database).active()
        }
        switch active {
        case .success(let entry): return entry != nil
        case .failure(let error as DatabaseError): throw OperationError(unreachable: error)
        case .failure(let error): throw OperationError("the database cannot be asked: \(error)")
        }
    }

    /// Reads the operator's schedule before anything is made.
    ///
    /// - Parameters:
    ///   - isFirst: Whether no database holds a schedule yet. A later start goes on with that one while
    ///     an address does not answer.
    ///   - signals: End a download.
    ///   - say: Hears of a download.
    /// - Returns: false when a signal came first.
    /// - Throws: ``OperationError`` naming file, line and reason.
    func check(
        isFirst: Bool,
        _ signals: inout SignalWait,
        say: (String) -> Void
    ) throws(OperationError) -> Bool {
        guard isGiven else { return true }
        guard ScheduleDownload.isAddress(location) else {
            _ = try ScheduleCommand.check(location)
            return true
        }
        guard isFirst else { return true }
        say("fetching \(location)")
        func isStopped() -> Bool { signals.wait(milliseconds: 0) != nil }
        let location = location
        let fetched = BlockingWait.run(unless: isStopped) {
            try await ScheduleDownload.bytes(location)
        }
        switch fetched {
        case .success(let zip): _ = try ScheduleCommand.check(zip, from: location)
        case .failure(let error):
            throw OperationError(
                "\(error); set GTFS_STATIC_URL to an address that answers, or to a file"
            )
        case nil: return false
        }
        return true
    }
}
