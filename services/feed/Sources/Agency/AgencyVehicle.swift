internal import RealtimeFeed
internal import Transit

/// What an agency's feed says of one vehicle.
struct AgencyVehicle: Sendable, Equatable {
    /// The entity's id in its feed.
    var entityID: String
    /// The position as the agency sent it, its times and texts cleaned.
    var position: VehiclePosition
    /// When the vehicle was there; nil when the agency gave it no time of its own.
    var measuredAt: UnixSeconds?

    /// Dates the vehicle back to a moment where it claims to be of a later one.
    mutating func date(noLaterThan latest: UnixSeconds) {
        let time = UInt64(max(0, latest))
        position.timestamp = position.timestamp.map { min($0, time) }
        measuredAt = measuredAt.map { min($0, latest) }
    }

    /// The trip, where the agency names one.
    var tripID: TripID? {
        guard let id = position.trip?.tripID, !id.isEmpty else { return nil }
        return id
    }

    /// The service date, where the agency names one that is a date.
    ///
    /// One that cannot be read (`2026113`) is as good as none: nobody knows which day was meant, so it is taken out
    /// (E021) and the trip, which the agency does name, is covered on every date.
    var startDate: ServiceDate? { position.trip?.startDate.flatMap(ServiceDate.init) }

    /// The place, when it is one.
    var coordinate: Coordinate? {
        guard let place = position.position else { return nil }
        let coordinate = Coordinate(
            latitude: Double(place.latitude),
            longitude: Double(place.longitude)
        )
        return coordinate.isValid ? coordinate : nil
    }
}

/// One reading of an agency's feed.
struct AgencyReading: Sendable, Equatable {
    /// Vehicles with a position, in the order of the feed.
    var vehicles: [AgencyVehicle] = []
    /// Trips of which the agency itself says when they arrive.
    var tripsWithUpdates: Set<TripID> = []

    /// Takes what counts out of a feed.
    ///
    /// An entity without a position is passed over. A vehicle without a time of its own covers no trip
    /// (spec 2.11), but may be published under the header's.
    init(_ feed: FeedMessage) {
        for entity in feed.entities where entity.isDeleted != true {
            if let update = entity.tripUpdate, let id = update.trip.tripID, !id.isEmpty {
                tripsWithUpdates.insert(id)
            }
            guard let vehicle = entity.vehicle, vehicle.position != nil else { continue }
            let own = Self.seconds(vehicle.timestamp)
            var position = vehicle
            position.timestamp = (own ?? Self.seconds(feed.header.timestamp)).map(UInt64.init)
            vehicles.append(
                AgencyVehicle(entityID: entity.id, position: position, measuredAt: own)
            )
        }
    }

    init() {}

    private static func seconds(_ timestamp: UInt64?) -> UnixSeconds? {
        guard let timestamp, timestamp > 0 else { return nil }
        return UnixSeconds(exactly: timestamp)
    }
}
