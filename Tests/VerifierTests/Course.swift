import Messages
import Testing
import Transit

/// A schedule of straight trips to the north, half-way at the instant that the tests begin.
///
/// `T1` and `T2` run on every day, `SAT` on Saturdays only; `T1` calls at stop B twice.
enum Course {
    /// 2026-02-16T16:00:00Z, a Monday; what `ManualClock` starts with.
    static let start: UnixSeconds = 1_771_257_600
    static let monday = ServiceDate(daysSince1970: 20_500)
    /// Seconds that a trip takes.
    static let duration = 1200.0

    /// The schedule; its line is bent to the east by some degrees, and another line is another shape.
    static func index(
        _ trips: [TripID] = ["T1", "T2", "SAT"],
        bend: Double = 0
    ) throws
        -> ScheduleIndex
    {
        let shape = try #require(
            ShapeGeometry(points: [
                Coordinate(latitude: 47.6, longitude: -122.33),
                Coordinate(latitude: 47.645, longitude: -122.33 + bend),
                Coordinate(latitude: 47.69, longitude: -122.33),
            ])
        )
        let zone = try TimeZoneRules(named: "Etc/UTC")
        let year = monday.adding(days: -40)...monday.adding(days: 300)
        return ScheduleIndex(
            timeZone: zone,
            trips: trips.map { trip($0, on: shape, startOfDay: zone.startOfService(on: monday)) },
            calendars: [
                "DAILY": ServiceCalendar(weekdays: 0b111_1111, period: year),
                "SAT": ServiceCalendar(weekdays: 0b010_0000, period: year),
            ]
        )
    }

    private static func trip(
        _ id: TripID,
        on shape: ShapeGeometry,
        startOfDay: UnixSeconds
    ) -> Trip {
        let middle = Int(start - startOfDay)
        let calls: [(StopID, Double)] = [("A", 0), ("B", 0.6), ("B", 0.8), ("C", 1)]
        return Trip(
            id: id,
            routeID: "R1",
            serviceID: id == "SAT" ? "SAT" : "DAILY",
            shape: shape,
            stopTimes: calls.enumerated().map { place, call in
                let time = middle + Int((call.1 - 0.5) * duration)
                return StopTime(
                    stopID: call.0,
                    stopSequence: place + 1,
                    alongShape: shape.length * call.1,
                    arrival: time,
                    departure: time,
                    coordinate: shape.point(at: shape.length * call.1)
                )
            }
        )
    }

    /// Where the timetable has the vehicle some seconds after ``start``.
    ///
    /// `east` moves the points beside the line, `ahead` along it, both in degrees; 0.01 to the east is
    /// some 750 metres.
    static func points(
        _ offsets: some Sequence<Int64>,
        east: Double = 0,
        ahead: Double = 0
    ) -> [ReportedPoint] {
        offsets.map { offset in
            ReportedPoint(
                latitude: 47.6 + 0.09 * (0.5 + Double(offset) / duration) + ahead,
                longitude: -122.33 + east,
                timestamp: start + offset
            )
        }
    }
}
