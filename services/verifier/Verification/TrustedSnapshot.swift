public import Transit

/// All trusted vehicles as the feed service last told them.
///
/// Without a snapshot, and with one older than the maximum age, nothing is found: corroboration is then
/// `unavailable` and never `contradicted`.
public struct TrustedSnapshot: Sendable, Equatable {
    /// When the feed service made the snapshot; nil for none yet.
    public let createdAt: UnixSeconds?
    private var dated: [TripInstance: Candidates] = [:]
    private var dateless: [TripID: Candidates] = [:]

    /// The freshest vehicle of each source for one key.
    private struct Candidates: Sendable, Equatable {
        var agency: TrustedVehicle?
        var driver: TrustedVehicle?
        /// One that is on the trip and says no possible place.
        var placeless: TrustedVehicle?

        /// Between feeds the fresher entity wins, the earlier listed one on a tie.
        mutating func add(_ vehicle: TrustedVehicle) {
            guard vehicle.coordinate.isValid else {
                if vehicle.timestamp > placeless?.timestamp ?? .min { placeless = vehicle }
                return
            }
            switch vehicle.source {
            case .agency:
                if vehicle.timestamp > agency?.timestamp ?? .min { agency = vehicle }
            case .driver:
                if vehicle.timestamp > driver?.timestamp ?? .min { driver = vehicle }
            }
        }
    }

    /// No snapshot yet.
    public static let missing = TrustedSnapshot()

    private init() { createdAt = nil }

    /// Indexes the vehicles of a snapshot.
    ///
    /// Left out are those without a trip or a time, and those dated too far ahead of `createdAt`, which
    /// would otherwise hide a good report of the same trip. Those without a valid position are not
    /// compared with anybody.
    ///
    /// - Parameters:
    ///   - vehicles: The vehicles of all feeds and drivers.
    ///   - createdAt: When the feed service made the snapshot.
    ///   - thresholds: Says how far ahead a vehicle may be dated.
    public init(
        _ vehicles: [TrustedVehicle],
        createdAt: UnixSeconds,
        thresholds: Thresholds = Thresholds()
    ) {
        self.createdAt = createdAt
        for vehicle in vehicles {
            guard !vehicle.tripID.isEmpty, vehicle.timestamp > 0,
                vehicle.timestamp <= createdAt + thresholds.trustedMaxLeadSeconds
            else { continue }
            if let startDate = vehicle.startDate {
                let key = TripInstance(tripID: vehicle.tripID, startDate: startDate)
                dated[key, default: Candidates()].add(vehicle)
            } else {
                dateless[vehicle.tripID, default: Candidates()].add(vehicle)
            }
        }
    }

    /// Whether the snapshot is there and young enough to be used.
    public func isUsable(at now: UnixSeconds, thresholds: Thresholds = Thresholds()) -> Bool {
        guard let createdAt else { return false }
        return now - createdAt <= thresholds.trustedMaxAgeSeconds
    }

    /// The trusted vehicle on a trip instance, to compare riders with.
    ///
    /// Agencies are asked before drivers, and each of them for the exact date before any date. A vehicle of
    /// another date is never found.
    ///
    /// - Parameters:
    ///   - trip: The trip and date.
    ///   - now: Our clock.
    ///   - thresholds: How old and how far ahead a vehicle may be dated.
    /// - Returns: The vehicle, or nil.
    public func vehicle(
        on trip: TripInstance,
        at now: UnixSeconds,
        thresholds: Thresholds = Thresholds()
    ) -> TrustedVehicle? {
        guard isUsable(at: now, thresholds: thresholds) else { return nil }
        let exact = dated[trip]
        let any = dateless[trip.tripID]
        return usable(exact?.agency, at: now, thresholds)
            ?? usable(any?.agency, at: now, thresholds)
            ?? usable(exact?.driver, at: now, thresholds)
            ?? usable(any?.driver, at: now, thresholds)
    }

    /// Whether a trusted vehicle is on a trip instance, wherever it says that it is: what breaks a rule
    /// and is not published keeps riders off its trip all the same.
    public func covers(
        _ trip: TripInstance,
        at now: UnixSeconds,
        thresholds: Thresholds = Thresholds()
    ) -> Bool {
        if vehicle(on: trip, at: now, thresholds: thresholds) != nil { return true }
        guard isUsable(at: now, thresholds: thresholds) else { return false }
        return usable(dated[trip]?.placeless, at: now, thresholds) != nil
            || usable(dateless[trip.tripID]?.placeless, at: now, thresholds) != nil
    }

    private func usable(
        _ vehicle: TrustedVehicle?,
        at now: UnixSeconds,
        _ thresholds: Thresholds
    ) -> TrustedVehicle? {
        guard let vehicle else { return nil }
        let isUsable =
            now - vehicle.timestamp <= thresholds.trustedMaxAgeSeconds
            && vehicle.timestamp <= now + thresholds.trustedMaxLeadSeconds
        return isUsable ? vehicle : nil
    }
}
