/// Durations as Go writes them (`300ms`, `1.5h`, `1h30m`), the form of every duration setting.
public enum GoDuration {
    private static let units: [(name: String, nanoseconds: Int64)] = [
        ("ns", 1), ("us", 1_000), ("µs", 1_000), ("μs", 1_000), ("ms", 1_000_000),
        ("s", 1_000_000_000), ("m", 60_000_000_000), ("h", 3_600_000_000_000),
    ]

    /// Reads a duration.
    ///
    /// Units are ns, us, ms, s, m and h; there are no days. A number without a unit is only
    /// allowed for `0`.
    ///
    /// - Parameter text: An optional sign and one or more numbers, each with its unit.
    /// - Returns: nil when `text` is not of that form or longer than about 292 years.
    public static func parse(_ text: String) -> Duration? {
        var rest = Substring(text)
        var isNegative = false
        if let sign = rest.first, sign == "-" || sign == "+" {
            isNegative = sign == "-"
            rest.removeFirst()
        }
        if rest == "0" { return .zero }
        guard !rest.isEmpty else { return nil }
        var total: Int64 = 0
        while !rest.isEmpty {
            guard let part = takePart(from: &rest) else { return nil }
            let (sum, overflow) = total.addingReportingOverflow(part)
            guard !overflow else { return nil }
            total = sum
        }
        return .nanoseconds(isNegative ? -total : total)
    }

    private static func takePart(from rest: inout Substring) -> Int64? {
        let whole = rest.prefix { $0.isASCII && $0.isNumber }
        rest = rest.dropFirst(whole.count)
        var fraction: Substring = ""
        if rest.first == "." {
            rest.removeFirst()
            fraction = rest.prefix { $0.isASCII && $0.isNumber }
            rest = rest.dropFirst(fraction.count)
        }
        guard !whole.isEmpty || !fraction.isEmpty else { return nil }
        let name = rest.prefix { $0 != "." && !($0.isASCII && $0.isNumber) }
        rest = rest.dropFirst(name.count)
        guard let unit = units.first(where: { $0.name == name }) else { return nil }
        guard let count = whole.isEmpty ? 0 : Int64(whole) else { return nil }
        let (scaled, overflow) = count.multipliedReportingOverflow(by: unit.nanoseconds)
        guard !overflow else { return nil }
        guard !fraction.isEmpty else { return scaled }
        // Digits beyond a nanosecond of an hour (3.6e12) cannot matter.
        let digits = fraction.prefix(15)
        guard let part = Double("0." + digits) else { return nil }
        let (sum, tooLong) = scaled.addingReportingOverflow(
            Int64(part * Double(unit.nanoseconds))
        )
        return tooLong ? nil : sum
    }

    /// Writes a duration in its shortest Go form, `1h30m` or `250ms`.
    public static func text(_ duration: Duration) -> String {
        let (seconds, attoseconds) = duration.components
        let nanoseconds = attoseconds / 1_000_000_000
        if seconds == 0, nanoseconds == 0 { return "0s" }
        let sign = seconds < 0 || nanoseconds < 0 ? "-" : ""
        if seconds == 0 { return sign + subsecond(abs(nanoseconds)) }
        let total = seconds.magnitude
        var text = sign
        if total >= 3600 { text += "\(total / 3600)h" }
        if total / 60 % 60 > 0 { text += "\(total / 60 % 60)m" }
        if total % 60 > 0 { text += "\(total % 60)s" }
        if nanoseconds != 0 { text += subsecond(abs(nanoseconds)) }
        return text
    }

    private static func subsecond(_ nanoseconds: Int64) -> String {
        for (divisor, unit) in [(Int64(1_000_000), "ms"), (1_000, "us")]
        where nanoseconds % divisor == 0 {
            return "\(nanoseconds / divisor)\(unit)"
        }
        return "\(nanoseconds)ns"
    }
}
