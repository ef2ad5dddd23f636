public import Transit
internal import Verification

/// Reads recorded positions of vehicles from CSV, known by the names in its header.
///
/// Two kinds: an archive of GTFS-Realtime VehiclePositions with the message's field names
/// (`vehicle.trip.trip_id`, `vehicle.position.latitude`, `vehicle.timestamp`, …), and an AVL log with
/// `vehicleId`, `time` in local time, `latitude` and `longitude`.
public enum TraceReader {
    /// Reads a recording.
    ///
    /// - Parameters:
    ///   - bytes: UTF-8.
    ///   - index: The schedule; its zone is that of an AVL log's times.
    /// - Returns: The fixes in the order of the file.
    /// - Throws: ``TraceError`` for a header of neither kind and for a row that is not what it says.
    public static func read(
        _ bytes: some Sequence<UInt8>,
        on index: ScheduleIndex
    ) throws(TraceError) -> [RecordedFix] {
        var lines = String(decoding: Array(bytes), as: UTF8.self)
            .split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
            .enumerated()
            .makeIterator()
        // A text without a line has one empty line.
        guard let header = lines.next(), !header.element.isEmpty else {
            throw TraceError("the file is empty")
        }
        let names = fields(header.element)
        let columns = Dictionary(
            names.enumerated().map { ($0.element, $0.offset) },
            uniquingKeysWith: { first, _ in first }
        )
        let isRealtime = columns["vehicle.timestamp"] != nil
        guard isRealtime || columns["time"] != nil else {
            throw TraceError(line: 1, "there is neither a column vehicle.timestamp nor time")
        }
        var result: [RecordedFix] = []
        while let (offset, line) = lines.next() {
            if line.isEmpty { continue }
            let row = Row(columns: columns, fields: fields(line), line: offset + 1)
            result.append(isRealtime ? try realtime(row) : try log(row, index))
        }
        return result
    }

    private static func realtime(_ row: Row) throws(TraceError) -> RecordedFix {
        let tripID = row.text("vehicle.trip.trip_id")
        return RecordedFix(
            vehicleID: row.text("vehicle.vehicle.id"),
            tripID: tripID.isEmpty ? nil : TripID(tripID),
            startDate: ServiceDate(row.text("vehicle.trip.start_date")),
            point: Point(
                Coordinate(
                    latitude: try row.number("vehicle.position.latitude"),
                    longitude: try row.number("vehicle.position.longitude")
                ),
                speed: Double(row.text("vehicle.position.speed")),
                bearing: Double(row.text("vehicle.position.bearing")),
                timestamp: UnixSeconds(try row.number("vehicle.timestamp"))
            )
        )
    }

    private static func log(
        _ row: Row,
        _ index: ScheduleIndex
    ) throws(TraceError) -> RecordedFix {
        RecordedFix(
            vehicleID: row.text("vehicleId"),
            point: Point(
                Coordinate(
                    latitude: try row.number("latitude"),
                    longitude: try row.number("longitude")
                ),
                bearing: Double(row.text("heading")),
                timestamp: try row.localTime("time", index)
            )
        )
    }

    /// The fields of a line; one in quotes may hold commas.
    private static func fields(_ line: Substring) -> [String] {
        var fields = [""]
        var isQuoted = false
        for character in line {
            switch character {
            case "\"": isQuoted.toggle()
            case "," where !isQuoted: fields.append("")
            default: fields[fields.count - 1].append(character)
            }
        }
        return fields
    }

    private struct Row {
        let columns: [String: Int]
        let fields: [String]
        let line: Int

        func text(_ column: String) -> String {
            guard let index = columns[column], index < fields.count else { return "" }
            return fields[index]
        }

        func number(_ column: String) throws(TraceError) -> Double {
            guard let value = Double(text(column)), value.magnitude < 1e15 else {
                throw TraceError(line: line, "\(column) is no number: \"\(text(column))\"")
            }
            return value
        }

        /// `YYYY-MM-DD HH:MM:SS`, counted like stop times from noon minus twelve hours.
        func localTime(
            _ column: String,
            _ index: ScheduleIndex
        ) throws(TraceError) -> UnixSeconds {
            let parts = text(column).split(whereSeparator: { "- :".contains($0) })
                .compactMap { Int($0) }
            guard parts.count == 6,
                let date = ServiceDate(year: parts[0], month: parts[1], day: parts[2])
            else {
                throw TraceError(line: line, "\(column) is no time: \"\(text(column))\"")
            }
            let seconds = (parts[3] * 60 + parts[4]) * 60 + parts[5]
            return index.startOfService(on: date) + Int64(seconds)
        }
    }
}
