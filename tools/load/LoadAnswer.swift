internal import Transit

/// Reads the two facts that the generator needs from answers.
enum LoadAnswer {
    /// Where a text stands first; the standard library's search costs more than the service's answer.
    static func range(of text: StaticString, in bytes: ArraySlice<UInt8>) -> Range<Int>? {
        let length = text.utf8CodeUnitCount
        guard bytes.count >= length else { return nil }
        let offset = bytes.withUnsafeBufferPointer { bytes in
            text.withUTF8Buffer { text in
                (0...(bytes.count - length)).first { place in
                    (0..<length).allSatisfy { bytes[place + $0] == text[$0] }
                }
            }
        }
        return offset.map { bytes.startIndex + $0..<bytes.startIndex + $0 + length }
    }

    static func rideID(in body: ArraySlice<UInt8>) -> UniqueID? {
        guard let place = range(of: "\"ride_id\":\"", in: body) else { return nil }
        return UniqueID(String(decoding: body[place.upperBound...].prefix(36), as: UTF8.self))
    }

    static func accepted(in body: ArraySlice<UInt8>) -> Int? {
        guard let place = range(of: "\"accepted\":", in: body) else { return nil }
        let digits = body[place.upperBound...].prefix { (0x30...0x39).contains($0) }
        return Int(String(decoding: digits, as: UTF8.self))
    }
}
