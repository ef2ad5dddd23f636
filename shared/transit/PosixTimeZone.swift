/// The rule at the end of a zone file, which says when clocks change in all later years.
///
/// For example `PST8PDT,M3.2.0,M11.1.0`. Hours may run from -167 to 167 (RFC 8536, section 3.3.1).
struct PosixTimeZone: Sendable {
    private let standardOffset: Int
    private let daylight: (offset: Int, start: ChangeDay, end: ChangeDay)?

    private enum Day {
        /// Day 1 to 365; 29 February is never counted.
        case julian(Int)
        /// Day 0 to 365; 29 February counts.
        case zeroBased(Int)
        /// A weekday (0 is Sunday) of the first to fourth, or last (5), week of a month.
        case week(month: Int, week: Int, weekday: Int)
    }

    private struct ChangeDay {
        let day: Day
        /// Seconds after local midnight, by the clock before the change.
        let time: Int

        /// Seconds after 1970-01-01 00:00 by the local clock before the change.
        func localSeconds(in year: Int) -> Int {
            guard let newYear = ServiceDate(year: year, month: 1, day: 1) else { return 0 }
            let first = newYear.daysSince1970
            let number =
                switch day {
                case .zeroBased(let day): first + day
                case .julian(let day):
                    first + day - 1
                        + (day >= 60 && ServiceDate(year: year, month: 2, day: 29) != nil ? 1 : 0)
                case .week(let month, let week, let weekday):
                    Self.day(weekday, ofWeek: week, month: month, year: year)
                }
            return number * 86_400 + time
        }

        private static func day(_ weekday: Int, ofWeek week: Int, month: Int, year: Int) -> Int {
            guard let first = ServiceDate(year: year, month: month, day: 1) else { return 0 }
            let sundayBased = (first.weekday + 1) % 7
            let day = first.daysSince1970 + (weekday - sundayBased + 7) % 7 + (week - 1) * 7
            let isNextMonth = week == 5 && ServiceDate(daysSince1970: day).month != month
            return isNextMonth ? day - 7 : day
        }
    }

    /// Seconds to add to UTC for local time at an instant.
    func offsetSeconds(at instant: UnixSeconds) -> Int {
        guard let daylight else { return standardOffset }
        let seconds = Int(instant)
        let local = seconds.addingReportingOverflow(standardOffset)
        guard !local.overflow else { return standardOffset }
        let day = local.partialValue.flooredQuotient(by: 86_400)
        let year = ServiceDate(daysSince1970: day).year
        let start = daylight.start.localSeconds(in: year) - standardOffset
        let end = daylight.end.localSeconds(in: year) - daylight.offset
        let isDaylight =
            start < end
            ? start <= seconds && seconds < end : !(end <= seconds && seconds < start)
        return isDaylight ? daylight.offset : standardOffset
    }

    // MARK: - Reading

    init?(_ text: ArraySlice<UInt8>) {
        var rest = text
        guard Self.skipName(&rest), let west = Self.time(&rest, mostHours: 24) else { return nil }
        standardOffset = -west
        guard !rest.isEmpty else {
            daylight = nil
            return
        }
        guard Self.skipName(&rest) else { return nil }
        var offset = standardOffset + 3600
        if rest.first != UInt8(ascii: ",") {
            guard let west = Self.time(&rest, mostHours: 24) else { return nil }
            offset = -west
        }
        guard let start = Self.changeDay(&rest), let end = Self.changeDay(&rest), rest.isEmpty
        else { return nil }
        daylight = (offset, start, end)
    }

    private static func skipName(_ text: inout ArraySlice<UInt8>) -> Bool {
        if text.first == UInt8(ascii: "<") {
            guard let end = text.firstIndex(of: UInt8(ascii: ">")) else { return false }
            text = text[(end + 1)...]
            return true
        }
        let rest = text.drop { (0x41...0x5A).contains($0) || (0x61...0x7A).contains($0) }
        defer { text = rest }
        return text.count - rest.count >= 3
    }

    private static func take(_ character: Unicode.Scalar, _ text: inout ArraySlice<UInt8>) -> Bool {
        guard text.first == UInt8(ascii: character) else { return false }
        text = text.dropFirst()
        return true
    }

    private static func number(
        _ text: inout ArraySlice<UInt8>,
        _ range: ClosedRange<Int>
    ) -> Int? {
        let digits = text.prefix { (0x30...0x39).contains($0) }
        guard (1...3).contains(digits.count) else { return nil }
        text = text.dropFirst(digits.count)
        let value = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        return range.contains(value) ? value : nil
    }

    /// Reads `[+|-]hh[:mm[:ss]]` as seconds.
    private static func time(_ text: inout ArraySlice<UInt8>, mostHours: Int) -> Int? {
        let isNegative = take("-", &text)
        if !isNegative { _ = take("+", &text) }
        guard let hours = number(&text, 0...mostHours) else { return nil }
        var seconds = hours * 3600
        for unit in [60, 1] {
            guard take(":", &text) else { break }
            guard let value = number(&text, 0...59) else { return nil }
            seconds += value * unit
        }
        return isNegative ? -seconds : seconds
    }

    private static func changeDay(_ text: inout ArraySlice<UInt8>) -> ChangeDay? {
        guard take(",", &text) else { return nil }
        let day: Day
        if take("M", &text) {
            guard let month = number(&text, 1...12), take(".", &text),
                let week = number(&text, 1...5), take(".", &text),
                let weekday = number(&text, 0...6)
            else { return nil }
            day = .week(month: month, week: week, weekday: weekday)
        } else if take("J", &text) {
            guard let number = number(&text, 1...365) else { return nil }
            day = .julian(number)
        } else {
            guard let number = number(&text, 0...365) else { return nil }
            day = .zeroBased(number)
        }
        guard take("/", &text) else { return ChangeDay(day: day, time: 7200) }
        guard let time = time(&text, mostHours: 167) else { return nil }
        return ChangeDay(day: day, time: time)
    }
}
