public import Transit

/// One member's place on the shape that the group is measured on.
struct Witness {
    let rideID: UniqueID
    let evidence: WitnessEvidence?
    let alongShape: Double
    let timestamp: UnixSeconds
    let speed: Double?
    let isPublishable: Bool

    /// A member that rides an older version of the shape is placed on the group's; it is left out where
    /// the two versions are further apart than a matched point may be.
    init?(_ member: Member, on journey: Journey, at now: UnixSeconds, thresholds: Thresholds) {
        let session = member.session
        guard let latest = session.latestMatched else { return nil }
        if session.journey.shapeHash == journey.shapeHash {
            alongShape = latest.alongShape
        } else {
            let place = journey.trip.shape.project(
                session.journey.trip.shape.point(at: latest.alongShape),
                hint: latest.alongShape
            )
            guard place.distanceToShape <= thresholds.maxShapeDistanceMeters else { return nil }
            alongShape = place.alongShape
        }
        rideID = session.rideID
        evidence = member.evidence
        timestamp = latest.timestamp
        // A speed that no point could be matched at is a broken sensor or a lie.
        let plausible = 0...thresholds.maxSpeedMetersPerSecond
        speed = latest.speed.flatMap { plausible.contains($0) ? $0 : nil }
        isPublishable = session.isPublishable(tier: member.tier, at: now, thresholds: thresholds)
    }
}

extension TripGroup {
    /// How many pairs of a trip are compared, which bounds what a thousand riders of one trip can cost.
    static let pairLimit = 5_000

    /// Calls `body` for the pairs near enough to agree, the nearest neighbours first along the shape, until
    /// it returns false or the limit is reached.
    static func forEachNeighbour(
        of witnesses: [Witness],
        _ thresholds: Thresholds,
        _ body: (Witness, Witness) -> Bool
    ) {
        let inOrder = witnesses.sorted { $0.alongShape < $1.alongShape }
        var pairs = 0
        for distance in 1..<max(1, inOrder.count) {
            var isNear = false
            for (one, other) in zip(inOrder, inOrder.dropFirst(distance))
            where other.alongShape - one.alongShape <= thresholds.consensusMeters {
                isNear = true
                pairs += 1
                guard pairs <= pairLimit, body(one, other) else { return }
            }
            guard isNear else { return }
        }
    }

    /// Whether two members count as two witnesses; those without evidence do.
    static func areTwo(_ one: Witness, _ other: Witness, _ thresholds: Thresholds) -> Bool {
        guard let evidence = one.evidence, let others = other.evidence else { return true }
        // What the traits say costs nothing, and is enough for most scripts.
        guard WitnessFindings(evidence.trace.traits, others.trace.traits).areIndependent else {
            return false
        }
        return WitnessFindings(evidence, others, thresholds: thresholds).areIndependent
    }

    private static func findings(
        _ one: Witness,
        _ other: Witness,
        _ thresholds: Thresholds
    ) -> WitnessFindings? {
        guard let evidence = one.evidence, let others = other.evidence else { return nil }
        return WitnessFindings(evidence, others, thresholds: thresholds)
    }

    /// The checks of witnesses that the group's rides fail, for the counters.
    ///
    /// - Returns: For each ride what it and some other ride near it fail together.
    public func witnessMarks(
        at now: UnixSeconds,
        thresholds: Thresholds = Thresholds()
    ) -> [UniqueID: WitnessFindings] {
        guard thresholds.witnessChecks != .off, members.count > 1, let journey = newestJourney
        else { return [:] }
        let witnesses = members.compactMap { member in
            Witness(member, on: journey, at: now, thresholds: thresholds)
        }
        var marks: [UniqueID: WitnessFindings] = [:]
        Self.forEachNeighbour(of: witnesses, thresholds) { one, other in
            if let findings = Self.findings(one, other, thresholds), !findings.isEmpty {
                marks[one.rideID, default: []].formUnion(findings)
                marks[other.rideID, default: []].formUnion(findings)
            }
            return true
        }
        return marks
    }
}
