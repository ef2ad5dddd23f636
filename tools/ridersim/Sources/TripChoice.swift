internal import Transit

/// A trip on a service date, as the simulator rides it.
struct TripChoice: Sendable {
    let trip: Trip
    let startDate: ServiceDate

    /// Seconds after the start of service.
    func offset(at now: UnixSeconds, in schedule: ScheduleIndex) -> Int {
        Int(now - schedule.startOfService(on: startDate))
    }
}

extension ScheduleIndex {
    /// The trips under way at a moment, sorted by id.
    ///
    /// - Parameters:
    ///   - now: The moment.
    ///   - date: The only service date to look at; nil looks at yesterday, today and tomorrow.
    /// - Returns: Each trip once, with the service date it runs on.
    func tripsUnderWay(at now: UnixSeconds, on date: ServiceDate?) -> [TripChoice] {
        let today = timeZone.localTime(at: now).date
        let dates = date.map { [$0] } ?? [-1, 0, 1].map { today.adding(days: $0) }
        return tripIDs.compactMap { id in
            guard let trip = trip(id) else { return nil }
            return dates.map { TripChoice(trip: trip, startDate: $0) }
                .first { choice in
                    choice.trip.isRunning(at: choice.offset(at: now, in: self))
                        && isActive(trip, on: choice.startDate)
                }
        }
    }
}
