internal import Database
internal import Transit
internal import Web

/// Everything that is stored about a driver, as JSON for `GET /api/me/export`.
///
/// Years of reports do not fit in one message, so it comes in parts, which in a row are
/// `{"name","assignments","trips","reports":{"columns","rows"}}`.
enum DriverExport {
    /// Reports in one part; some 0.5 MB, where a message holds 16.
    static let reportLimit = 5000

    /// A piece of the JSON, and where the next one begins.
    struct Part: Sendable, Equatable {
        let json: [UInt8]
        /// nil at the end.
        let next: String?
    }

    /// The last report of a part: of one driver no two are of the same vehicle and second.
    struct Cursor: Equatable {
        let timestamp: UnixSeconds
        let vehicleID: VehicleID

        /// Names a place in the reports.
        init(timestamp: UnixSeconds, vehicleID: VehicleID) {
            self.timestamp = timestamp
            self.vehicleID = vehicleID
        }

        /// Reads the text of a cursor; nil for anything else.
        init?(_ text: String) {
            let parts = text.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let timestamp = UnixSeconds(parts[0]) else { return nil }
            self.init(timestamp: timestamp, vehicleID: VehicleID(String(parts[1])))
        }

        var text: String { "\(timestamp) \(vehicleID.rawValue)" }
    }

    /// Reads a part.
    ///
    /// - Parameters:
    ///   - driverID: Whose.
    ///   - cursor: Where the part before ended; nil for the first.
    ///   - limit: Reports in the part.
    ///   - connection: In a transaction.
    /// - Returns: The part; of an unknown account everything is empty and `name` null.
    /// - Throws: ``DatabaseError`` when a statement fails.
    static func part(
        of driverID: UniqueID,
        after cursor: Cursor?,
        limit: Int = reportLimit,
        on connection: Connection
    ) throws(DatabaseError) -> Part {
        var json = cursor == nil ? try head(of: driverID, on: connection) : []
        let rows = try connection.query(
            """
            SELECT timestamp, vehicle_id, json_build_array(
                vehicle_id, extract(epoch FROM timestamp)::bigint, trip_id, route_id, start_date,
                latitude, longitude, bearing, speed, accuracy,
                extract(epoch FROM received_at)::bigint)::text AS report
            FROM feed.location_points
            WHERE driver_id = $1 AND ($2::timestamptz IS NULL OR (timestamp, vehicle_id) > ($2, $3))
            ORDER BY timestamp, vehicle_id LIMIT $4
            """,
            [
                .uuid(driverID), cursor.map { .timestamp($0.timestamp) } ?? .null,
                .text(cursor?.vehicleID.rawValue ?? ""), .int(limit),
            ]
        )
        var isFirst = cursor == nil
        var last: Cursor?
        for row in rows {
            if !isFirst { json.append(UInt8(ascii: ",")) }
            isFirst = false
            json += try row.text("report").utf8
            last = Cursor(
                timestamp: try row.timestamp("timestamp"),
                vehicleID: VehicleID(try row.text("vehicle_id"))
            )
        }
        guard rows.count == limit, let last else {
            return Part(json: json + Array("]}}".utf8), next: nil)
        }
        return Part(json: json, next: last.text)
    }

    /// The beginning, up to the first report.
    private static func head(
        of driverID: UniqueID,
        on connection: Connection
    ) throws(DatabaseError) -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member(
            "name",
            try connection.query("SELECT name FROM feed.drivers WHERE id = $1", [.uuid(driverID)])
                .first?.optionalText(0)
        )
        for (name, sql) in lists {
            json.key(name)
            json.value(json: try connection.query(sql, [.uuid(driverID)]).one().text(0).utf8)
        }
        return json.bytes + Array(",\"reports\":{\"columns\":\(columns),\"rows\":[".utf8)
    }

    private static let columns = """
        ["vehicle_id","timestamp","trip_id","route_id","start_date","latitude","longitude",\
        "bearing","speed","accuracy","received_at"]
        """

    private static let lists = [
        (
            "assignments",
            """
            SELECT COALESCE(json_agg(json_build_object('vehicle_id', vehicle_id,
                'created_at', extract(epoch FROM created_at)::bigint) ORDER BY vehicle_id), '[]')
            FROM feed.assignments WHERE user_id = $1
            """
        ),
        (
            "trips",
            """
            SELECT COALESCE(json_agg(json_build_object('id', id, 'vehicle_id', vehicle_id,
                'route_id', route_id, 'gtfs_trip_id', gtfs_trip_id, 'status', status,
                'started_at', extract(epoch FROM started_at)::bigint,
                'ended_at', extract(epoch FROM ended_at)::bigint) ORDER BY id), '[]')
            FROM feed.driver_trips WHERE user_id = $1
            """
        ),
    ]
}
