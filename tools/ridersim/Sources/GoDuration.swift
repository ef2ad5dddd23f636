/// Reads durations as Go writes them: `5s`, `1m30s`, `250ms`, `0`.
enum GoDuration {
    private static let units: [String: Double] = ["ms": 1e-3, "s": 1, "m": 60, "h": 3600]

    /// Seconds, or nil when the text is no duration.
    static func seconds(_ text: String) -> Double? {
        var rest = Substring(text)
        let sign: Double = rest.first == "-" ? -1 : 1
        if rest.first == "-" || rest.first == "+" { rest.removeFirst() }
        if rest == "0" { return 0 }
        guard !rest.isEmpty else { return nil }
        var total = 0.0
        while !rest.isEmpty {
            let number = rest.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }
            rest.removeFirst(number.count)
            let unit = rest.prefix { $0.isASCII && $0.isLetter }
            rest.removeFirst(unit.count)
            guard let value = Double(number), let scale = units[String(unit)] else { return nil }
            total += value * scale
        }
        return sign * total
    }
}
