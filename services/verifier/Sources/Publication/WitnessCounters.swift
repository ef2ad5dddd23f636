internal import Telemetry
internal import Transit
internal import Verification

/// Counts the rides that fail a check of witnesses together with another ride, each ride once a check.
struct WitnessCounters {
    private let counters: [(finding: WitnessFindings, counter: Counter)]
    private var marks: [UniqueID: WitnessFindings] = [:]

    init(_ metrics: Metrics) {
        counters = WitnessFindings.checks.map { finding, check in
            let counter = metrics.counter(
                "witness_marks_total",
                help: "Rides that failed a check of witnesses with another ride, by check.",
                labels: ["check": check.rawValue]
            )
            return (finding, counter)
        }
    }

    /// Notes the marks of a tick.
    ///
    /// - Parameters:
    ///   - current: The marked rides of all groups.
    ///   - isUnderWay: Whether a ride still is; those that ended are forgotten.
    mutating func note(
        _ current: [UniqueID: WitnessFindings],
        isUnderWay: (UniqueID) -> Bool
    ) {
        for (ride, findings) in current {
            let new = findings.subtracting(marks[ride] ?? [])
            for (finding, counter) in counters where new.contains(finding) { counter.add() }
            marks[ride, default: []].formUnion(findings)
        }
        marks = marks.filter { current[$0.key] != nil || isUnderWay($0.key) }
    }
}
