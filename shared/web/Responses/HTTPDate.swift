/// The dates of HTTP headers (RFC 9110 section 5.6.7).
public enum HTTPDate {
    private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// `Sun, 06 Nov 1994 08:49:37 GMT` for POSIX seconds from 1970 to 9999.
    public static func text(_ seconds: Int64) -> String {
        let day = Int(seconds / 86_400)
        let rest = Int(seconds % 86_400)
        let (year, month, dayOfMonth) = date(day)
        return "\(days[day % 7]), \(padded(dayOfMonth)) \(months[month - 1]) \(year) "
            + "\(padded(rest / 3600)):\(padded(rest / 60 % 60)):\(padded(rest % 60)) GMT"
    }

    /// POSIX seconds of a date in the one form that may still be sent.
    ///
    /// - Returns: nil for every other text, so that a condition on it is ignored.
    public static func seconds(_ text: String) -> Int64? {
        let bytes = Array(text.utf8)
        guard bytes.count == 29, text.hasSuffix(" GMT"), bytes[3] == 0x2C else { return nil }
        func number(_ range: Range<Int>) -> Int? {
            bytes[range].reduce(Optional(0)) { value, byte in
                guard let value, (0x30...0x39).contains(byte) else { return nil }
                return value * 10 + Int(byte - 0x30)
            }
        }
        let name = String(decoding: bytes[8..<11], as: UTF8.self)
        guard let day = number(5..<7), let month = months.firstIndex(of: name),
            let year = number(12..<16), let hour = number(17..<19), let minute = number(20..<22),
            let second = number(23..<25), (1...31).contains(day), year >= 1970, hour < 24,
            minute < 60, second <= 60
        else { return nil }
        let days = daysSince1970(year, month + 1, day)
        return Int64(days * 86_400 + hour * 3600 + minute * 60 + second)
    }

    /// Day counts by eras of 400 years (146,097 days) that begin on March 1.
    private static func daysSince1970(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let yearOfEra = shifted % 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return shifted / 400 * 146_097 + dayOfEra - 719_468
    }

    private static func date(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let shifted = days + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted % 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }

    private static func padded(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
}
