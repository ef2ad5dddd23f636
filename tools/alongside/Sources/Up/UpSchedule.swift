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

    /// Reads the operator's schedule before anything is made.
    ///
    /// - Parameters:
    ///   - isFirst: Whether there is no database yet. A later start has a schedule there, and goes on
    ///     with it while an address does not answer.
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
