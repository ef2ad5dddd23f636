internal import Messages
internal import Transit

/// The trips on which a trusted source reports a vehicle now: riders are not published there.
///
/// A dated report covers its date alone, one without a date every date (seed 4.2, spec 2.11). What breaks
/// a rule of the feed and is not published covers its trip all the same.
struct Coverage: Sendable, Equatable {
    private var dated: Set<TripInstance> = []
    private var datedTrips: Set<TripID> = []
    private var dateless: Set<TripID> = []

    init() {}

    /// Says that a trip is reported.
    mutating func add(_ trip: TripID, on date: ServiceDate?) {
        guard !trip.isEmpty else { return }
        if let date {
            dated.insert(TripInstance(tripID: trip, startDate: date))
            datedTrips.insert(trip)
        } else {
            dateless.insert(trip)
        }
    }

    /// Whether a trusted source reports the trip on any date.
    func touches(_ trip: TripID) -> Bool {
        dateless.contains(trip) || datedTrips.contains(trip)
    }

    /// Whether a trusted source reports the run.
    func covers(_ trip: TripInstance) -> Bool {
        dated.contains(trip) || dateless.contains(trip.tripID)
    }
}

/// How old and how far ahead of us a trusted vehicle may be.
struct TrustedAge: Sendable, Equatable {
    /// Seconds a vehicle may be dated ahead (spec 0, decision b).
    static let leadSeconds: Int64 = 60

    /// `TRUSTED_FEED_MAX_AGE` in seconds.
    var maximum: Int64

    /// Whether a vehicle of that time still counts.
    func allows(_ timestamp: UnixSeconds, at now: UnixSeconds) -> Bool {
        now - timestamp <= maximum && timestamp <= now + Self.leadSeconds
    }

    /// When ``allows(_:at:)`` answers otherwise; nil when it never will again.
    func change(of timestamp: UnixSeconds, at now: UnixSeconds) -> UnixSeconds? {
        if timestamp > now + Self.leadSeconds { return timestamp - Self.leadSeconds }
        return now - timestamp <= maximum ? timestamp + maximum + 1 : nil
    }
}
