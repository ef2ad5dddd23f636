internal import RealtimeFeed
internal import Transit

/// The vehicles of all agency feeds as one list: of two on one run the fresher stays.
///
/// A vehicle that is dated ahead counts as of the receipt, as a driver's report does: a clock that is ahead makes nobody
/// fresher than the others nor dates the feed.
struct AgencyFusion: Sendable {
    /// A vehicle with the feed that it comes from.
    struct Sighting: Sendable, Equatable {
        /// The place in the configuration, from 0.
        var feed: Int
        /// What the feed says.
        var vehicle: AgencyVehicle
    }

    /// The vehicles that count at the moment, by feed and then in the order of the feed.
    private(set) var sightings: [Sighting] = []
    /// Every vehicle on a trip, one for each run: also one without a date beside one with a date, which is
    /// not published and covers the other dates.
    private(set) var runs: [Sighting] = []
    /// The runs that these vehicles cover.
    private(set) var coverage = Coverage()
    /// The first moment at which a vehicle is too old or no longer too far ahead.
    private(set) var changesAt = UnixSeconds.max
    /// Trips of which an agency itself says when they arrive.
    private(set) var tripsWithUpdates: Set<TripID> = []

    /// A trip on a date, or on any.
    struct Run: Hashable {
        let trip: TripID
        let date: ServiceDate?
    }

    init() {}

    /// Merges what the feeds said.
    ///
    /// - Parameters:
    ///   - feeds: In the order of the configuration.
    ///   - now: The application clock.
    ///   - age: How old and how far ahead a vehicle may be.
    init(_ feeds: [AgencyFeed], at now: UnixSeconds, age: TrustedAge) {
        var best: [Run: Sighting] = [:]
        var order: [Run] = []
        for (number, feed) in feeds.enumerated() {
            tripsWithUpdates.formUnion(feed.reading.tripsWithUpdates)
            // Of two entities on one run in one feed the last stands (spec 2.11).
            var own: [Run: Sighting] = [:]
            var ownOrder: [Run] = []
            let receipt = min(feed.readAt ?? now, now)
            for vehicle in feed.reading.vehicles {
                var vehicle = vehicle
                guard var time = vehicle.position.timestamp.map(Int64.init(clamping:)) else {
                    continue
                }
                if time > receipt, time <= now + TrustedAge.leadSeconds {
                    vehicle.date(noLaterThan: receipt)
                    time = receipt
                }
                if let change = age.change(of: time, at: now) { changesAt = min(changesAt, change) }
                guard age.allows(time, at: now) else { continue }
                let sighting = Sighting(feed: number, vehicle: vehicle)
                guard let trip = vehicle.tripID else {
                    sightings.append(sighting)
                    continue
                }
                if vehicle.measuredAt != nil { coverage.add(trip, on: vehicle.startDate) }
                let run = Run(trip: trip, date: vehicle.startDate)
                if own.updateValue(sighting, forKey: run) == nil { ownOrder.append(run) }
            }
            for run in ownOrder {
                guard let sighting = own[run] else { continue }
                guard let known = best[run] else {
                    best[run] = sighting
                    order.append(run)
                    continue
                }
                if Self.time(of: sighting) > Self.time(of: known) { best[run] = sighting }
            }
        }
        runs = order.compactMap { best[$0] }
        // Beside a dated vehicle, one without a date would be a second vehicle on the same trip.
        let datedTrips = Set(order.filter { $0.date != nil }.map(\.trip))
        sightings += order.compactMap { run in
            run.date == nil && datedTrips.contains(run.trip) ? nil : best[run]
        }
    }

    private static func time(of sighting: Sighting) -> UInt64 {
        // A time of its own says more than the header's.
        sighting.vehicle.measuredAt.map { UInt64($0) } ?? 0
    }
}
