internal import Messages
internal import RealtimeFeed
internal import Transit

extension FeedEntity {
    /// What the ids of rider entities begin with, and those of no other vehicle.
    static let riderIDPrefix = "rider:"

    /// The entity of a rider estimate (seed 4.8).
    ///
    /// Its id holds a colon, which no driver's vehicle id can, so the two never collide; the same trip
    /// on two service dates is two vehicles.
    ///
    /// - Parameters:
    ///   - estimate: Snapped to the shape, in degrees and metres per second.
    ///   - now: The application clock; no entity is dated ahead of it (E050).
    init(_ estimate: TripEstimate, now: UnixSeconds) {
        // A number that the feed's field cannot hold is as good as none.
        let stopSequence = estimate.stopSequence.flatMap(UInt32.init(exactly:))
        let id = "\(Self.riderIDPrefix)\(estimate.trip.tripID):\(estimate.trip.startDate)"
        self.init(
            id: id,
            vehicle: VehiclePosition(
                trip: TripDescriptor(
                    tripID: estimate.trip.tripID,
                    routeID: estimate.routeID.rawValue.isEmpty ? nil : estimate.routeID,
                    startDate: estimate.trip.startDate.description
                ),
                vehicle: VehicleDescriptor(id: VehicleID(id), label: "Rider-reported"),
                position: Position(
                    latitude: Float(estimate.latitude),
                    longitude: Float(estimate.longitude),
                    bearing: Float(estimate.bearing),
                    speed: estimate.speed.map(Float.init)
                ),
                currentStopSequence: stopSequence,
                stopID: estimate.stopID,
                currentStatus: estimate.stopSequence == nil ? nil : .inTransitTo,
                timestamp: UInt64(max(0, min(estimate.timestamp, now)))
            )
        )
    }
}
