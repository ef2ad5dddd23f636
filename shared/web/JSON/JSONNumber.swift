/// Writes numbers as JSON (RFC 8259) without making texts of them first.
public enum JSONNumber {
    /// Appends a whole number.
    public static func append(_ number: Int64, to bytes: inout [UInt8]) {
        if number < 0 { bytes.append(UInt8(ascii: "-")) }
        append(digits: number.magnitude, to: &bytes)
    }

    /// Appends a number with the fewest digits that read back as the same value; null when it is not finite.
    ///
    /// What has at most six decimals and nine digits before them is written digit by digit. No two
    /// numbers of up to 15 digits are the same double, so they are the fewest digits there are; the rest goes to
    /// the standard library.
    public static func append(_ number: Double, to bytes: inout [UInt8]) {
        guard number.isFinite else { return bytes.append(contentsOf: "null".utf8) }
        let magnitude = number.magnitude
        // Below it the standard library writes exponents.
        let isPlain = magnitude == 0 || (0.001..<1e9).contains(magnitude)
        let millionths = isPlain ? (magnitude * 1e6).rounded() : -1
        guard millionths / 1e6 == magnitude else {
            return bytes.append(contentsOf: number.description.utf8)
        }
        if number.sign == .minus { bytes.append(UInt8(ascii: "-")) }
        let (whole, decimals) = UInt64(millionths).quotientAndRemainder(dividingBy: 1_000_000)
        append(digits: whole, to: &bytes)
        bytes.append(UInt8(ascii: "."))
        append(decimals: decimals, to: &bytes)
    }

    /// Appends millionths without the zeros at their end, but at least one digit.
    private static func append(decimals millionths: UInt64, to bytes: inout [UInt8]) {
        var rest = millionths
        var place: UInt64 = 100_000
        repeat {
            let digit: UInt64
            (digit, rest) = rest.quotientAndRemainder(dividingBy: place)
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit))
            place /= 10
        } while rest > 0
    }

    private static func append(digits number: UInt64, to bytes: inout [UInt8]) {
        var place: UInt64 = 1
        while number / place >= 10 { place *= 10 }
        var rest = number
        while place > 0 {
            let digit: UInt64
            (digit, rest) = rest.quotientAndRemainder(dividingBy: place)
            bytes.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: digit))
            place /= 10
        }
    }
}
