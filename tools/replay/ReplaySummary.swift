public import Verification

/// How the rules judged many replayed rides.
public struct ReplaySummary: Sendable, Equatable {
    /// Rides replayed.
    public private(set) var rides = 0
    /// Rides that were verified and never rejected.
    public private(set) var accepted = 0
    /// Rides that were verified for some time: with a trusted rider, or with a second one who agrees, they are
    /// published then.
    public private(set) var verified = 0
    /// Rides that could be published on their own at some time.
    public private(set) var publishable = 0
    /// Rejected rides by reason.
    public private(set) var rejections: [EndReason: Int] = [:]
    /// Judged points by the check that they failed; matched ones under nil.
    public private(set) var checks: [CheckID?: Int] = [:]

    /// Sums up nothing.
    public init() {}

    /// Adds a ride.
    public mutating func add(_ ride: ReplayedRide) {
        rides += 1
        if ride.isAccepted { accepted += 1 }
        if ride.verifiedAt != nil { verified += 1 }
        if ride.publishableFixes > 0 { publishable += 1 }
        if ride.isRejected, let end = ride.session.end { rejections[end.reason, default: 0] += 1 }
        for fix in ride.fixes { checks[fix.verdict.check, default: 0] += 1 }
    }

    /// The share of rides that a count is, 0 of none.
    public func share(_ count: KeyPath<ReplaySummary, Int>) -> Double {
        rides == 0 ? 0 : Double(self[keyPath: count]) / Double(rides)
    }

    /// The head of a table whose rows are ``row(_:)``.
    public static let head = """
        | Claimed | Rides | Verified, never rejected | Verified for a time | Publishable alone \
        | Rejected | Points matched | Points failed |
        |---|---|---|---|---|---|---|---|
        """

    /// The counts as a row of a Markdown table.
    public func row(_ name: String) -> String {
        let reasons = rejections.map { ($0.key.rawValue, $0.value) }
        let failed = checks.compactMap { check, count in check.map { ($0.rawValue, count) } }
        return """
            | \(name) | \(rides) | \(accepted) | \(verified) | \(publishable) | \(Self.list(reasons)) \
            | \(checks[nil] ?? 0) | \(Self.list(failed)) |
            """
    }

    private static func list(_ counts: [(String, Int)]) -> String {
        counts.isEmpty
            ? "none"
            : counts.sorted { ($1.1, $0.0) < ($0.1, $1.0) }.map { "\($0.0) \($0.1)" }
                .joined(separator: ", ")
    }
}
