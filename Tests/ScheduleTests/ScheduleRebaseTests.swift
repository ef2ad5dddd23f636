import Testing
import Transit

@testable import Schedule

@Suite struct ScheduleRebaseTests {
    private static let raba = Result {
        try ScheduleLoader.bytes(path: RecordedFeeds.path("raba.gtfs"))
    }

    /// Trips under way at an instant, each on its own start date.
    private func running(_ index: ScheduleIndex, at now: UnixSeconds) -> Int {
        index.tripIDs.count { id in
            guard let trip = index.trip(id) else { return false }
            let date = index.defaultStartDate(for: trip, at: now)
            let seconds = Int(now - index.startOfService(on: date))
            return index.isActive(trip, on: date) && trip.startTime <= seconds
                && seconds <= trip.endTime
        }
    }

    // 2027-12-31 and the first hours of 2028: a year that the feed never knew.
    @Test(arguments: 0..<24) func `has trips under way at any hour`(hour: Int) throws {
        let now = 1_830_207_600 + UnixSeconds(hour) * 3600 + 1799
        let zip = try ScheduleRebase.rebase(zip: try Self.raba.get(), now: now)
        let index = try ScheduleLoader.load(zip: zip, name: "rebased.zip")
        #expect(index.counts.riderTrips == 282)
        #expect(index.timeZone.name.hasPrefix("Etc/GMT"))
        for minutes: UnixSeconds in [0, 30, 60] {
            #expect(running(index, at: now + minutes * 60) >= 5)
        }
        #expect(running(index, at: now + 86_400 * 90) >= 5)
    }

    @Test(arguments: [0, 28_800, 43_200, 86_399], [0, 9, 17])
    func `shows the wanted time to within half an hour`(wanted: Int, hour: Int) throws {
        let now = 1_830_207_600 + UnixSeconds(hour) * 3600 + 1234
        let zip = try ScheduleRebase.rebase(
            zip: try FixtureFeed.zip(),
            now: now,
            secondsOfDay: wanted
        )
        let index = try ScheduleLoader.load(zip: zip, name: "rebased.zip")
        let shown = index.timeZone.localTime(at: now).secondsOfDay
        let apart = abs(shown - wanted)
        #expect(min(apart, 86_400 - apart) <= 1800)
    }

    @Test func `refuses a feed in which nothing runs`() throws {
        let feed = try FixtureFeed.zip(["calendar.txt": nil, "calendar_dates.txt": nil])
        let error = #expect(throws: ScheduleError.self) {
            try ScheduleRebase.rebase(zip: feed, name: "x.zip", now: 0)
        }
        #expect(error?.description == "x.zip: no trip with a shape ever runs")
    }
}
