public import Transit
public import Verification

/// A recording as the trusted feed that it was: the latest fix of the vehicle on each trip.
public struct RecordedFeed: Sendable {
    private let fixes: [TripInstance: [RecordedFix]]

    /// Indexes the trips of a recording.
    public init(_ busTrips: [BusTrip]) {
        fixes = Dictionary(grouping: busTrips, by: \.trip).mapValues { trips in
            RecordedFix.inOrder(trips.flatMap(\.fixes))
        }
    }

    /// The vehicle on a trip.
    ///
    /// - Parameters:
    ///   - trip: The trip and date.
    ///   - now: The instant.
    ///   - maximumAge: Seconds after which a fix is no longer told.
    /// - Returns: Its latest fix up to `now`, or nil when there is none or only an old one.
    public func vehicle(
        on trip: TripInstance,
        at now: UnixSeconds,
        maximumAge: Int64 = Thresholds().trustedMaxAgeSeconds
    ) -> TrustedVehicle? {
        guard let fix = fixes[trip]?.last(where: { $0.point.timestamp <= now }),
            now - fix.point.timestamp <= maximumAge
        else { return nil }
        return TrustedVehicle(
            tripID: trip.tripID,
            startDate: trip.startDate,
            vehicleID: fix.vehicleID,
            coordinate: fix.point.coordinate,
            timestamp: fix.point.timestamp
        )
    }
}
