import FoundationEssentials
import Replay
import Testing
import Transit
import Verification

/// A recorded movement without a schedule: a trip is made of its own path and times.
struct PathTrace: Sendable {
    let name: String
    let fixes: [RecordedFix]
    let journey: Journey

    /// People's phones in Beijing, mostly a fix each five seconds, in parts of twenty minutes.
    static func phones() throws -> [PathTrace] {
        let rows = try Recording.table("geolife-phones-19-0.csv", separator: ";")
        return try all(rows, id: "tracker", latitude: "Y", longitude: "X", time: "t")
    }

    /// Buses in Liverpool, a fix each 24 seconds, in parts of twenty minutes.
    static func buses() throws -> [PathTrace] {
        let rows = try Recording.table("liverpool-2026-route14.csv", separator: ",")
        return try all(
            rows,
            id: "trip_id",
            latitude: "latitude",
            longitude: "longitude",
            time: "timestamp"
        )
    }

    private static func all(
        _ rows: [[String: String]],
        id: String,
        latitude: String,
        longitude: String,
        time: String
    ) throws -> [PathTrace] {
        let fixes = try rows.map { row in
            RecordedFix(
                vehicleID: try #require(row[id]),
                point: Point(
                    Coordinate(
                        latitude: try #require(Double(row[latitude] ?? "")),
                        longitude: try #require(Double(row[longitude] ?? ""))
                    ),
                    timestamp: try #require(seconds(row[time] ?? ""))
                )
            )
        }
        let parts = Dictionary(grouping: fixes) { fix in
            "\(fix.vehicleID) in part \(fix.point.timestamp / 1200)"
        }
        return parts.sorted { $0.key < $1.key }.compactMap { name, fixes in
            let inOrder = fixes.sorted { $0.point.timestamp < $1.point.timestamp }
            return PathTrace(name, inOrder)
        }
    }

    /// `YYYY-MM-DD HH:MM:SS`, whatever the zone: only differences count here.
    private static func seconds(_ text: String) -> UnixSeconds? {
        let parts = text.prefix(19).split { "- :".contains($0) }.compactMap { Int($0) }
        guard parts.count == 6,
            let date = ServiceDate(year: parts[0], month: parts[1], day: parts[2])
        else { return nil }
        return Int64(date.daysSince1970) * 86_400
            + Int64((parts[3] * 60 + parts[4]) * 60 + parts[5])
    }

    /// nil for a part that is too short to say anything, or that does not move.
    private init?(_ name: String, _ fixes: [RecordedFix]) {
        guard fixes.count >= 2 * WitnessTrace.capacity,
            let shape = ShapeGeometry(points: fixes.map(\.point.coordinate)), shape.length > 500
        else { return nil }
        let start = fixes[0].point.timestamp
        let end = fixes[fixes.count - 1].point.timestamp
        let calls = [(0.0, 0), (shape.length, Int(end - start))]
        let trip = Trip(
            id: TripID(name),
            routeID: "path",
            serviceID: "once",
            shape: shape,
            stopTimes: calls.enumerated().map { index, call in
                StopTime(
                    stopID: StopID("\(index)"),
                    stopSequence: index,
                    alongShape: call.0,
                    arrival: call.1,
                    departure: call.1,
                    coordinate: shape.point(at: call.0)
                )
            }
        )
        self.name = name
        self.fixes = fixes
        journey = Journey(
            trip: trip,
            startDate: ServiceDate(daysSince1970: 0),
            startOfService: start
        )
    }
}
