internal import Messages
internal import Prediction
internal import RealtimeFeed
internal import Transit

/// Builds the feeds of each second from what is known, and nothing when nothing can have changed.
struct FeedAssembly: Sendable {
    /// What is known at a tick.
    struct Knowledge: Sendable {
        var estimates = EstimateBoard()
        var inherited = InheritedTrust()
        /// Agencies' feeds in the order of the configuration.
        var agencies: [AgencyFeed] = []
        /// Rises whenever ``agencies`` says something else of vehicles.
        var agenciesVersion: UInt64 = 0
        /// All live reports of drivers, by vehicle.
        var drivers: [LiveVehicle] = []
        var schedule: ScheduleIndex?
    }

    /// What does not change while the process runs.
    struct Rules: Sendable {
        /// Seconds after which an estimate is left out.
        var riderMaxAge: Int64 = 90
        /// How old an agency's vehicle may be.
        var trustedAge = TrustedAge(maximum: 300)
        /// `FEED_INCLUDE_AGENCY`.
        var includesAgency = false
        /// Whether trip updates are made for agencies' vehicles that come without.
        var predictsAgency = false
    }

    /// What a tick brought; nil members mean that the last one stands.
    struct Outcome: Sendable {
        var positions: FeedBuilder.Build?
        var tripUpdates: FeedBuilder.Build?
        var trusted: TrustedVehicles?
        var mended: [String: Int] = [:]
        var withheld: [String: Int] = [:]
    }

    /// What the last merge was made from; the same again needs no merge.
    private struct Basis: Equatable {
        var estimates: UInt64
        var inherited: UInt64
        var agencies: UInt64
        var drivers: [LiveVehicle]
        var schedule: ObjectIdentifier?
    }

    private let rules: Rules
    private var merge = FeedMerge()
    private var positions = FeedBuilder()
    private var tripUpdates = FeedBuilder()
    private var trusted = TrustedPublication()
    private var predictions = UpdateBuilder()
    private var basis: Basis?
    /// When the last merge's inputs look different by their age alone.
    private var expiresAt = UnixSeconds.min
    private var inheritedEntities: [SourcedEntity] = []

    init(_ rules: Rules) { self.rules = rules }

    /// Goes on where another builder stopped.
    ///
    /// - Parameters:
    ///   - positionsHeader: The header time of its last positions.
    ///   - updatesHeader: The header time of its last trip updates.
    ///   - agencyEntities: What it published of agencies; of each it stands until that has answered.
    mutating func follow(
        positionsHeader: UnixSeconds,
        updatesHeader: UnixSeconds,
        agencyEntities: [SourcedEntity]
    ) {
        positions.follow(headerTimestamp: positionsHeader)
        tripUpdates.follow(headerTimestamp: updatesHeader)
        inheritedEntities = agencyEntities
        basis = nil
    }

    /// What was learned of travel times since the last call.
    mutating func takeLearned() -> [SegmentTimes.Learned] { predictions.takeLearned() }

    /// Goes on with what another builder learned of travel times.
    mutating func adopt(_ learned: [SegmentTimes.Learned]) { predictions.adopt(learned) }

    /// Builds what differs from the last tick.
    ///
    /// - Parameters:
    ///   - known: What is known now.
    ///   - stamp: Who builds.
    ///   - now: The application clock.
    /// - Returns: What differs; nothing when nothing can.
    mutating func tick(
        _ known: Knowledge,
        stamp: BuilderStamp,
        at now: UnixSeconds
    ) -> Outcome {
        let basis = Basis(
            estimates: known.estimates.version,
            inherited: known.inherited.version,
            agencies: known.agenciesVersion,
            drivers: known.drivers,
            schedule: known.schedule.map { ObjectIdentifier($0) }
        )
        let isSame = basis == self.basis && now < expiresAt
        if isSame, !positions.isSilent(at: now), !tripUpdates.isSilent(at: now) {
            return Outcome()
        }
        self.basis = basis
        return build(known, stamp: stamp, at: now)
    }

