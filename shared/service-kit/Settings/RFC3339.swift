public import Transit

/// Instants as RFC 3339 writes them, `2026-02-16T16:00:00Z`.
public enum RFC3339 {
    /// Reads an instant with a zone (`Z` or `+01:00`); a fraction of a second is cut off.
    ///
    /// - Parameter text: The instant; its date must be in the calendar.
    /// - Returns: POSIX seconds, or nil when `text` is not of that form.
    public static func parse(_ text: String) -> UnixSeconds? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes[4] == 0x2D, bytes[7] == 0x2D, bytes[13] == 0x3A,
            bytes[16] == 0x3A, [0x54, 0x74, 0x20].contains(bytes[10])
        else { return nil }
        guard let year = number(bytes[0..<4]), let month = number(bytes[5..<7]),
            let day = number(bytes[8..<10]), let hour = number(bytes[11..<13]),
            let minute = number(bytes[14..<16]), let second = number(bytes[17..<19]),
            hour < 24, minute < 60, second < 60
        else { return nil }
        let digits = [UInt8](bytes[0..<4] + bytes[5..<7] + bytes[8..<10])
        guard year > 0, month > 0, day > 0,
            let date = ServiceDate(String(decoding: digits, as: UTF8.self))
        else { return nil }
        var zone = bytes[19...]
        if zone.first == 0x2E {
            let fraction = zone.dropFirst().prefix { (0x30...0x39).contains($0) }
            guard !fraction.isEmpty else { return nil }
            zone = zone.dropFirst(1 + fraction.count)
        }
        guard let offset = offsetSeconds(Array(zone)) else { return nil }
        let secondsOfDay = Int64(hour * 3600 + minute * 60 + second)
        return Int64(date.daysSince1970) * 86_400 + secondsOfDay - offset
    }

    private static func offsetSeconds(_ zone: [UInt8]) -> Int64? {
        if zone == [0x5A] || zone == [0x7A] { return 0 }
        guard zone.count == 6, zone[0] == 0x2B || zone[0] == 0x2D, zone[3] == 0x3A,
            let hours = number(zone[1..<3]), let minutes = number(zone[4..<6]),
            hours < 24, minutes < 60
        else { return nil }
        let seconds = Int64(hours * 3600 + minutes * 60)
        return zone[0] == 0x2B ? seconds : -seconds
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        var value = 0
        for digit in digits {
            guard (0x30...0x39).contains(digit) else { return nil }
            value = value * 10 + Int(digit - 0x30)
        }
        return value
    }
}
