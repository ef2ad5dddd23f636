import Testing

@testable import Web

@Suite struct JSONReaderTests {
    private func parse(_ text: String) throws(JSONError) -> JSONValue {
        try JSONValue(parsing: Array(text.utf8))
    }

    @Test func `reads tokens one after the other`() throws {
        var reader = JSONReader(Array(#" {"a": [1, -2.5e1, true, null], "b\n": "\u00e9"} "#.utf8))
        #expect(try reader.next() == .beginObject)
        #expect(try reader.next() == .key)
        #expect(reader.isEqual(to: "a"))
        #expect(try reader.next() == .beginArray)
        #expect(try reader.next() == .number)
        #expect(reader.int64 == 1)
        #expect(try reader.next() == .number)
        #expect(reader.double == -25)
        #expect(reader.int64 == nil)
        #expect(try reader.next() == .flag)
        #expect(reader.flag)
        #expect(try reader.next() == .null)
        #expect(try reader.next() == .endArray)
        #expect(try reader.next() == .key)
        #expect(try reader.string() == "b\n")
        #expect(try reader.next() == .string)
        #expect(try reader.string() == "é")
        #expect(try reader.next() == .endObject)
        #expect(try reader.next() == .end)
        #expect(try reader.next() == .end)
    }

    @Test func `passes over a value`() throws {
        var reader = JSONReader(Array(#"{"a":{"b":[1,{"c":2}]},"d":3}"#.utf8))
        #expect(try reader.next() == .beginObject)
        #expect(try reader.next() == .key)
        try reader.skipValue()
        #expect(try reader.next() == .key)
        #expect(reader.isEqual(to: "d"))
    }

    @Test(arguments: [
        "0", "-0", "1", "9007199254740993", "123456789012345678901234567890", "0.1", "47.6062095",
        "-122.3320708", "1e22", "1e23", "1.7976931348623157e308", "5e-324",
        "2.2250738585072014e-308",
        "0.30000000000000004", "1E+2", "123456789012345e22", "999999999999999e-22", "0e999",
        "0.000001", "1234567890.12345678",
    ])
    func `reads numbers as the standard library does`(text: String) throws {
        var reader = JSONReader(Array(text.utf8))
        #expect(try reader.next() == .number)
        #expect(reader.double == Double(text))
        #expect(reader.int64 == Int64(text))
    }

    @Test func `reads random numbers as the standard library does`() throws {
        var random = SeededRandom(state: 7)
        for _ in 0..<20_000 {
            let places = Int.random(in: 0...20, using: &random)
            let exponent = Int.random(in: -30...30, using: &random)
            let whole = UInt64.random(in: 0...UInt64.max >> UInt64(places * 3), using: &random)
            let fraction = UInt64.random(in: 0...UInt64.max >> 20, using: &random)
            let text = "\(whole).\(fraction)e\(exponent)"
            var reader = JSONReader(Array(text.utf8))
            #expect(try reader.next() == .number)
            #expect(reader.double == Double(text), "\(text)")
        }
    }

    @Test(arguments: [
        ("9223372036854775807", Int64.max), ("-9223372036854775808", Int64.min),
        ("9223372036854775808", nil), ("-9223372036854775809", nil), ("1.0", nil), ("1e3", nil),
        ("18446744073709551615", nil), ("99999999999999999999", nil),
    ])
    func `holds 64 bits on both sides`(text: String, expected: Int64?) throws {
        var reader = JSONReader(Array(text.utf8))
        #expect(try reader.next() == .number)
        #expect(reader.int64 == expected)
    }

    @Test(arguments: [
        "", " ", "{", "[", "[1", "[1,", "[1,]", "[,1]", "{,}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#,
        "{a:1}", "{'a':1}", #"{"a":1 "b":2}"#, "[1}", #"{"a":1]"#, "01", "-01", "+1", ".5", "1.",
        "1.e1", "1e", "1e+", "-", "--1", "0x10", "NaN", "Infinity", "tru", "nulL", "True", #"""#,
        #""\"#, #""\x""#, #""\u12""#, #""\u12g4""#, #""\ud800""#, #""\udc00""#, #""\ud800A""#,
        #""\u0000""#, "\"\t\"", "1e999", "-1e999", "[1] 2", "{} {}", "{}x", "//", "\u{FEFF}{}",
        "1 2",
        "]", "}", ":", ",", "[1 2]", #"["a" "b"]"#, #"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#,
    ])
    func `refuses what is no JSON`(text: String) {
        #expect(throws: JSONError.self) { try parse(text) }
    }

    @Test(arguments: [[0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22]])
    func `refuses text that is no UTF-8`(bytes: [UInt8]) {
        #expect(throws: JSONError.self) { try JSONValue(parsing: bytes) }
    }

    @Test func `holds the depth limit on both sides`() throws {
        let deepest = String(repeating: "[", count: 32) + String(repeating: "]", count: 32)
        _ = try parse(deepest)
        #expect(throws: JSONError.tooDeep(limit: 32)) { try parse("[\(deepest)]") }
        #expect(throws: JSONError.tooDeep(limit: 32)) {
            try parse(String(repeating: "[", count: 1_000_000))
        }
    }

    @Test func `never traps on mutated input and agrees with itself`() {
        let text =
            #"{"positions":[{"latitude":47.6,"longitude":-122.33,"timestamp":1771257600,"#
            + #""accuracy":null,"note":"a\u00e9\ud83d\ude00\n"}],"flag":true,"n":1e-7}"#
        let seed = Array(text.utf8)
        for number in 0..<20_000 {
            var random = SeededRandom(state: UInt64(number) + 1)
            var bytes = seed
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let index = Int.random(in: bytes.indices, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[index] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: index)
                default: bytes.insert(bytes.randomElement(using: &random) ?? 0, at: index)
                }
            }
            if number.isMultiple(of: 5) {
                bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random))
            }
            _ = try? JSONValue(parsing: bytes)
        }
    }
}
