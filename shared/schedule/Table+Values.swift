internal import Transit

extension Table {
    /// The largest whole number taken; larger ones are mistakes.
    private static let largestInteger = 1 << 31 - 1

    private func trimmed(_ field: Field) -> (start: Int, end: Int) {
        var (start, end) = (field.start, field.end)
        while start < end, bytes[start] == 0x20 { start += 1 }
        while start < end, bytes[end - 1] == 0x20 { end -= 1 }
        return (start, end)
    }

    /// Whether nothing but spaces stands in a field.
    func isBlank(_ field: Field) -> Bool {
        let (start, end) = trimmed(field)
        return start == end
    }

    /// A whole number of at least zero, or nil when blank.
    func integer(_ column: String, _ index: Int) throws(ScheduleError) -> Int? {
        let field = self[index]
        let (start, end) = trimmed(field)
        guard start < end else { return nil }
        var value = 0
        for position in start..<end {
            let digit = Int(bytes[position]) - 0x30
            guard (0...9).contains(digit) else { throw failure(column, field, "a whole number") }
            value = value * 10 + digit
            guard value <= Self.largestInteger else {
                throw failure(column, field, "a whole number of reasonable size")
            }
        }
        return value
    }

    /// A decimal number, or nil when blank.
    func decimal(_ column: String, _ index: Int) throws(ScheduleError) -> Double? {
        let field = self[index]
        let (start, end) = trimmed(field)
        guard start < end else { return nil }
        var position = start
        let isNegative = bytes[position] == UInt8(ascii: "-")
        if isNegative || bytes[position] == UInt8(ascii: "+") { position += 1 }
        var digits = 0
        var mantissa = 0
        var fraction = -1
        while position < end {
            let byte = bytes[position]
            if byte == UInt8(ascii: "."), fraction < 0 {
                fraction = 0
            } else {
                guard (0x30...0x39).contains(byte), digits < 18 else { break }
                mantissa = mantissa * 10 + Int(byte - 0x30)
                digits += 1
                if fraction >= 0 { fraction += 1 }
            }
            position += 1
        }
        // Both are exact as doubles here, so one division rounds as a full conversion would.
        if position == end, digits > 0, mantissa < 1 << 53 {
            let value = Double(mantissa) / Self.powersOfTen[max(0, fraction)]
            return isNegative ? -value : value
        }
        let allowed = bytes[start..<end].allSatisfy {
            (0x30...0x39).contains($0) || $0 == 0x2E || $0 == 0x2D || $0 == 0x2B
                || $0 | 0x20 == 0x65
        }
        guard allowed, let value = Double(String(decoding: bytes[start..<end], as: UTF8.self)),
            value.isFinite
        else { throw failure(column, field, "a number") }
        return value
    }

    private static let powersOfTen = (0...18).reduce(into: [Double]()) { powers, _ in
        powers.append((powers.last ?? 0.1) * 10)
    }

    /// `H:MM:SS` with any number of hours below 1,000, in seconds, or nil when blank.
    func time(_ column: String, _ index: Int) throws(ScheduleError) -> Int? {
        let field = self[index]
        let (start, end) = trimmed(field)
        guard start < end else { return nil }
        let tail = end - 6
        guard tail > start, tail - start <= 3, bytes[tail] == UInt8(ascii: ":"),
            bytes[tail + 3] == UInt8(ascii: ":"), let minutes = pair(tail + 1), minutes < 60,
            let seconds = pair(tail + 4), seconds < 60
        else { throw failure(column, field, "a time HH:MM:SS") }
        var hours = 0
        for position in start..<tail {
            let digit = Int(bytes[position]) - 0x30
            guard (0...9).contains(digit) else { throw failure(column, field, "a time HH:MM:SS") }
            hours = hours * 10 + digit
        }
        return hours * 3600 + minutes * 60 + seconds
    }

    private func pair(_ position: Int) -> Int? {
        let tens = Int(bytes[position]) - 0x30
        let ones = Int(bytes[position + 1]) - 0x30
        return (0...9).contains(tens) && (0...9).contains(ones) ? tens * 10 + ones : nil
    }

    /// A date `YYYYMMDD`.
    func date(_ column: String, _ index: Int) throws(ScheduleError) -> ServiceDate {
        guard let date = ServiceDate(text(self[index]).trimmed) else {
            throw failure(column, self[index], "a date YYYYMMDD")
        }
        return date
    }

    /// Degrees in a range, or nil when blank.
    func degrees(_ column: String, _ index: Int, most: Double) throws(ScheduleError) -> Double? {
        guard let value = try decimal(column, index) else { return nil }
        guard abs(value) <= most else {
            throw failure(column, self[index], "between -\(Int(most)) and \(Int(most)) degrees")
        }
        return value
    }
}
