/// The failed outcomes since the last match, newest last, without storage of its own.
///
/// At most ``capacity`` are kept; older ones fall out. Only `off_route`, `implausible` and
/// `off_schedule` are recorded.
public struct RecentOutcomes: Sendable, Equatable {
    /// How many outcomes fit: four bits each in one word, far more than any streak that rejects.
    public static let capacity = 16

    private var packed: UInt64 = 0
    /// How many outcomes are held.
    public private(set) var count = 0

    /// Holds nothing.
    public init() {}

    private static func code(_ outcome: Outcome) -> UInt64? {
        switch outcome {
        case .offRoute: 1
        case .implausible: 2
        case .offSchedule: 3
        case .ignored, .matched: nil
        }
    }

    private static func outcome(_ code: UInt64) -> Outcome {
        switch code {
        case 1: .offRoute
        case 2: .implausible
        default: .offSchedule
        }
    }

    mutating func append(_ outcome: Outcome) {
        guard let code = Self.code(outcome) else { return }
        packed = packed << 4 | code
        count = min(count + 1, Self.capacity)
    }

    /// The most frequent of the newest `length` outcomes, the most recent one on ties.
    public func mostFrequent(ofLast length: Int) -> Outcome? {
        var tally = (offRoute: 0, implausible: 0, offSchedule: 0)
        for index in 0..<min(length, count) {
            switch self[index] {
            case .offRoute: tally.offRoute += 1
            case .implausible: tally.implausible += 1
            default: tally.offSchedule += 1
            }
        }
        let highest = max(tally.offRoute, tally.implausible, tally.offSchedule)
        for index in 0..<min(length, count) {
            let outcome = self[index]
            let frequency =
                switch outcome {
                case .offRoute: tally.offRoute
                case .implausible: tally.implausible
                default: tally.offSchedule
                }
            if frequency == highest { return outcome }
        }
        return nil
    }

    /// The outcome `index` places before the newest.
    private subscript(index: Int) -> Outcome { Self.outcome(packed >> UInt64(4 * index) & 15) }

    // MARK: - Persisted form

    /// One letter for each outcome, oldest first: `O` off route, `I` implausible, `S` off schedule.
    public var text: String {
        var text = ""
        for index in (0..<count).reversed() {
            switch self[index] {
            case .offRoute: text += "O"
            case .implausible: text += "I"
            default: text += "S"
            }
        }
        return text
    }

    /// Reads what ``text`` wrote; nil for any other letter and for more than ``capacity`` letters.
    public init?(text: String) {
        guard text.utf8.count <= Self.capacity else { return nil }
        for letter in text.utf8 {
            switch letter {
            case UInt8(ascii: "O"): append(.offRoute)
            case UInt8(ascii: "I"): append(.implausible)
            case UInt8(ascii: "S"): append(.offSchedule)
            default: return nil
            }
        }
    }
}
