public import Transit

/// Whether a schedule is of any use to riders, and for how long.
public struct ScheduleOutlook: Sendable, Equatable {
    /// The last day that a calendar names; nil where none names any.
    public let lastServiceDate: ServiceDate?
    /// All its trips.
    public let trips: Int
    /// Those that have a shape and times, so that riders can be matched to them.
    public let riderTrips: Int

    /// Makes an outlook.
    public init(lastServiceDate: ServiceDate?, trips: Int, riderTrips: Int) {
        self.lastServiceDate = lastServiceDate
        self.trips = trips
        self.riderTrips = riderTrips
    }

    /// Whether no trip runs any more; one that started yesterday may still be under way.
    public func isOver(on today: ServiceDate) -> Bool {
        lastServiceDate.map { $0 < today.adding(days: -1) } ?? true
    }

    /// Why riders can do nothing with it, a sentence each; none where they can.
    public func shortcomings(on today: ServiceDate) -> [String] {
        var faults: [String] = []
        if isOver(on: today) {
            faults.append(
                lastServiceDate.map { "its calendar ended on \($0), so no trip runs any more" }
                    ?? "its calendar names no day, so no trip ever runs"
            )
        }
        if riderTrips == 0 {
            faults.append(
                "none of its \(trips) trips has a shape and times, so no rider can report on one"
            )
        }
        return faults
    }
}

extension ScheduleIndex {
    /// What it is good for.
    public var outlook: ScheduleOutlook {
        ScheduleOutlook(
            lastServiceDate: serviceIDs.compactMap { calendar($0)?.lastDate }.max(),
            trips: counts.trips,
            riderTrips: counts.riderTrips
        )
    }
}
