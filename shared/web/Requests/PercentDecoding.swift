/// Percent-decoding of one path segment or query part (RFC 3986 section 2.1).
enum PercentDecoding {
    /// Decodes `text` once.
    ///
    /// - Returns: nil for a `%` without two hexadecimal digits, for a NUL and for what is no UTF-8.
    static func decode(_ text: some Collection<UInt8>, plusIsSpace: Bool = false) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var iterator = text.makeIterator()
        while let byte = iterator.next() {
            var decoded = byte
            if byte == 0x25 {
                guard let high = iterator.next().flatMap(hexadecimal),
                    let low = iterator.next().flatMap(hexadecimal)
                else { return nil }
                decoded = high << 4 | low
            } else if byte == 0x2B, plusIsSpace {
                decoded = 0x20
            }
            guard decoded != 0 else { return nil }
            bytes.append(decoded)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func hexadecimal(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x41 + 10
        case 0x61...0x66: byte - 0x61 + 10
        default: nil
        }
    }
}
