internal import Schedule

extension DoctorReading {
    /// What an operator reads: the facts in tables of plain text, without the findings.
    var report: String {
        ([databaseLines, instanceLines, slotLines, scheduleLines, pointLines]
            as [[String]]).flatMap { $0 }.joined(separator: "\n")
    }

    private var databaseLines: [String] {
        var lines = ["database   PostgreSQL \(server)"]
        for schema in schemas {
            let applied = schema.applied.map { $0.filter(schema.known.contains).count }
            lines.append(
                "           schema \(schema.name): "
                    + (applied.map { "\($0) of \(schema.known.count) migrations" } ?? "missing")
            )
        }
        if let clockOffset { lines.append("           clock shifted by \(clockOffset) s") }
        return lines
    }

    private var instanceLines: [String] {
        guard !instances.isEmpty else { return ["instances  none"] }
        let width = instances.map(\.name.count).max() ?? 0
        return instances.enumerated().map { index, instance in
            let state = lives(instance.name) ? "lives" : "silent"
            return (index == 0 ? "instances  " : "           ")
                + padded(instance.name, width)
                + "  \(state), heartbeat \(seconds(instance.silence)) ago  \(instance.endpoint)"
        }
    }

    private var slotLines: [String] {
        guard !owners.isEmpty else { return ["slots      no verifier holds a session"] }
        let width = owners.map { name(of: $0).count }.max() ?? 0
        var lines = owners.enumerated().map { index, owner in
            let rides = owner.slots.keys.reduce(0) { $0 + (activeRides[$1] ?? 0) }
            var line =
                (index == 0 ? "slots      " : "           ") + padded(name(of: owner), width)
                + "  \(owner.slots.count) slots, \(rides) rides"
            if let least = owner.slots.values.min(), let most = owner.slots.values.max() {
                line += ", epochs \(least) to \(most)"
            }
            if let instance = owner.instance, !lives(instance) { line += ", frozen" }
            return line
        }
        let owned = owners.reduce(0) { $0 + $1.slots.count }
        lines.append("           free: \(Self.slotCount - owned)")
        for owner in owners where !owner.slots.isEmpty {
            lines.append("           \(name(of: owner)): \(ranges(owner.slots.keys.sorted()))")
        }
        return lines
    }

    private var scheduleLines: [String] {
        var lines = verifierScheduleLines
        if let outlook = schedule?.outlook {
            let last = outlook.lastServiceDate.map { "until \($0)" } ?? "on no day"
            lines.append(
                "           \(outlook.riderTrips) of \(outlook.trips) trips for riders, \(last)"
            )
        }
        return lines
    }

    private var verifierScheduleLines: [String] {
        let inUse = owners.filter { !$0.scheduleHash.isEmpty }
        guard !inUse.isEmpty else { return ["schedule   none in use"] }
        return inUse.enumerated().map { index, owner in
            (index == 0 ? "schedule   " : "           ")
                + "\(name(of: owner)): \(owner.scheduleHash) from \(owner.scheduleSource)"
        }
    }

    private var pointLines: [String] {
        guard let points else { return [] }
        let days = points.days.isEmpty ? "none" : points.days.joined(separator: " ")
        return ["points     partitions \(days); \(points.strays) rows in the default one"]
    }

    private func name(of owner: Owner) -> String { owner.instance ?? "session \(owner.backendPID)" }

    private func padded(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.count))
    }

    private func seconds(_ value: Double) -> String {
        "\((max(0, value) * 10).rounded() / 10) s"
    }

    /// `0-3 7 9-10` for numbers in rising order.
    private func ranges(_ numbers: [Int]) -> String {
        var ranges: [(first: Int, last: Int)] = []
        for number in numbers {
            if let last = ranges.last, last.last + 1 == number {
                ranges[ranges.count - 1].last = number
            } else {
                ranges.append((number, number))
            }
        }
        return ranges.map { $0.first == $0.last ? "\($0.first)" : "\($0.first)-\($0.last)" }
            .joined(separator: " ")
    }
}