    private mutating func build(
        _ known: Knowledge,
        stamp: BuilderStamp,
        at now: UnixSeconds
    ) -> Outcome {
        let isTried = known.agencies.allSatisfy(\.wasTried)
        let age = rules.trustedAge
        let fusion = AgencyFusion(known.agencies, at: now, age: age)
        let estimates = known.estimates.fresh(at: now, maxAge: rules.riderMaxAge)
        let standing = known.inherited.standing(beside: known.agencies, at: now, age: age)
        inheritedEntities.removeAll { entity in
            known.agencies.haveAnswered(at: entity.feed) || !age.allows(entity.time, at: now)
        }
        // The other builder's clock may be ahead of ours.
        for place in inheritedEntities.indices where inheritedEntities[place].time > now {
            inheritedEntities[place].entity.vehicle?.timestamp = UInt64(max(0, now))
        }
        var inputs = FeedMerge.Inputs()
        inputs.drivers = known.drivers
        inputs.estimates = estimates
        inputs.agencies = fusion
        inputs.includesAgency = rules.includesAgency
        inputs.schedule = known.schedule
        for vehicle in standing { inputs.inherited.add(vehicle.tripID, on: vehicle.startDate) }
        inputs.inheritedEntities = inheritedEntities
        // An agency that is away holds riders up no longer than it takes to find that out.
        inputs.holdsRiders = !isTried && !known.inherited.isUsable(at: now, age: age)
        let merged = merge.merge(inputs, at: now)
        // What was inherited ages too, and is looked at each second for as long as it is needed.
        let isSettled = isTried && standing.isEmpty && inheritedEntities.isEmpty
        expiresAt = isSettled ? expiry(estimates, fusion, at: now) : now + 1

        var outcome = Outcome()
        outcome.positions = positions.tick(merged.entities, at: now, schedule: known.schedule)
        outcome.tripUpdates = updates(known, fusion, at: now)
        outcome.trusted = trusted.snapshot(
            agencies: fusion.trusted(beside: standing),
            drivers: DriverArbitration(known.drivers).trusted,
            configured: !known.agencies.isEmpty,
            complete: isTried,
            stamp: stamp,
            at: now
        )
        guard let built = outcome.positions else { return outcome }
        outcome.mended = merged.mended
        outcome.withheld = merged.withheld.merging(built.withheld, uniquingKeysWith: +)
        return outcome
    }

    /// Updates of what is published, and of agencies' vehicles where they come without.
    private mutating func updates(
        _ known: Knowledge,
        _ fusion: AgencyFusion,
        at now: UnixSeconds
    ) -> FeedBuilder.Build? {
        let published = positions.last?.entities ?? []
        var sightings = published.filter { $0.source != .agency || rules.predictsAgency }
            .compactMap(UpdateBuilder.Sighting.init)
        if rules.predictsAgency, !rules.includesAgency {
            sightings += hiddenAgencies(known, fusion)
        }
        let own = fusion.tripsWithUpdates
        sightings.removeAll { sighting in
            sighting.source == .agency && sighting.trip.tripID.map(own.contains) ?? false
        }
        return tripUpdates.tick(
            predictions.updates(for: sightings, schedule: known.schedule, at: now),
            at: now,
            schedule: known.schedule,
            positions: positions.last?.message
        )
    }

    /// Agencies' vehicles that are read and not republished.
    private func hiddenAgencies(
        _ known: Knowledge,
        _ fusion: AgencyFusion
    ) -> [UpdateBuilder.Sighting] {
        var merge = FeedMerge()
        var inputs = FeedMerge.Inputs()
        inputs.drivers = known.drivers
        inputs.agencies = fusion
        inputs.includesAgency = true
        inputs.holdsRiders = true
        inputs.schedule = known.schedule
        return merge.merge(inputs, at: UnixSeconds.max).entities.filter { $0.source == .agency }
            .compactMap(UpdateBuilder.Sighting.init)
    }

    /// The first moment at which one of the inputs is too old, or no longer too new.
    private func expiry(
        _ estimates: [TripEstimate],
        _ fusion: AgencyFusion,
        at now: UnixSeconds
    ) -> UnixSeconds {
        var soonest = min(fusion.changesAt, now + TrustedPublication.longestSilence)
        for estimate in estimates {
            // Published times are never ahead of the clock, so one that is moves with it.
            soonest = min(
                soonest,
                estimate.timestamp > now ? now + 1 : estimate.timestamp + rules.riderMaxAge + 1
            )
        }
        return soonest
    }
}
