internal import Telemetry
internal import Transit

/// Stored reports as a table for spreadsheets (spec 1.11, RFC 4180).
enum HistoryCSV {
    private static let header =
        "timestamp,latitude,longitude,bearing,speed,accuracy,trip_id,received_at\n"

    /// The table's bytes; absent values are empty cells.
    static func bytes(of points: ArraySlice<LocationPoint>) -> [UInt8] {
        var text = header
        for point in points {
            let numbers = [
                String(point.timestamp), point.latitude.description, point.longitude.description,
                point.bearing?.description ?? "", point.speed?.description ?? "",
                point.accuracy?.description ?? "",
            ]
            let cells =
                numbers + [
                    cell(point.tripID.rawValue), Timestamps.text(ofSeconds: point.receivedAt),
                ]
            text += cells.joined(separator: ",") + "\n"
        }
        return Array(text.utf8)
    }

    /// A cell of a sender's text.
    ///
    /// Spreadsheets run what begins with one of these characters as a formula; a quote before it
    /// makes it text. Numbers are ours and stay, as a minus sign begins many of them.
    static func cell(_ text: String) -> String {
        var text = text
        if let first = text.utf8.first, "=+-@\t\r".utf8.contains(first) { text = "'" + text }
        guard text.utf8.contains(where: { "\",\n\r".utf8.contains($0) }) else { return text }
        let doubled = text.split(separator: "\"", omittingEmptySubsequences: false)
            .joined(separator: "\"\"")
        return "\"\(doubled)\""
    }
}
