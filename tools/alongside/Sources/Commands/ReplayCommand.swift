internal import FoundationEssentials
internal import Replay
internal import Schedule
internal import Transit
internal import Verification

/// `alongside replay SCHEDULE TRACE`: what the rules would have said to riders aboard recorded vehicles.
enum ReplayCommand {
    /// What is asked for.
    struct Options: Equatable {
        /// The GTFS zip, a path or an http(s) URL.
        let schedule: String
        /// The recording, a path.
        let trace: String
        /// The trips of a recording that names none, in the order in which they run; else the only trips
        /// that are replayed, all if empty.
        var trips: [TripID] = []
        /// The service date of `trips` where the recording names none.
        var date: ServiceDate?
        /// Whether each point is listed.
        var listsPoints = false
        /// Whether the fixes before the first and after the last stop are replayed too.
        var isWhole = false

        static let usage = """
            replay takes SCHEDULE TRACE and then --trip ID (repeatable), --date YYYYMMDD, --points, --whole
            """

        /// Reads what follows `replay`.
        ///
        /// - Throws: ``OperationError`` for anything else.
        init(_ arguments: [String]) throws(OperationError) {
            guard arguments.count >= 2, !arguments[0].hasPrefix("-"),
                !arguments[1].hasPrefix("-")
            else { throw OperationError(Self.usage) }
            schedule = arguments[0]
            trace = arguments[1]
            var rest = arguments.dropFirst(2)
            while let option = rest.popFirst() {
                switch (option, rest.first) {
                case ("--points", _): listsPoints = true
                case ("--whole", _): isWhole = true
                case ("--trip", let id?):
                    trips.append(TripID(id))
                    rest.removeFirst()
                case ("--date", let text?):
                    guard let date = ServiceDate(text) else {
                        throw OperationError("--date \(text) is no date YYYYMMDD")
                    }
                    self.date = date
                    rest.removeFirst()
                default: throw OperationError(Self.usage)
                }
            }
        }
    }

    /// Reads the files and replays.
    ///
    /// - Throws: ``OperationError`` when one cannot be read, or names no trip of the other.
    static func run(_ options: Options) throws(OperationError) -> String {
        let zip = try ScheduleCommand.bytes(options.schedule)
        let index: ScheduleIndex
        do throws(ScheduleError) {
            index = try ScheduleLoader.load(zip: zip, name: options.schedule)
        } catch {
            throw OperationError("\(error)")
        }
        return try run(options, on: index, trace: try ScheduleCommand.bytes(options.trace))
    }

    /// Replays a recording.
    ///
    /// - Parameters:
    ///   - options: What to replay.
    ///   - index: The schedule.
    ///   - trace: The recording's bytes.
    /// - Returns: A line for each ride, the points of each where they are asked for, and a table.
    /// - Throws: ``OperationError`` when the recording cannot be read or names no trip of the schedule.
    static func run(
        _ options: Options,
        on index: ScheduleIndex,
        trace: some Sequence<UInt8>
    ) throws(OperationError) -> String {
        var fixes: [RecordedFix]
        do throws(TraceError) {
            fixes = try TraceReader.read(trace, on: index)
        } catch {
            throw OperationError("\(options.trace): \(error)")
        }
        for id in options.trips where index.trip(id) == nil {
            throw OperationError("there is no trip \(id) with a shape in the schedule")
        }
        if fixes.allSatisfy({ $0.tripID == nil }) {
            guard !options.trips.isEmpty, let date = options.date else {
                throw OperationError("the recording names no trips: --trip and --date are needed")
            }
            fixes = RecordedFix.assign(
                fixes,
                to: options.trips.compactMap(index.trip),
                on: date,
                startOfService: index.startOfService(on: date)
            )
        } else if !options.trips.isEmpty {
            let wanted = Set(options.trips)
            fixes.removeAll { fix in fix.tripID.map { !wanted.contains($0) } ?? true }
        }
        return try report(options, BusTrip.all(in: fixes), on: index)
    }

    private static func report(
        _ options: Options,
        _ busTrips: [BusTrip],
        on index: ScheduleIndex
    ) throws(OperationError) -> String {
        var lines: [String] = []
        var summary = ReplaySummary()
        var skipped = 0
        for busTrip in busTrips {
            guard let trip = index.trip(busTrip.trip.tripID) else {
                skipped += 1
                continue
            }
            let ridden = options.isWhole ? busTrip : busTrip.aboard(trip)
            guard !ridden.fixes.isEmpty else {
                skipped += 1
                continue
            }
            let ride = ReplayedRide(
                ridden.fixes,
                on: Journey(
                    trip: trip,
                    startDate: busTrip.trip.startDate,
                    startOfService: index.startOfService(on: busTrip.trip.startDate)
                )
            )
            summary.add(ride)
            lines.append("vehicle \(busTrip.vehicleID), \(ride.headline)")
            if options.listsPoints { lines += ride.lines.map { "  \($0)" } }
        }
        guard summary.rides > 0 else {
            throw OperationError("\(options.trace): no vehicle on a trip of the schedule")
        }
        let left = "\(skipped) left out: no trip of the schedule, or nobody can be aboard"
        return (lines + ["", ReplaySummary.head, summary.row("recorded trip"), left])
            .joined(separator: "\n")
    }
}
