internal import Transit

/// RFC 3339 text in an agency's own zone, such as `2026-09-02T08:00:00-07:00`.
enum LocalTimestamp {
    /// Writes an instant.
    ///
    /// - Parameters:
    ///   - instant: POSIX seconds.
    ///   - zone: The agency's; an offset with seconds, as zones had before 1900, is cut to minutes.
    /// - Returns: Local date and time with the offset that holds then.
    static func text(_ instant: UnixSeconds, in zone: TimeZoneRules) -> String {
        let (date, second) = zone.localTime(at: instant)
        let offset = zone.offsetSeconds(at: instant)
        let minutes = abs(offset) / 60
        return "\(digits(date.year, 4))-\(digits(date.month))-\(digits(date.day))"
            + "T\(digits(second / 3600)):\(digits(second / 60 % 60)):\(digits(second % 60))"
            + "\(offset < 0 ? "-" : "+")\(digits(minutes / 60)):\(digits(minutes % 60))"
    }

    private static func digits(_ number: Int, _ width: Int = 2) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
    }
}
