public import Transit

/// Judges one point of a ride; the first rule that fails decides.
///
/// The rules run in this order: what is ignored (coordinates, accuracy, age, order), off route,
/// implausible, off schedule; what is left matched, and only that is compared with the trusted vehicle.
/// Every limit is inclusive: a value on it passes. Nothing is allocated.
///
/// - Parameters:
///   - point: The fix as reported.
///   - journey: The trip and date that the rider said they are on.
///   - previous: The latest matched point of the ride; its place on the shape resolves loops.
///   - lastAcceptedAt: The time of the latest accepted point, matched or not.
///   - regressedTo: The furthest back that points since the latest match were found to be, if any were
///     too far back.
///   - trusted: Where the trusted vehicle of this trip is, or nil without one.
///   - now: Our clock.
///   - thresholds: The limits.
/// - Returns: The verdict, with the check that failed.
/// - SeeAlso: The table in `docs/reference/verifier-checks.md`.
public func verify(
    _ point: Point,
    on journey: Journey,
    previous: MatchedPoint?,
    lastAcceptedAt: UnixSeconds?,
    regressedTo: Double? = nil,
    trusted: TrustedPosition?,
    now: UnixSeconds,
    thresholds: Thresholds
) -> Verdict {
    if let verdict = ignored(
        point,
        after: newest(previous?.timestamp, lastAcceptedAt),
        now: now,
        thresholds: thresholds
    ) {
        return verdict
    }
    let place = project(point, on: journey, previous: previous)
    var verdict = Verdict(
        outcome: .matched,
        alongShape: place.alongShape,
        distanceToShape: place.distanceToShape
    )
    let maxDistance = thresholds.maxShapeDistanceMeters + max(point.accuracy ?? 0, 0)
    if place.distanceToShape > maxDistance {
        verdict.fail(.distance, .offRoute, measured: place.distanceToShape, limit: maxDistance)
        return verdict
    }
    if let previous {
        let moved = place.alongShape - previous.alongShape
        if moved < -thresholds.maxRegressionMeters,
            !hasRecovered(at: place.alongShape, from: regressedTo, thresholds)
        {
            verdict.fail(
                .regression,
                .implausible,
                measured: moved,
                limit: -thresholds.maxRegressionMeters
            )
            return verdict
        }
        let elapsed = Double(point.timestamp - previous.timestamp)
        let speed = abs(moved) / elapsed
        if elapsed > 0, speed > thresholds.maxSpeedMetersPerSecond {
            verdict.fail(
                .speed,
                .implausible,
                measured: speed,
                limit: thresholds.maxSpeedMetersPerSecond
            )
            return verdict
        }
    }
    let deviation = journey.deviation(at: place.alongShape, timestamp: point.timestamp)
    verdict.scheduleDeviation = deviation
    let earliest = -Double(thresholds.scheduleEarlySeconds)
    let latest = Double(thresholds.scheduleLateSeconds)
    if deviation < earliest {
        verdict.fail(.early, .offSchedule, measured: deviation, limit: earliest)
        return verdict
    }
    if deviation > latest {
        verdict.fail(.late, .offSchedule, measured: deviation, limit: latest)
        return verdict
    }
    if let trusted {
        verdict.compare(with: trusted, at: point.timestamp, thresholds: thresholds)
    }
    return verdict
}

/// Whether points since a match that seemed too far back go on from there as a vehicle does: then it
/// was the match that was wrong.
private func hasRecovered(
    at alongShape: Double,
    from regressedTo: Double?,
    _ thresholds: Thresholds
) -> Bool {
    guard let regressedTo, let recovery = thresholds.regressionRecoveryMeters else {
        return false
    }
    return alongShape - regressedTo >= recovery
}

/// The later of two times that may be absent.
private func newest(_ left: UnixSeconds?, _ right: UnixSeconds?) -> UnixSeconds? {
    guard let left else { return right }
    guard let right else { return left }
    return max(left, right)
}

/// The verdict on a point that must not be counted, or nil.
private func ignored(
    _ point: Point,
    after newest: UnixSeconds?,
    now: UnixSeconds,
    thresholds: Thresholds
) -> Verdict? {
    guard point.coordinate.isValid else {
        return .ignored(.coordinates, measured: 0, limit: 0)
    }
    // Written so that not-a-number fails too.
    if let accuracy = point.accuracy, !(accuracy <= thresholds.maxAccuracyMeters) {
        return .ignored(.accuracy, measured: accuracy, limit: thresholds.maxAccuracyMeters)
    }
    // Compared as sums with our own clock: a hostile timestamp cannot overflow the subtraction.
    if point.timestamp < now - thresholds.maxPointAgeSeconds {
        return .ignored(
            .age,
            measured: Double(now) - Double(point.timestamp),
            limit: Double(thresholds.maxPointAgeSeconds)
        )
    }
    if point.timestamp > now + thresholds.maxPointLeadSeconds {
        return .ignored(
            .lead,
            measured: Double(point.timestamp) - Double(now),
            limit: Double(thresholds.maxPointLeadSeconds)
        )
    }
    if let newest, point.timestamp <= newest {
        return .ignored(.order, measured: Double(point.timestamp - newest), limit: 0)
    }
    return nil
}

/// Where the point lies on the shape: near the previous match, else where the schedule expects it.
private func project(_ point: Point, on journey: Journey, previous: MatchedPoint?) -> Projection {
    let shape = journey.trip.shape
    if let previous {
        return shape.project(point.coordinate, hint: previous.alongShape)
    }
    // A road that carries both directions gives two places; the schedule tells them apart.
    return shape.project(
        point.coordinate,
        preferring: { along in abs(journey.deviation(at: along, timestamp: point.timestamp)) }
    )
}

extension Verdict {
    fileprivate mutating func fail(
        _ check: CheckID,
        _ outcome: Outcome,
        measured: Double,
        limit: Double
    ) {
        self.outcome = outcome
        self.check = check
        self.measured = measured
        self.limit = limit
    }

    fileprivate mutating func compare(
        with trusted: TrustedPosition,
        at timestamp: UnixSeconds,
        thresholds: Thresholds
    ) {
        guard let alongShape else { return }
        let skew = abs(Double(timestamp) - Double(trusted.timestamp))
        let gap = abs(alongShape - trusted.alongShape)
        let allowance =
            thresholds.corroborationBaseMeters + thresholds.maxSpeedMetersPerSecond * skew
        corroborationGap = gap
        corroborationAllowance = allowance
        if let maxSkew = thresholds.corroborationMaxSkewSeconds, skew > Double(maxSkew) {
            corroboration = .none
        } else if gap <= allowance {
            corroboration = .corroborated
        } else if gap > allowance + thresholds.contradictionExtraMeters {
            corroboration = .contradicted
        } else {
            corroboration = .none
        }
    }
}
