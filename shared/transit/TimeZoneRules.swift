/// Why a time zone cannot be used.
public enum TimeZoneError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The database of zones has none of that name.
    case notFound(name: String)
    /// The zone's file is not of the form of RFC 8536.
    case unreadable(name: String, reason: String)

    /// One sentence.
    public var description: String {
        switch self {
        case .notFound(let name): "time zone \"\(name)\" does not exist"
        case .unreadable(let name, let reason): "time zone \"\(name)\" cannot be read: \(reason)"
        }
    }
}

/// The offsets of a time zone from UTC, past and future.
///
/// Read from the system's compiled zone files, since FoundationEssentials knows no zones on Linux.
///
/// - SeeAlso: RFC 8536, "The Time Zone Information Format (TZif)".
public struct TimeZoneRules: Sendable {
    /// The IANA name, such as `America/Los_Angeles`.
    public let name: String

    private let transitions: [UnixSeconds]
    /// The offset from the transition of the same index on.
    private let offsets: [Int]
    private let firstOffset: Int
    /// What holds after the last transition.
    private let rule: PosixTimeZone?

    /// Where Linux keeps the compiled zones.
    public static let systemDirectory = "/usr/share/zoneinfo"

    /// The largest zone file that is read; the largest of IANA's has under 4 kB.
    static let largestFile = 1 << 20

    /// Coordinated Universal Time.
    public static let utc = TimeZoneRules(name: "UTC", fixedOffset: 0)

    /// A zone that never changes its offset.
    public init(name: String, fixedOffset: Int) {
        self.name = name
        transitions = []
        offsets = []
        firstOffset = fixedOffset
        rule = nil
    }

    /// Reads a zone of the system's database.
    ///
    /// - Parameters:
    ///   - name: An IANA name; upper and lower case matter.
    ///   - directory: The folder of compiled zones.
    /// - Throws: ``TimeZoneError`` when there is no such zone or its file is broken.
    public init(
        named name: String,
        directory: String = Self.systemDirectory
    ) throws(TimeZoneError) {
        guard Self.isPlausible(name), let bytes = ZoneFile.read("\(directory)/\(name)") else {
            throw .notFound(name: name)
        }
        try self.init(name: name, file: bytes)
    }

    /// Reads a zone from the bytes of its file.
    ///
    /// - Parameters:
    ///   - name: The zone's name.
    ///   - file: A TZif file of version 2 or later.
    /// - Throws: ``TimeZoneError/unreadable(name:reason:)``.
    public init(name: String, file: [UInt8]) throws(TimeZoneError) {
        var reader = ZoneFile(name: name, bytes: file)
        let zone = try reader.parse()
        self.name = name
        transitions = zone.transitions
        offsets = zone.offsets
        firstOffset = zone.firstOffset
        rule = zone.rule
    }

    /// Only what a zone's name can be, so that no name leads out of the folder.
    private static func isPlausible(_ name: String) -> Bool {
        guard !name.isEmpty, name.utf8.count <= 64 else { return false }
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        return parts.allSatisfy { part in
            !part.isEmpty && !part.hasPrefix(".")
                && part.utf8.allSatisfy { byte in
                    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
                        || (0x61...0x7A).contains(byte) || byte == 0x2B || byte == 0x2D
                        || byte == 0x5F || byte == 0x2E
                }
        }
    }

    // MARK: - Reading the clock

    /// Seconds to add to UTC for local time at an instant.
    public func offsetSeconds(at instant: UnixSeconds) -> Int {
        var low = 0
        var high = transitions.count
        while low < high {
            let middle = (low + high) / 2
            if transitions[middle] <= instant { low = middle + 1 } else { high = middle }
        }
        if low == transitions.count, let rule { return rule.offsetSeconds(at: instant) }
        return low == 0 ? firstOffset : offsets[low - 1]
    }

    /// The local date and time of day at an instant.
    ///
    /// - Returns: The date and the seconds since its local 00:00 by the wall clock.
    public func localTime(at instant: UnixSeconds) -> (date: ServiceDate, secondsOfDay: Int) {
        let local = Int(instant.clampedToYears) + offsetSeconds(at: instant)
        let day = local.flooredQuotient(by: 86_400)
        return (ServiceDate(daysSince1970: day), local - day * 86_400)
    }

    /// The instant at which the wall clock shows a time of a date.
    ///
    /// - Parameters:
    ///   - date: The local date.
    ///   - secondsOfDay: Seconds since 00:00 by the wall clock; may pass 86,400.
    /// - Returns: The first of two such instants when clocks are set back; when clocks skip the
    ///   time, the instant that would have shown it before the change.
    public func unixSeconds(date: ServiceDate, secondsOfDay: Int) -> UnixSeconds {
        let local = UnixSeconds(date.daysSince1970) * 86_400 + UnixSeconds(secondsOfDay)
        let before = UnixSeconds(offsetSeconds(at: local - 86_400))
        if UnixSeconds(offsetSeconds(at: local - before)) == before { return local - before }
        let after = UnixSeconds(offsetSeconds(at: local + 86_400))
        if UnixSeconds(offsetSeconds(at: local - after)) == after { return local - after }
        return local - before
    }

    /// The instant from which a service date's times count: local noon minus twelve hours.
    ///
    /// On days when clocks change this is not local midnight.
    public func startOfService(on date: ServiceDate) -> UnixSeconds {
        unixSeconds(date: date, secondsOfDay: 43_200) - 43_200
    }
}

extension UnixSeconds {
    /// The instant brought within the years that ``ServiceDate`` can write.
    fileprivate var clampedToYears: UnixSeconds {
        Swift.min(Swift.max(self, -62_135_510_400), 253_402_214_400)
    }
}

extension Int {
    /// The quotient rounded down, also below zero.
    func flooredQuotient(by divisor: Int) -> Int {
        self >= 0 ? self / divisor : (self - divisor + 1) / divisor
    }
}
