internal import Foundation

/// Decides when the phone itself ends a ride.
struct EndConditions: Sendable {
    let configuration: RideReporterConfiguration
    let destination: Coordinate?

    private(set) var startedAt: Date
    private(set) var firstFix: Coordinate?
    private var stationarySince: Date?

    init(
        configuration: RideReporterConfiguration,
        destination: Coordinate?,
        startedAt: Date,
        firstFix: Coordinate? = nil
    ) {
        self.configuration = configuration
        self.destination = destination.flatMap { $0.isOnEarth ? $0 : nil }
        self.startedAt = startedAt
        self.firstFix = firstFix
    }

    /// Takes in an update and says whether the ride ends with it.
    mutating func receive(_ sample: LocationSample, now: Date) -> RideEndReason? {
        switch sample.diagnostic {
        case .authorizationDenied: return .authorizationDenied
        case .locationUnavailable: return .locationUnavailable
        case .accuracyLimited, .insufficientlyInUse, nil: break
        }
        if sample.isStationary {
            stationarySince = stationarySince ?? now
        } else if sample.coordinate != nil {
            stationarySince = nil
        }
        if let fix = sample.coordinate, fix.isOnEarth, hasArrived(at: fix) { return .arrived }
        return check(at: now)
    }

    /// What the clock alone decides: a phone that lies still may send no second update.
    mutating func check(at now: Date) -> RideEndReason? {
        // A clock that was set back may make an end late, but not by as much as it was set back.
        startedAt = min(startedAt, now)
        stationarySince = stationarySince.map { min($0, now) }
        if let stationarySince,
            now.timeIntervalSince(stationarySince) >= configuration.stationaryTimeout.seconds
        {
            return .stationary
        }
        if now.timeIntervalSince(startedAt) >= configuration.maxRideDuration.seconds {
            return .maxDuration
        }
        return nil
    }

    /// How long until the clock alone ends the ride.
    func timeLeft(at now: Date) -> Duration {
        let long = configuration.maxRideDuration.seconds - now.timeIntervalSince(startedAt)
        let still = stationarySince.map {
            configuration.stationaryTimeout.seconds - now.timeIntervalSince($0)
        }
        return .seconds(max(0, min(long, still ?? long)))
    }

    private mutating func hasArrived(at fix: Coordinate) -> Bool {
        let start = firstFix ?? fix
        firstFix = start
        guard let destination,
            start.distanceMeters(to: fix) >= configuration.minimumTravelBeforeArrivalMeters
        else {
            return false
        }
        return fix.distanceMeters(to: destination) <= configuration.arrivalRadiusMeters
    }
}
