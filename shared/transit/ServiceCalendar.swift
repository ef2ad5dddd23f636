/// The days on which a GTFS service runs.
public struct ServiceCalendar: Hashable, Sendable {
    /// Bit 0 is Monday, bit 6 Sunday; only within ``period``.
    public var weekdays: UInt8
    /// First and last day of the weekly pattern; nil for a service of single dates only.
    public var period: ClosedRange<ServiceDate>?
    /// Dates on which it runs besides.
    public var added: Set<ServiceDate>
    /// Dates on which it does not run, whatever else is said.
    public var removed: Set<ServiceDate>

    /// Every day from Monday to Friday.
    public static let mondayToFriday: UInt8 = 0b001_1111
    /// Every day of the week.
    public static let everyDay: UInt8 = 0b111_1111

    /// Makes a calendar.
    public init(
        weekdays: UInt8 = 0,
        period: ClosedRange<ServiceDate>? = nil,
        added: Set<ServiceDate> = [],
        removed: Set<ServiceDate> = []
    ) {
        self.weekdays = weekdays
        self.period = period
        self.added = added
        self.removed = removed
    }

    /// The last day that it names, whether taken out again or not; nil where it names none.
    public var lastDate: ServiceDate? {
        let pattern = weekdays == 0 ? nil : period?.upperBound
        return [pattern, added.max()].compactMap(\.self).max()
    }

    /// Whether the service runs on a date: removed dates win over added ones, those over the week.
    public func isActive(on date: ServiceDate) -> Bool {
        if removed.contains(date) { return false }
        if added.contains(date) { return true }
        guard let period, period.contains(date) else { return false }
        return weekdays >> UInt8(date.weekday) & 1 == 1
    }
}
