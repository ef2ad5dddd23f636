import Testing
import Transit

@testable import Schedule

/// Whether riders can do something with a schedule on 17 February 2026.
@Suite struct ScheduleOutlookTests {
    private static let today = ServiceDate(daysSince1970: 20_501)

    @Test(arguments: [
        ("20260218", false), ("20260217", false), ("20260216", false), ("20260215", true),
        (nil, true),
    ])
    func `is over once yesterday is behind its last day`(last: String?, isOver: Bool) {
        let outlook = ScheduleOutlook(
            lastServiceDate: last.flatMap { ServiceDate($0) },
            trips: 4,
            riderTrips: 3
        )
        #expect(outlook.isOver(on: Self.today) == isOver)
        #expect(outlook.shortcomings(on: Self.today).count == (isOver ? 1 : 0))
    }

    @Test func `says both where no trip is for riders, either`() {
        let outlook = ScheduleOutlook(
            lastServiceDate: ServiceDate("20230801"),
            trips: 1200,
            riderTrips: 0
        )
        #expect(
            outlook.shortcomings(on: Self.today) == [
                "its calendar ended on 20230801, so no trip runs any more",
                "none of its 1200 trips has a shape and times, so no rider can report on one",
            ]
        )
    }

    @Test func `the last day is that of all calendars`() throws {
        let index = try ScheduleLoader.load(zip: FixtureFeed.zip(), name: "fixture.zip")
        #expect(index.outlook.lastServiceDate == ServiceDate("20261231"))
        let later = FixtureFeed.text("calendar_dates.txt") + "SAT,20270102,1\n"
        let changed = try ScheduleLoader.load(
            zip: FixtureFeed.zip(["calendar_dates.txt": later]),
            name: "fixture.zip"
        )
        #expect(changed.outlook.lastServiceDate == ServiceDate("20270102"))
        #expect(changed.outlook.riderTrips == 3)
    }

    @Test func `a weekly pattern without a day names none`() throws {
        let first = try #require(ServiceDate("20260101"))
        let last = try #require(ServiceDate("20261231"))
        #expect(ServiceCalendar(weekdays: 0, period: first...last).lastDate == nil)
        #expect(ServiceCalendar(weekdays: 1, period: first...last).lastDate == last)
        #expect(ServiceCalendar(added: [first, last]).lastDate == last)
    }
}
