/// A calendar date of GTFS, `YYYYMMDD` in text.
public struct ServiceDate: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// Days since 1970-01-01, negative before it.
    public let daysSince1970: Int

    /// Makes the date so many days after 1970-01-01.
    ///
    /// - Parameter daysSince1970: Clamped to the years 1 to 9999, which `YYYYMMDD` can write.
    public init(daysSince1970: Int) {
        self.daysSince1970 = min(max(daysSince1970, Self.earliest), Self.latest)
    }

    /// Makes a date from its parts.
    ///
    /// - Returns: nil unless the calendar has that date in the years 1 to 9999.
    public init?(year: Int, month: Int, day: Int) {
        guard (1...9999).contains(year), (1...12).contains(month),
            day >= 1, day <= Self.days(inMonth: month, of: year)
        else { return nil }
        daysSince1970 = Self.days(year, month, day)
    }

    /// Reads `YYYYMMDD`.
    ///
    /// - Returns: nil unless the text is eight ASCII digits that name a date of the calendar.
    public init?(_ text: String) {
        guard text.utf8.count == 8 else { return nil }
        var number = 0
        for byte in text.utf8 {
            guard (0x30...0x39).contains(byte) else { return nil }
            number = number * 10 + Int(byte - 0x30)
        }
        self.init(year: number / 10_000, month: number / 100 % 100, day: number % 100)
    }

    /// The year, 1 to 9999.
    public var year: Int { civil.year }
    /// The month, 1 to 12.
    public var month: Int { civil.month }
    /// The day of the month, 1 to 31.
    public var day: Int { civil.day }

    /// The day of the week, 0 for Monday to 6 for Sunday.
    public var weekday: Int { ((daysSince1970 + 3) % 7 + 7) % 7 }

    /// The date so many days later, or earlier when negative.
    public func adding(days: Int) -> ServiceDate {
        let (sum, overflow) = daysSince1970.addingReportingOverflow(days)
        return ServiceDate(daysSince1970: overflow ? (days < 0 ? .min : .max) : sum)
    }

    /// `YYYYMMDD`.
    public var description: String {
        let (year, month, day) = civil
        let digits = String(year * 10_000 + month * 100 + day)
        return String(repeating: "0", count: 8 - digits.utf8.count) + digits
    }

    /// Orders by time.
    public static func < (left: ServiceDate, right: ServiceDate) -> Bool {
        left.daysSince1970 < right.daysSince1970
    }

    // MARK: - The Gregorian calendar

    private static let earliest = days(1, 1, 1)
    private static let latest = days(9999, 12, 31)

    private static func days(inMonth month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    // Counts days in 400-year eras that begin on 1 March, so that the leap day is the last of a
    // year (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let marchYear = month <= 2 ? year - 1 : year
        let era = (marchYear >= 0 ? marchYear : marchYear - 399) / 400
        let yearOfEra = marchYear - era * 400
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    private var civil: (year: Int, month: Int, day: Int) {
        let shifted = daysSince1970 + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
    }
}

/// One run of a trip: its id and the service date on which it starts.
public struct TripInstance: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The trip.
    public let tripID: TripID
    /// The service date, which may lie a day before the calendar date after midnight.
    public let startDate: ServiceDate

    /// Makes a trip instance.
    public init(tripID: TripID, startDate: ServiceDate) {
        self.tripID = tripID
        self.startDate = startDate
    }

    /// `<trip id>:<YYYYMMDD>`.
    public var description: String { "\(tripID):\(startDate)" }

    /// Orders by the trip id's bytes, then by date.
    public static func < (left: TripInstance, right: TripInstance) -> Bool {
        left.tripID == right.tripID
            ? left.startDate < right.startDate : left.tripID < right.tripID
    }
}
