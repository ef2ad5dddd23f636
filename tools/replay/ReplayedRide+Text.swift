internal import Transit
internal import Verification

extension ReplayedRide {
    /// One line about how the ride went.
    public var headline: String {
        let verified = verifiedAt.map { "verified at \(clock($0))" } ?? "never verified"
        let end =
            session.end.map { "ended \($0.reason.rawValue) at \(clock($0.endedAt))" }
            ?? "under way at the end"
        return """
            trip \(journey.instance): \(verified), \(end); \(session.counts.matched) of \
            \(session.counts.total) points matched
            """
    }

    /// One line for each fix: its time, what it counted as, where it lies and why.
    public var lines: [String] {
        fixes.map { judged in
            let along = judged.verdict.alongShape.map { "\(Int($0)) m along" } ?? "no place"
            let distance = judged.verdict.distanceToShape.map { ", \(Int($0)) m off" } ?? ""
            return """
                \(clock(judged.fix.point.timestamp)) \(judged.verdict.outcome.rawValue) \
                \(judged.state.rawValue), \(along)\(distance): \(judged.verdict.explanation)
                """
        }
    }

    /// A time as stop times write it, from the start of service on.
    private func clock(_ time: UnixSeconds) -> String {
        let seconds = time - journey.startOfService
        let sign = seconds < 0 ? "-" : ""
        let parts = [seconds / 3600, seconds / 60 % 60, seconds % 60].map { part in
            part.magnitude < 10 ? "0\(part.magnitude)" : "\(part.magnitude)"
        }
        return sign + parts.joined(separator: ":")
    }
}
