internal import Messages
internal import Prediction
internal import RealtimeFeed
internal import Transit

/// An entity of our feed with who it comes from.
struct SourcedEntity: Sendable, Equatable {
    /// Who reports it.
    enum Source: String, Sendable, CaseIterable {
        case driver
        case agency
        case rider
    }

    /// Who reports it.
    var source: Source
    /// The place of its agency's feed in the configuration, from 0; nil for others, and where nobody said.
    var feed: Int?
    /// What is published.
    var entity: FeedEntity
    /// Where the vehicle was, more exactly than the feed's numbers say; nil for trip updates.
    var place: TripPredictor.Place?
}

/// Makes one feed of what drivers, agencies and riders say (seed 4.8).
///
/// Drivers are published, riders only on trips that no agency and no driver reports, agencies only when the
/// operator wants them. Remembers how agencies' vehicles were named.
struct FeedMerge: Sendable {
    /// What is merged.
    struct Inputs: Sendable {
        /// The live reports of drivers, one for each vehicle.
        var drivers: [LiveVehicle] = []
        /// The fresh estimates, sorted by trip.
        var estimates: [TripEstimate] = []
        /// The agencies' vehicles of the moment.
        var agencies = AgencyFusion()
        /// Trips of agencies that have not answered yet, as another builder knew of them.
        var inherited = Coverage()
        /// Entities of agencies that have not answered yet, as another builder published them.
        var inheritedEntities: [SourcedEntity] = []
        /// Whether riders wait because nobody knows yet what agencies report (architecture, section 5).
        var holdsRiders = false
        /// `FEED_INCLUDE_AGENCY`.
        var includesAgency = false
        /// The schedule in use.
        var schedule: ScheduleIndex?
    }

    /// What came of it.
    struct Output: Sendable, Equatable {
        /// Drivers, then agencies, then riders.
        var entities: [SourcedEntity] = []
        /// What was put right from the schedule, by rule.
        var mended: [String: Int] = [:]
        /// What could not be put right, by rule.
        var withheld: [String: Int] = [:]
    }

    private var identities = AgencyIdentities()

    init() {}

    /// Merges once.
    ///
    /// - Parameters:
    ///   - inputs: What is merged.
    ///   - now: The application clock.
    /// - Returns: The entities in the order of the feed, with what was mended and what was left out.
    mutating func merge(_ inputs: Inputs, at now: UnixSeconds) -> Output {
        var output = Output()
        let completion = TripCompletion(schedule: inputs.schedule)
        func add(
            _ source: SourcedEntity.Source,
            _ entity: FeedEntity,
            _ place: TripPredictor.Place
        ) {
            var entity = entity
            if var trip = entity.vehicle?.trip {
                completion.complete(&trip, mended: &output.mended)
                entity.vehicle?.trip = trip
            }
            output.entities.append(
                SourcedEntity(source: source, entity: entity, place: place)
            )
        }

        var driven = Coverage()
        for driver in inputs.drivers { driven.add(driver.tripID, on: driver.startDate) }
        let drivers = DriverArbitration(inputs.drivers).published.filter { $0.reportedAt > 0 }
        for driver in drivers {
            let place = Coordinate(latitude: driver.latitude, longitude: driver.longitude)
            add(.driver, FeedEntity(driver, now: now), .coordinate(place))
        }
        if inputs.includesAgency {
            let taken = Set(drivers.map(\.vehicleID))
            let inherited = inputs.inheritedEntities.filter { inherited in
                guard let vehicle = inherited.entity.vehicle, let id = vehicle.vehicle?.id else {
                    return false
                }
                return !taken.contains(id) && !(vehicle.trip.map(driven.covers) ?? false)
            }
            let own = agencyEntities(inputs, driven, besides: taken, &output)
            output.entities += AgencyInheritance.join(own, inherited)
        }
        guard !inputs.holdsRiders else { return output }
        for estimate in inputs.estimates {
            let isCovered =
                driven.covers(estimate.trip) || inputs.agencies.coverage.covers(estimate.trip)
                || inputs.inherited.covers(estimate.trip)
            if !isCovered {
                add(.rider, FeedEntity(estimate, now: now), .along(estimate.alongShape))
            }
        }
        return output
    }

