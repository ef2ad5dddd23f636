internal import Database
internal import Schedule
internal import ServiceKit
internal import Transit

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

    /// What came of a look at the operator's schedule.
    enum Look {
        /// A signal came first.
        case stopped
        /// Not read: it is the demo's, or the one in the database.
        case unread
        /// Read, and in this time zone of its agency.
        case read(ScheduleOutlook, TimeZoneRules)

        /// Why riders can do nothing with it.
        func warnings(at now: UnixSeconds) -> [String] {
            guard case .read(let outlook, let zone) = self else { return [] }
            return outlook.shortcomings(on: zone.localTime(at: now).date)
        }
    }

    /// Reads the operator's schedule before anything is made.
    ///
    /// - Parameters:
    ///   - isFirst: Whether no database holds a schedule yet. A later start goes on with that one while
    ///     an address does not answer.
    ///   - signals: End a download.
    ///   - say: Hears of a download.
    /// - Returns: What it is good for, where it was read.
    /// - Throws: ``OperationError`` naming file, line and reason.
    func check(
        isFirst: Bool,
        _ signals: inout SignalWait,
        say: (String) -> Void
    ) throws(OperationError) -> Look {
        guard isGiven else { return .unread }
        guard ScheduleDownload.isAddress(location) else {
            return try look(at: try ScheduleCommand.bytes(location))
        }
        guard isFirst else { return .unread }
        say("fetching \(location)")
        func isStopped() -> Bool { signals.wait(milliseconds: 0) != nil }
        let address = location
        let fetched = BlockingWait.run(unless: isStopped) {
            try await ScheduleDownload.bytes(address)
        }
        switch fetched {
        case .success(let zip): return try look(at: zip)
        case .failure(let error):
            throw OperationError(
                "\(error); set GTFS_STATIC_URL to an address that answers, or to a file"
            )
        case nil: return .stopped
        }
    }

    private func look(at zip: [UInt8]) throws(OperationError) -> Look {
        let index = try ScheduleCommand.load(zip, from: location)
        return .read(index.outlook, index.timeZone)
    }
}
