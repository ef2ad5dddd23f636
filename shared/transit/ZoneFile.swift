internal import Glibc

/// Reads one TZif file.
struct ZoneFile {
    struct Zone {
        var transitions: [UnixSeconds] = []
        var offsets: [Int] = []
        var firstOffset = 0
        var rule: PosixTimeZone?
    }

    private let name: String
    private let bytes: [UInt8]
    private var position = 0

    /// More transitions than any zone has; IANA's longest list has under 300.
    private static let mostTransitions = 10_000

    init(name: String, bytes: [UInt8]) {
        self.name = name
        self.bytes = bytes
    }

    /// The contents of a regular file of reasonable size.
    static func read(_ path: String) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_size <= TimeZoneRules.largestFile
        else { return nil }
        let size = Int(status.st_size)
        var count = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, initialized in
            while count < size, let base = buffer.baseAddress {
                let got = Glibc.read(descriptor, base + count, size - count)
                guard got > 0 else { break }
                count += got
            }
            initialized = count
        }
        return count == size ? bytes : nil
    }

    private struct Header {
        let version: UInt8
        let utIndicators, standardIndicators, leaps, transitions, types, characters: Int

        func dataSize(timeSize: Int) -> Int {
            transitions * (timeSize + 1) + types * 6 + characters + leaps * (timeSize + 4)
                + standardIndicators + utIndicators
        }
    }

    mutating func parse() throws(TimeZoneError) -> Zone {
        let old = try header()
        guard old.version >= UInt8(ascii: "2") else { throw broken("it is of version 1") }
        try skip(old.dataSize(timeSize: 4))
        let header = try header()
        guard header.leaps == 0 else { throw broken("it counts leap seconds") }
        guard header.types >= 1 else { throw broken("it has no local time type") }
        guard header.transitions <= Self.mostTransitions else {
            throw broken("it has more than \(Self.mostTransitions) transitions")
        }
        var zone = Zone()
        for _ in 0..<header.transitions {
            let time = UnixSeconds(bitPattern: try integer(bytes: 8))
            if let last = zone.transitions.last, last >= time {
                throw broken("its transitions are out of order")
            }
            zone.transitions.append(time)
        }
        var kinds: [Int] = []
        for _ in 0..<header.transitions { kinds.append(Int(try integer(bytes: 1))) }
        var types: [Int] = []
        for _ in 0..<header.types {
            let offset = Int(Int32(truncatingIfNeeded: try integer(bytes: 4)))
            guard abs(offset) <= 26 * 3600 else { throw broken("an offset is over 26 hours") }
            types.append(offset)
            try skip(2)
        }
        for kind in kinds {
            guard kind < types.count else { throw broken("a transition has an unknown type") }
            zone.offsets.append(types[kind])
        }
        zone.firstOffset = types[0]
        try skip(header.characters + header.standardIndicators + header.utIndicators)
        zone.rule = try footer()
        return zone
    }

    private mutating func header() throws(TimeZoneError) -> Header {
        guard try integer(bytes: 4) == 0x545A_6966 else { throw broken("it is not a TZif file") }
        let version = UInt8(truncatingIfNeeded: try integer(bytes: 1))
        try skip(15)
        var counts: [Int] = []
        for _ in 0..<6 { counts.append(Int(try integer(bytes: 4))) }
        return Header(
            version: version,
            utIndicators: counts[0],
            standardIndicators: counts[1],
            leaps: counts[2],
            transitions: counts[3],
            types: counts[4],
            characters: counts[5]
        )
    }

    private mutating func footer() throws(TimeZoneError) -> PosixTimeZone? {
        guard try integer(bytes: 1) == 0x0A else { throw broken("its footer is missing") }
        guard let end = bytes[position...].firstIndex(of: 0x0A) else {
            throw broken("its footer does not end")
        }
        let text = bytes[position..<end]
        guard !text.isEmpty else { return nil }
        guard let rule = PosixTimeZone(text) else { throw broken("its footer has no valid rule") }
        return rule
    }

    private mutating func integer(bytes count: Int) throws(TimeZoneError) -> UInt64 {
        guard bytes.count - position >= count else { throw broken("it is cut short") }
        var value: UInt64 = 0
        for _ in 0..<count {
            value = value << 8 | UInt64(bytes[position])
            position += 1
        }
        return value
    }

    private mutating func skip(_ count: Int) throws(TimeZoneError) {
        guard bytes.count - position >= count else { throw broken("it is cut short") }
        position += count
    }

    private func broken(_ reason: String) -> TimeZoneError {
        .unreadable(name: name, reason: reason)
    }
}