    private mutating func agencyEntities(
        _ inputs: Inputs,
        _ driven: Coverage,
        besides drivers: Set<VehicleID>,
        _ output: inout Output
    ) -> [SourcedEntity] {
        let mending = AgencyMending(schedule: inputs.schedule)
        let completion = TripCompletion(schedule: inputs.schedule)
        var chosen: [(feed: Int, id: VehicleID)] = []
        var positions: [VehiclePosition] = []
        var places: [VehicleKey: Int] = [:]
        for sighting in inputs.agencies.sightings {
            var position = sighting.vehicle.position
            // One run has one vehicle, and our own driver's word is not changed.
            if position.trip.map(driven.covers) ?? false { continue }
            mending.mend(&position, mended: &output.mended)
            if position.trip?.tripID.map({ inputs.schedule?.facts(of: $0) != nil }) ?? false {
                var trip = position.trip ?? TripDescriptor()
                completion.complete(&trip, mended: &output.mended)
                position.trip = trip
            }
            // A copy of a trip means something only beside the update that made it, which we do not publish.
            if position.trip?.scheduleRelationship == .duplicated {
                output.withheld["S020", default: 0] += 1
                continue
            }
            guard let id = Self.id(of: sighting.vehicle, &output) else { continue }
            let key = VehicleKey(feed: sighting.feed, id: id)
            guard let place = places[key] else {
                places[key] = positions.count
                chosen.append((sighting.feed, id))
                positions.append(position)
                continue
            }
            // One vehicle on two trips of one feed: the newer word stands (E052).
            output.withheld["E052", default: 0] += 1
            if (position.timestamp ?? 0) >= (positions[place].timestamp ?? 0) {
                positions[place] = position
            }
        }
        let names = identities.names(of: chosen, besides: drivers)
        return zip(names, zip(chosen, positions)).map { name, vehicle in
            let source = vehicle.0
            var position = vehicle.1
            var descriptor = position.vehicle ?? VehicleDescriptor()
            descriptor.id = name
            position.vehicle = descriptor
            let entity = FeedEntity(id: name.rawValue, vehicle: position)
            return SourcedEntity(ofAgency: entity, feed: source.feed)
        }
    }

    private struct VehicleKey: Hashable {
        let feed: Int
        let id: VehicleID
    }

    /// The vehicle's id, else the entity's (W002); nil when there is neither.
    private static func id(of vehicle: AgencyVehicle, _ output: inout Output) -> VehicleID? {
        if let id = vehicle.position.vehicle?.id, !id.isEmpty { return id }
        guard !vehicle.entityID.isEmpty else {
            output.withheld["W002", default: 0] += 1
            return nil
        }
        output.mended["W002", default: 0] += 1
        return VehicleID(vehicle.entityID)
    }
}

extension Coverage {
    /// Whether a trusted source reports the trip of a descriptor, on its date or without one on any.
    fileprivate func covers(_ trip: TripDescriptor) -> Bool {
        guard let id = trip.tripID, !id.isEmpty else { return false }
        guard let date = trip.startDate.flatMap(ServiceDate.init) else { return touches(id) }
        return covers(TripInstance(tripID: id, startDate: date))
    }
}

extension SourcedEntity {
    /// An agency's vehicle, where the agency says that it is.
    init(ofAgency entity: FeedEntity, feed: Int?) {
        self.init(source: .agency, feed: feed, entity: entity)
        guard let position = entity.vehicle?.position else { return }
        place = .coordinate(
            Coordinate(
                latitude: Double(position.latitude),
                longitude: Double(position.longitude)
            )
        )
    }

    /// When the vehicle was there, POSIX seconds; 0 when nobody said.
    var time: UnixSeconds { Int64(clamping: entity.vehicle?.timestamp ?? 0) }
}
