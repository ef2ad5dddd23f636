internal import RealtimeFeed
internal import Transit

extension FeedEntity {
    /// The entity of a driver's report: exactly what the driver sent (spec 1.9).
    ///
    /// - Parameters:
    ///   - vehicle: A fresh report.
    ///   - now: The application clock; no entity is dated ahead of it (E050).
    init(_ vehicle: LiveVehicle, now: UnixSeconds) {
        let hasTrip = !vehicle.tripID.isEmpty || !vehicle.routeID.isEmpty
        // A number that the feed's field cannot hold is as good as none.
        let speed = vehicle.speed.map { Float($0) }.flatMap { $0.isFinite ? $0 : nil }
        self.init(
            id: vehicle.vehicleID.rawValue,
            vehicle: VehiclePosition(
                trip: hasTrip
                    ? TripDescriptor(
                        tripID: vehicle.tripID.isEmpty ? nil : vehicle.tripID,
                        routeID: vehicle.routeID.isEmpty ? nil : vehicle.routeID,
                        startDate: vehicle.startDate?.description
                    ) : nil,
                vehicle: VehicleDescriptor(id: vehicle.vehicleID),
                position: Position(
                    latitude: Float(vehicle.latitude),
                    longitude: Float(vehicle.longitude),
                    bearing: vehicle.bearing.map { Float($0) },
                    speed: speed
                ),
                timestamp: UInt64(max(0, min(vehicle.reportedAt, now)))
            )
        )
    }
}
