extension Verdict {
    /// The unit of ``measured`` and ``limit``, or nil where nothing was measured.
    public var unit: String? {
        switch check {
        case .accuracy, .distance, .regression: "m"
        case .speed: "m/s"
        case .age, .lead, .order, .early, .late: "s"
        default: corroborationGap == nil ? nil : "m"
        }
    }

    /// One sentence for an operator that says why the point counted as it did.
    public var explanation: String {
        guard let check else { return matchExplanation }
        let value = Self.text(measured)
        let bound = Self.text(limit)
        return switch check {
        case .coordinates: "Ignored: the coordinates are no place."
        case .accuracy: "Ignored: the accuracy is \(value) m, more than \(bound) m."
        case .age: "Ignored: the point was \(value) s old, more than \(bound) s."
        case .lead: "Ignored: the point is \(value) s ahead of our clock, more than \(bound) s."
        case .order: "Ignored: the point is not newer than the last accepted one."
        case .distance: "Off route: \(value) m from the shape, more than \(bound) m."
        case .regression:
            "Implausible: \(value) m along the shape since the last match, less than \(bound) m."
        case .speed: "Implausible: \(value) m/s since the last match, more than \(bound) m/s."
        case .early: "Off schedule: \(value) s against the schedule, less than \(bound) s."
        case .late: "Off schedule: \(value) s against the schedule, more than \(bound) s."
        default: "Failed \(check.rawValue)."
        }
    }

    private var matchExplanation: String {
        guard let gap = corroborationGap, let allowance = corroborationAllowance else {
            return "Matched; no trusted vehicle to compare with."
        }
        let values = "the trusted vehicle is \(Self.text(gap)) m away, allowed are"
        let bound = "\(Self.text(allowance)) m"
        return switch corroboration {
        case .corroborated: "Matched and corroborated: \(values) \(bound)."
        case .contradicted: "Matched but contradicted: \(values) \(bound)."
        case .none: "Matched, neither corroborated nor contradicted: \(values) \(bound)."
        case .unavailable: "Matched; no trusted vehicle to compare with."
        }
    }

    /// One decimal, without Foundation's formatters.
    private static func text(_ value: Double) -> String {
        guard value.isFinite, abs(value) < 1e15 else { return "\(value)" }
        let tenths = (value * 10).rounded() / 10
        return tenths == tenths.rounded() ? "\(Int64(tenths))" : "\(tenths)"
    }
}
