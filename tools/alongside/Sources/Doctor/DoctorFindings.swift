internal import Bus
internal import Schedule
internal import Transit

/// Something that is wrong, and what to do next.
struct DoctorFinding: Sendable, Equatable, CustomStringConvertible {
    /// What is wrong.
    let fault: String
    /// What to do.
    let remedy: String

    init(_ fault: String, _ remedy: String) {
        self.fault = fault
        self.remedy = remedy
    }

    var description: String { "\(fault): \(remedy)" }
}

extension DoctorReading {
    /// How many slots there are.
    static let slotCount = 256

    /// What is wrong with a deployment.
    ///
    /// - Parameters:
    ///   - services: Those that are built and on the bus, each of which must have a live instance.
    ///   - hasRiders: Whether rider mode is on, so that slots must have owners.
    /// - Returns: The findings; none when all is well.
    func findings(services: [String], hasRiders: Bool) -> [DoctorFinding] {
        let migrations = schemas.compactMap(finding(of:))
        // The rest reads tables that a missing migration brings.
        guard migrations.isEmpty else { return migrations }
        var findings = services.compactMap(finding(ofService:))
        if let writeFault {
            findings.append(
                DoctorFinding(
                    "the database stores nothing (\(writeFault))",
                    "give its disk room, or let it write"
                )
            )
        }
        if hasRiders {
            findings += ownerFindings + slotFindings + scheduleFindings + outlookFindings
            findings += pointFindings
        }
        return findings
    }

    /// Whether an instance gave a sign of life lately.
    func lives(_ instance: String) -> Bool {
        instances.contains {
            $0.name == instance && $0.silence <= PostgresDirectory.silenceSeconds
        }
    }

    private func finding(of schema: Schema) -> DoctorFinding? {
        guard let applied = schema.applied else {
            return DoctorFinding(
                "the schema \(schema.name) is missing",
                "run `alongside migrate`"
            )
        }
        if let missing = schema.known.first(where: { !applied.contains($0) }) {
            return DoctorFinding(
                "the schema \(schema.name) lacks migration \(missing)",
                "run `alongside migrate`"
            )
        }
        guard let newer = applied.first(where: { !schema.known.contains($0) }) else { return nil }
        return DoctorFinding(
            "the schema \(schema.name) has migration \(newer) of a newer version",
            "run that version, or use another database"
        )
    }

    private func finding(ofService service: String) -> DoctorFinding? {
        guard !instances.contains(where: { $0.service == service && lives($0.name) }) else {
            return nil
        }
        return DoctorFinding("no \(service) lives", "start one, and look at its log if it ends")
    }

    private var ownerFindings: [DoctorFinding] {
        owners.filter { !$0.slots.isEmpty }.compactMap { owner in
            guard let instance = owner.instance else {
                return DoctorFinding(
                    "the database session \(owner.backendPID) holds \(owner.slots.count) slots and "
                        + "belongs to no verifier",
                    "end it with SELECT pg_terminate_backend(\(owner.backendPID))"
                )
            }
            guard !lives(instance) else { return nil }
            return DoctorFinding(
                "\(instance) is frozen and holds \(owner.slots.count) slots",
                "another verifier cuts it off within 5 s; if none runs, start one"
            )
        }
    }

    private var slotFindings: [DoctorFinding] {
        var findings: [DoctorFinding] = []
        let owned = owners.reduce(0) { $0 + $1.slots.count }
        if owned < Self.slotCount {
            findings.append(
                DoctorFinding(
                    "\(Self.slotCount - owned) of \(Self.slotCount) slots have no owner",
                    "a verifier that lives takes them within a second; look at the verifiers' "
                        + "/ready if they stay free"
                )
            )
        }
        let shares = owners.filter { $0.instance.map(lives) ?? false }.map(\.slots.count)
        if let least = shares.min(), let most = shares.max(), most - least > 1 {
            findings.append(
                DoctorFinding(
                    "the verifiers' shares are from \(least) to \(most) slots",
                    "they even out within seconds after one has come or gone; ask again"
                )
            )
        }
        return findings
    }

    private var scheduleFindings: [DoctorFinding] {
        let hashes = Set(owners.map(\.scheduleHash).filter { !$0.isEmpty })
        guard hashes.count > 1 else { return [] }
        return [
            DoctorFinding(
                "the verifiers work with \(hashes.count) different schedules",
                "the refresh of one of them fails or is still to come; look for \"schedule "
                    + "refresh failed\" in their logs"
            )
        ]
    }

    private var outlookFindings: [DoctorFinding] {
        guard let schedule, let today = points.flatMap({ ServiceDate($0.today) }) else { return [] }
        return schedule.outlook.shortcomings(on: today).map { fault in
            DoctorFinding(
                "riders can do nothing with the schedule from \(schedule.source) (\(fault))",
                "set GTFS_STATIC_URL to one that is in force and has shapes, or RIDER_MODE_ENABLED=false"
            )
        }
    }

    private var pointFindings: [DoctorFinding] {
        guard let points else { return [] }
        var findings: [DoctorFinding] = []
        for day in [points.today, points.tomorrow] where !points.days.contains(day) {
            findings.append(
                DoctorFinding(
                    "points of \(day) have no partition",
                    "a verifier makes it within a minute; look for \"retention of points failed\" "
                        + "in its log"
                )
            )
        }
        return findings
    }
}
