internal import Prediction
internal import RealtimeFeed
internal import Transit

/// Makes trip updates of published positions: when each vehicle reaches the stops ahead.
///
/// Remembers where vehicles were, as predictions learn from how long they took. An update is made anew
/// when its vehicle was seen again, and every ``refreshSeconds`` as its uncertainty grows.
struct UpdateBuilder: Sendable {
    /// Seconds for which an update without a new position stands.
    static let refreshSeconds: Int64 = 15

    /// A vehicle on a trip.
    struct Sighting: Sendable, Equatable {
        var source: SourcedEntity.Source
        /// The entity's id, the same as in the positions (E047).
        var id: String
        var trip: TripDescriptor
        var vehicle: VehicleDescriptor?
        var place: TripPredictor.Place
        var measuredAt: UnixSeconds
    }

    private struct Made {
        let sighting: Sighting
        let schedule: ObjectIdentifier
        let period: Int64
        let entity: SourcedEntity?
    }

    private var predictor = TripPredictor()
    private var made: [String: Made] = [:]

    init() {}

    /// The updates of a moment.
    ///
    /// - Parameters:
    ///   - sightings: One for each vehicle, in the order of the feed.
    ///   - schedule: The schedule in use.
    ///   - now: The application clock.
    /// - Returns: One for each run that is in the schedule and has stops ahead.
    mutating func updates(
        for sightings: [Sighting],
        schedule: ScheduleIndex?,
        at now: UnixSeconds
    ) -> [SourcedEntity] {
        guard let schedule else { return [] }
        let period = now / Self.refreshSeconds
        var next: [String: Made] = [:]
        var runs: Set<TripInstance> = []
        var entities: [SourcedEntity] = []
        for sighting in sightings {
            guard let (key, run) = Self.run(of: sighting, schedule),
                // One run has one update.
                runs.insert(key.run).inserted
            else { continue }
            predictor.observe(key, at: sighting.place, time: sighting.measuredAt, on: run)
            let entity: SourcedEntity?
            if let known = made[sighting.id], known.sighting == sighting, known.period == period,
                known.schedule == ObjectIdentifier(schedule)
            {
                entity = known.entity
            } else {
                entity = update(sighting, key, run, at: now)
            }
            next[sighting.id] = Made(
                sighting: sighting,
                schedule: ObjectIdentifier(schedule),
                period: period,
                entity: entity
            )
            if let entity { entities.append(entity) }
        }
        made = next
        predictor.forgetOld(at: now)
        return entities
    }

    /// What was learned of travel times since the last call.
    mutating func takeLearned() -> [SegmentTimes.Learned] { predictor.takeLearned() }

    /// Goes on with what another builder learned of travel times.
    mutating func adopt(_ learned: [SegmentTimes.Learned]) { predictor.adopt(learned) }

    /// The run of the schedule that a vehicle is on.
    private static func run(
        of sighting: Sighting,
        _ schedule: ScheduleIndex
    ) -> (TripPredictor.Key, TripRun)? {
        // Times of a frequency-based trip are those of its first run alone.
        guard let id = sighting.trip.tripID, let trip = schedule.trip(id),
            schedule.facts(of: id)?.frequency == nil,
            (sighting.trip.scheduleRelationship ?? .scheduled) == .scheduled
        else { return nil }
        let date =
            sighting.trip.startDate.flatMap(ServiceDate.init)
            ?? schedule.defaultStartDate(for: trip, at: sighting.measuredAt)
        let run = TripRun(trip: trip, startOfService: schedule.startOfService(on: date))
        let instance = TripInstance(tripID: id, startDate: date)
        return (TripPredictor.Key(run: instance, vehicle: sighting.id), run)
    }

    private func update(
        _ sighting: Sighting,
        _ key: TripPredictor.Key,
        _ run: TripRun,
        at now: UnixSeconds
    ) -> SourcedEntity? {
        guard let prediction = predictor.prediction(for: key, on: run, now: now),
            !prediction.calls.isEmpty
        else { return nil }
        let stops = prediction.calls.compactMap { call -> StopTimeUpdate? in
            let stop = run.trip.stopTimes[call.stop]
            guard let sequence = UInt32(exactly: stop.stopSequence) else { return nil }
            let uncertainty = Int32(clamping: call.uncertainty)
            let arrives = run.startOfService + Int64(stop.arrival)
            let leaves = run.startOfService + Int64(stop.departure)
            return StopTimeUpdate(
                stopSequence: sequence,
                stopID: stop.stopID,
                arrival: StopTimeEvent(
                    delay: Int32(clamping: call.arrival - arrives),
                    time: call.arrival,
                    uncertainty: uncertainty
                ),
                departure: StopTimeEvent(
                    delay: Int32(clamping: call.departure - leaves),
                    time: call.departure,
                    uncertainty: uncertainty
                ),
                scheduleRelationship: .scheduled
            )
        }
        return SourcedEntity(
            source: sighting.source,
            entity: FeedEntity(
                id: sighting.id,
                tripUpdate: TripUpdate(
                    trip: sighting.trip,
                    vehicle: sighting.vehicle,
                    stopTimeUpdates: stops,
                    timestamp: UInt64(max(0, sighting.measuredAt)),
                    delay: Int32(clamping: prediction.delay)
                )
            )
        )
    }
}

extension UpdateBuilder.Sighting {
    /// The vehicle of a published position; nil when it names no trip.
    init?(_ published: SourcedEntity) {
        guard let vehicle = published.entity.vehicle, let trip = vehicle.trip,
            let place = published.place, let time = vehicle.timestamp
        else { return nil }
        self.init(
            source: published.source,
            id: published.entity.id,
            trip: trip,
            vehicle: vehicle.vehicle,
            place: place,
            measuredAt: Int64(clamping: time)
        )
    }
}
