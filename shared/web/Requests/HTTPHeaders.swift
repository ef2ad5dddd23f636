/// Header lines in the order in which they came; names compare without case (RFC 9110 section 5).
///
/// All bytes lie in one buffer, so that a request with a dozen lines costs two allocations.
public struct HTTPHeaders: Sendable {
    private struct Line {
        let nameStart: Int
        let valueStart: Int
        let end: Int
    }

    private var bytes: [UInt8] = []
    private var lines: [Line] = []

    /// Makes an empty list.
    public init() {}

    /// Makes a list from names and values.
    public init(_ lines: [(String, String)]) {
        for (name, value) in lines { append(name: name, value: value) }
    }

    /// The number of lines.
    public var count: Int { lines.count }

    /// The lines with their names as they were sent.
    public var all: [(name: String, value: String)] {
        lines.map { line in
            (
                String(decoding: bytes[line.nameStart..<line.valueStart], as: UTF8.self),
                String(decoding: bytes[line.valueStart..<line.end], as: UTF8.self)
            )
        }
    }

    /// The value of the first line with this name.
    public func first(_ name: String) -> String? {
        for line in lines where matches(line, name) { return value(line) }
        return nil
    }

    /// The value of the last line with this name.
    public func last(_ name: String) -> String? {
        for line in lines.reversed() where matches(line, name) { return value(line) }
        return nil
    }

    /// The values of all lines with this name, in order.
    public func values(_ name: String) -> [String] {
        lines.filter { matches($0, name) }.map(value)
    }

    /// True when a line has this name.
    public func contains(_ name: String) -> Bool {
        lines.contains { matches($0, name) }
    }

    /// The number of lines with this name.
    func count(of name: String) -> Int {
        lines.count { matches($0, name) }
    }

    /// Adds a line.
    public mutating func append(name: String, value: String) {
        append(name: name.utf8, value: value.utf8)
    }

    mutating func append(
        name: some Collection<UInt8>,
        value: some Collection<UInt8>
    ) {
        if bytes.isEmpty {
            bytes.reserveCapacity(512)
            lines.reserveCapacity(12)
        }
        let start = bytes.count
        bytes.append(contentsOf: name)
        let middle = bytes.count
        bytes.append(contentsOf: value)
        lines.append(Line(nameStart: start, valueStart: middle, end: bytes.count))
    }

    private func value(_ line: Line) -> String {
        String(decoding: bytes[line.valueStart..<line.end], as: UTF8.self)
    }

    private func matches(_ line: Line, _ name: String) -> Bool {
        let name = name.utf8
        guard line.valueStart - line.nameStart == name.count else { return false }
        var position = line.nameStart
        for byte in name {
            guard bytes[position].asciiLowercased == byte.asciiLowercased else { return false }
            position += 1
        }
        return true
    }
}

extension UInt8 {
    /// The byte with `A`-`Z` lowered.
    var asciiLowercased: UInt8 { self >= 0x41 && self <= 0x5A ? self | 0x20 : self }
}
