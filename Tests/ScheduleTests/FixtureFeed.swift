@testable import Schedule

/// The reference's synthetic feed: two routes, one of them a loop, four trips, one holiday.
///
/// `Tests/Fixtures/fixture.zip` is what this builds; a test keeps the two from drifting apart.
enum FixtureFeed {
    static let files: [(name: String, text: String)] = [
        (
            "agency.txt",
            """
            agency_id,agency_name,agency_url,agency_timezone
            A,Fixture Transit,https://example.org,America/Los_Angeles

            """
        ),
        (
            "routes.txt",
            """
            route_id,agency_id,route_short_name,route_long_name,route_type,route_color
            R1,A,1,Straight,3,0044AA
            R2,A,2,Loop,3,AA4400

            """
        ),
        (
            "stops.txt",
            """
            stop_id,stop_name,stop_lat,stop_lon
            ST1,South,47.6,-122.33
            ST2,Middle,47.6045,-122.33
            ST3,North,47.609,-122.33
            LP1,Corner one,47.6,-122.33
            LP2,Corner two,47.6045,-122.33
            LP3,Corner three,47.6045,-122.3234

            """
        ),
        (
            "calendar.txt",
            """
            service_id,monday,tuesday,wednesday,thursday,friday,saturday,sunday,start_date,end_date
            WEEKDAY,1,1,1,1,1,0,0,20260101,20261231
            SAT,0,0,0,0,0,1,0,20260101,20261231

            """
        ),
        (
            "calendar_dates.txt",
            """
            service_id,date,exception_type
            WEEKDAY,20260907,2
            SAT,20260907,1

            """
        ),
        (
            "shapes.txt",
            """
            shape_id,shape_pt_lat,shape_pt_lon,shape_pt_sequence,shape_dist_traveled
            S1,47.6,-122.33,1,0
            S1,47.6045,-122.33,2,500
            S1,47.609,-122.33,3,1001
            S2,47.6,-122.33,1,
            S2,47.6045,-122.33,2,
            S2,47.6045,-122.3234,3,
            S2,47.6,-122.3234,4,
            S2,47.6,-122.33,5,

            """
        ),
        (
            "trips.txt",
            """
            route_id,service_id,trip_id,trip_headsign,direction_id,shape_id
            R1,WEEKDAY,T1,North,0,S1
            R1,SAT,T2,North,0,S1
            R2,WEEKDAY,T3,Loop,0,S2
            R1,WEEKDAY,T4,Nowhere,1,

            """
        ),
        (
            "stop_times.txt",
            """
            trip_id,arrival_time,departure_time,stop_id,stop_sequence,shape_dist_traveled
            T1,08:00:00,08:00:00,ST1,1,0
            T1,08:05:00,08:05:00,ST2,2,500
            T1,08:10:00,08:10:00,ST3,3,1001
            T2,09:00:00,09:00:00,ST1,1,0
            T2,09:05:00,09:05:00,ST2,2,500
            T2,09:10:00,09:10:00,ST3,3,1001
            T3,25:00:00,25:00:00,LP1,1,
            T3,25:10:00,25:10:00,LP2,2,
            T3,25:15:00,25:15:00,LP3,3,
            T3,25:20:00,25:20:00,LP1,4,
            T4,10:00:00,10:00:00,ST1,1,
            T4,10:10:00,10:10:00,ST3,2,

            """
        ),
    ]

    /// The feed with some files replaced, added or, where nil, left out.
    static func zip(_ changes: [String: String?] = [:]) throws -> [UInt8] {
        var result: [(name: String, bytes: [UInt8])] = []
        for file in files {
            if let change = changes[file.name] {
                if let text = change { result.append((file.name, Array(text.utf8))) }
            } else {
                result.append((file.name, Array(file.text.utf8)))
            }
        }
        for (name, change) in changes where !files.contains(where: { $0.name == name }) {
            if let text = change { result.append((name, Array(text.utf8))) }
        }
        return try ZipArchive.write(result)
    }

    static func text(_ name: String) -> String { files.first { $0.name == name }?.text ?? "" }
}
