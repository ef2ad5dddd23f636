import Testing

@testable import Web

@Suite struct JSONNumberTests {
    private func text(_ number: Double) -> String {
        var bytes: [UInt8] = []
        JSONNumber.append(number, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(arguments: [
        0, -0.0, 1, -1, 9.5, 90.5, 47.60621, -122.33207, 0.1, 0.000_001, 0.000_999, 0.001,
        0.001_001,
        0.3, 0.1 + 0.2, 100, 1e6, 999_999_999.999_999, 1e9, 1e9 + 0.5, 1e15, 1e16, 1e22, 1e300,
        .leastNonzeroMagnitude,
        .greatestFiniteMagnitude, 1.0 / 3, 4.35, 2.675, 359.999_999_9, -0.000_5, 123_456.789_012_3,
    ])
    func `writes a number with the fewest digits that read back`(number: Double) {
        #expect(text(number) == number.description)
    }

    @Test func `writes what the standard library writes, whatever the number of decimals`() {
        var generator = SystemRandomNumberGenerator()
        for round in 0..<20_000 {
            var scale = 1.0
            for _ in 0..<(round % 9) { scale *= 10 }
            let wide = Double.random(in: -1e10...1e10, using: &generator)
            let narrow = Double.random(in: -180...180, using: &generator)
            for number in [wide, narrow, (narrow * scale).rounded() / scale] {
                #expect(text(number) == number.description)
            }
        }
    }

    @Test(arguments: [Double.nan, Double.infinity, -Double.infinity])
    func `writes null for what is no number of JSON`(number: Double) {
        #expect(text(number) == "null")
    }

    @Test(arguments: [0, 9, 10, -10, 1_700_000_000_000, Int64.max, Int64.min])
    func `writes whole numbers`(number: Int64) {
        var bytes: [UInt8] = []
        JSONNumber.append(number, to: &bytes)
        #expect(String(decoding: bytes, as: UTF8.self) == String(number))
    }
}
