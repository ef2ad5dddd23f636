internal import CLinux

/// RFC 3339 text of POSIX times, always in UTC.
public enum Timestamps {
    /// The machine's wall clock in milliseconds since 1970; for log lines, not for domain times.
    public static func nowMilliseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// A monotonic reading in nanoseconds, for deadlines and limiters.
    public static func monotonicNanoseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// `2026-02-16T16:00:00.000Z` for milliseconds since 1970.
    public static func text(ofMilliseconds milliseconds: Int64) -> String {
        let seconds = milliseconds.flooredQuotient(1000)
        let rest = milliseconds - seconds * 1000
        return dateAndTime(seconds) + "." + padded(rest, 3) + "Z"
    }

    /// `2026-02-16T16:00:00Z` for POSIX seconds.
    public static func text(ofSeconds seconds: Int64) -> String { dateAndTime(seconds) + "Z" }

    private static func dateAndTime(_ seconds: Int64) -> String {
        let days = seconds.flooredQuotient(86_400)
        let second = seconds - days * 86_400
        let date = civil(daysSince1970: days)
        return padded(date.year, 4) + "-" + padded(date.month, 2) + "-" + padded(date.day, 2) + "T"
            + padded(second / 3600, 2) + ":" + padded(second / 60 % 60, 2) + ":"
            + padded(second % 60, 2)
    }

    /// The Gregorian date of a day count, by eras of 400 years (146,097 days) that begin on March 1.
    private static func civil(daysSince1970 days: Int64) -> (year: Int64, month: Int64, day: Int64)
    {
        let shifted = days + 719_468
        let era = shifted.flooredQuotient(146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (
            yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month,
            dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        )
    }

    private static func padded(_ value: Int64, _ width: Int) -> String {
        let digits = String(value)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

extension Int64 {
    fileprivate func flooredQuotient(_ divisor: Int64) -> Int64 {
        let quotient = self / divisor
        return self % divisor < 0 ? quotient - 1 : quotient
    }
}

extension Duration {
    /// Whole nanoseconds, as deadlines on the monotonic clock need them: at least 0, at most 2^63.
    public var nanoseconds: UInt64 {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0 else { return 0 }
        guard seconds < 1 << 33 else { return 1 << 63 }
        return UInt64(seconds) * 1_000_000_000 + UInt64(attoseconds / 1_000_000_000)
    }
}
