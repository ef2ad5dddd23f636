internal import Schedule
public import Transit

/// A made-up schedule whose trips all run now: straight lines to the north, six hours long, begun an hour ago.
///
/// Every trip has an id of its own, so that riders spread over the slots, and the same line.
public struct LoadSchedule: Sendable {
    /// Metres per second along the line, which is also what the timetable says.
    public static let speed = 8.0
    /// Seconds that a trip takes.
    static let duration = 21_600
    /// Seconds between two stops.
    private static let stopInterval = 600
    /// Seconds between two points of the shape.
    private static let shapeInterval = 50
    /// Where the line begins.
    private static let origin = (latitude: 47.0, longitude: -122)
    /// Degrees of latitude in a second, on a sphere of 6,371 km.
    private static let degrees = speed / 111_194.926_644_6

    /// When all trips began.
    public let startedAt: UnixSeconds
    /// The service date of all trips.
    public let date: ServiceDate
    /// The trips.
    public let trips: [TripID]

    /// Plans trips around a time.
    ///
    /// - Parameters:
    ///   - count: How many.
    ///   - now: POSIX seconds.
    public init(trips count: Int, now: UnixSeconds) {
        startedAt = now - 3600
        date = ServiceDate(daysSince1970: Int(startedAt / 86_400))
        trips = (0..<count).map { TripID("load-\($0)") }
    }

    /// Where the timetable has every vehicle at a time.
    func place(at time: UnixSeconds) -> (latitude: Double, longitude: Int) {
        (Self.origin.latitude + Double(time - startedAt) * Self.degrees, Self.origin.longitude)
    }

    /// The schedule as a GTFS zip.
    public func zip() throws -> [UInt8] {
        try ZipArchive.write([
            (
                "agency.txt",
                text(
                    "agency_id,agency_name,agency_url,agency_timezone",
                    [
                        "A,Load,https://agency.example,Etc/UTC"
                    ]
                )
            ),
            ("routes.txt", text("route_id,agency_id,route_short_name,route_type", ["R,A,1,3"])),
            ("calendar.txt", calendar),
            (
                "stops.txt",
                text(
                    "stop_id,stop_name,stop_lat,stop_lon",
                    stops.map { offset in
                        "S\(offset),Stop \(offset),\(latitude(offset)),\(Self.origin.longitude)"
                    }
                )
            ),
            ("shapes.txt", shape),
            (
                "trips.txt",
                text("route_id,service_id,trip_id,shape_id", trips.map { "R,D,\($0),L" })
            ),
            ("stop_times.txt", stopTimes),
        ])
    }

    private var stops: [Int] {
        Array(stride(from: 0, through: Self.duration, by: Self.stopInterval))
    }

    private var calendar: [UInt8] {
        text(
            "service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date",
            ["D,1,1,1,1,1,1,1,\(date.adding(days: -1)),\(date.adding(days: 2))"]
        )
    }

    private var shape: [UInt8] {
        text(
            "shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence",
            stride(from: 0, through: Self.duration, by: Self.shapeInterval).map { offset in
                "L,\(latitude(offset)),\(Self.origin.longitude),\(offset)"
            }
        )
    }

    private var stopTimes: [UInt8] {
        let start = Int(startedAt) - date.daysSince1970 * 86_400
        return text(
            "trip_id,arrival_time,departure_time,stop_id,stop_sequence",
            trips.flatMap { trip in
                stops.map { offset in
                    let time = clock(start + offset)
                    return "\(trip),\(time),\(time),S\(offset),\(offset)"
                }
            }
        )
    }

    private func latitude(_ offset: Int) -> Double {
        place(at: startedAt + UnixSeconds(offset)).latitude
    }

    private func clock(_ seconds: Int) -> String {
        func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
        return "\(two(seconds / 3600)):\(two(seconds / 60 % 60)):\(two(seconds % 60))"
    }

    private func text(_ header: String, _ lines: [String]) -> [UInt8] {
        Array(([header] + lines).joined(separator: "\n").utf8) + [0x0A]
    }
}
