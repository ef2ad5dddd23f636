/// JSON string escaping for the few writers that do not go through an encoder.
public enum JSONText {
    private static let hex = Array("0123456789abcdef".utf8)

    /// Appends `text` as a quoted JSON string (RFC 8259).
    public static func append(_ text: String, to output: inout String) {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count + 2)
        append(text, to: &bytes)
        output += String(decoding: bytes, as: UTF8.self)
    }

    /// Appends `text` as a quoted JSON string in UTF-8 (RFC 8259).
    public static func append(_ text: String, to output: inout [UInt8]) {
        output.append(0x22)
        for byte in text.utf8 {
            switch byte {
            case 0x22, 0x5C:
                output.append(0x5C)
                output.append(byte)
            case 0x0A: output.append(contentsOf: [0x5C, 0x6E])
            case 0x0D: output.append(contentsOf: [0x5C, 0x72])
            case 0x09: output.append(contentsOf: [0x5C, 0x74])
            case 0..<0x20:
                output.append(contentsOf: [0x5C, 0x75, 0x30, 0x30])
                output.append(hex[Int(byte >> 4)])
                output.append(hex[Int(byte & 15)])
            default: output.append(byte)
            }
        }
        output.append(0x22)
    }
}
