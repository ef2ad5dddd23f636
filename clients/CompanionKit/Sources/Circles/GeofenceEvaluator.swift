public import Foundation

/// A place whose border is watched.
public struct GeofencePlace: Sendable, Equatable {
    /// The place.
    public var id: PlaceID
    /// Its middle.
    public var coordinate: Coordinate
    /// Metres.
    public var radiusMeters: Double

    /// Makes a place.
    public init(id: PlaceID, coordinate: Coordinate, radiusMeters: Double) {
        self.id = id
        self.coordinate = coordinate
        self.radiusMeters = radiusMeters
    }

    /// A place of a circle; nil for one that is nowhere.
    public init?(_ place: CirclePlace) {
        guard let coordinate = place.coordinate else { return nil }
        self.init(id: place.id, coordinate: coordinate, radiusMeters: place.radiusMeters)
    }

    /// Beyond this many metres someone inside has left.
    var exitMeters: Double { radiusMeters * GeofenceEvaluator.exitFactor }
}

/// A border that was crossed.
public struct Crossing: Sendable, Equatable {
    /// The place.
    public var placeID: PlaceID
    /// Which way.
    public var kind: CrossingKind
    /// The instant that the evaluator was given.
    public var occurredAt: Date

    /// Makes a crossing.
    public init(placeID: PlaceID, kind: CrossingKind, occurredAt: Date) {
        self.placeID = placeID
        self.kind = kind
        self.occurredAt = occurredAt
    }
}

/// Decides on the phone whether a place was entered or left; one for each circle (spec 4.1).
///
/// Someone arrives who has been within the radius for the dwell time without a break, and leaves
/// beyond 1.3 times the radius, so that a position that wavers on the border makes no events.
/// Calls come in the order of time. Accuracy plays no part.
public struct GeofenceEvaluator: Sendable {
    /// How much farther than the radius the way out is.
    public static let exitFactor = 1.3
    /// How long someone stays inside before it counts.
    public static let dwell = Duration.seconds(60)

    private struct Watch {
        var isInside = false
        /// When a stay inside began that has not lasted long enough yet.
        var candidateSince: Date?
    }

    private let dwell: Duration
    private var watches: [PlaceID: Watch] = [:]

    /// Makes an evaluator that knows nothing yet.
    public init(dwell: Duration = GeofenceEvaluator.dwell) {
        self.dwell = dwell
    }

    /// Takes a position in.
    ///
    /// - Parameters:
    ///   - position: Where the phone is.
    ///   - now: The wall clock, not the fix's: a parked phone stops making fixes and would never
    ///     have stayed long enough.
    ///   - places: Every place of the circle; what was known of others is forgotten.
    /// - Returns: What was crossed, in the order of the places.
    public mutating func evaluate(
        at position: Coordinate,
        now: Date,
        places: [GeofencePlace]
    ) -> [Crossing] {
        let known = Set(places.map(\.id))
        watches = watches.filter { known.contains($0.key) }
        return places.compactMap { place in
            let distance = position.distanceMeters(to: place.coordinate)
            let kind = cross(place, distance: distance, now: now)
            return kind.map { Crossing(placeID: place.id, kind: $0, occurredAt: now) }
        }
    }

    private mutating func cross(
        _ place: GeofencePlace,
        distance: Double,
        now: Date
    ) -> CrossingKind? {
        var watch = watches[place.id] ?? Watch()
        defer { watches[place.id] = watch }
        if watch.isInside {
            guard distance > place.exitMeters else { return nil }
            watch = Watch()
            return .depart
        }
        guard distance <= place.radiusMeters else {
            watch.candidateSince = nil
            return nil
        }
        // A clock that was set back begins the stay anew, or it would last as much longer.
        let since = min(watch.candidateSince ?? now, now)
        watch.candidateSince = since
        guard now.timeIntervalSince(since) >= dwell.seconds else { return nil }
        watch = Watch(isInside: true)
        return .arrive
    }

    /// Takes note of a departure that was announced without this evaluator, so that it does not
    /// announce the same one again.
    public mutating func noteDeparture(from place: PlaceID) {
        watches[place] = nil
    }

    /// How long until a stay that has begun counts; nil when nobody waits for one.
    public func timeToArrival(now: Date) -> Duration? {
        watches.values.compactMap(\.candidateSince).min().map { since in
            max(.zero, dwell - .seconds(now.timeIntervalSince(since)))
        }
    }
}
