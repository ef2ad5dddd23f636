internal import FoundationEssentials
internal import Schedule
internal import ServiceKit
internal import Transit

/// `alongside schedule check` and `alongside schedule rebase`.
enum ScheduleCommand {
    /// Loads a schedule and says what is in it.
    ///
    /// - Parameter location: A path or an http(s) URL.
    /// - Returns: Some lines about it.
    /// - Throws: ``OperationError`` naming file, line and reason.
    static func check(_ location: String) throws(OperationError) -> String {
        try check(try bytes(location), from: location)
    }

    private static func check(
        _ zip: [UInt8],
        from location: String
    ) throws(OperationError) -> String {
        let index = try load(zip, from: location)
        let counts = index.counts
        let today = index.serviceDate(at: ApplicationClock.live().now())
        let warnings = index.outlook.shortcomings(on: today).map { "\nwarning: \($0)" }.joined()
        return """
            \(location): \(index.agencyName), \(index.timeZone.name)
              \(counts.routes) routes, \(counts.trips) trips, \(counts.stopTimes) stop times, \
            \(counts.stops) stops
              \(counts.shapes) shapes with \(counts.shapePoints) points
              \(counts.riderTrips) trips that riders can report on, until \
            \(index.outlook.lastServiceDate.map(String.init(describing:)) ?? "no day")\(warnings)
            """
    }

    /// Loads a schedule that was read.
    ///
    /// - Throws: ``OperationError`` naming file, line and reason.
    static func load(
        _ zip: [UInt8],
        from location: String
    ) throws(OperationError) -> ScheduleIndex {
        do {
            return try ScheduleLoader.load(zip: zip, name: location)
        } catch {
            throw OperationError("\(error)")
        }
    }

    /// Writes a copy of a schedule that runs now and every day.
    ///
    /// - Throws: ``OperationError`` when it cannot be read, moved or written; `to` is then unchanged.
    static func rebase(
        from: String,
        to: String,
        now: UnixSeconds,
        secondsOfDay: Int?
    ) throws(OperationError) {
        let moved: [UInt8]
        do {
            moved = try ScheduleRebase.rebase(
                zip: try bytes(from),
                name: from,
                now: now,
                secondsOfDay: secondsOfDay
            )
        } catch let error as OperationError {
            throw error
        } catch {
            throw OperationError("\(error)")
        }
        try DataFolder.write(moved, to: to, mode: 0o644)
    }

    /// Reads a file or fetches a URL.
    ///
    /// - Throws: ``OperationError`` saying which and why.
    static func bytes(_ location: String) throws(OperationError) -> [UInt8] {
        if ScheduleDownload.isAddress(location) {
            switch BlockingWait.run({ try await ScheduleDownload.bytes(location) }) {
            case .success(let bytes): return bytes
            case .failure(let error): throw OperationError("\(error)")
            }
        }
        guard let data = FileManager.default.contents(atPath: location) else {
            throw OperationError("\(location): there is no such file, or it cannot be read")
        }
        return Array(data)
    }
}
