/// A place near enough that the system may be asked to watch its border, too.
public struct GateCandidate: Sendable, Equatable {
    /// The circle.
    public var circleID: GroupID
    /// The place.
    public var place: GeofencePlace
    /// Metres from the phone to its middle.
    public var distanceMeters: Double
}

/// Chooses the places that are handed to the system's geofences: those nearby, never all.
enum ProximityGate {
    /// Metres from the phone.
    static let radiusMeters = 5_000.0
    /// Each takes two fences, and a platform gives an app a hundred.
    static let limit = 50

    /// The nearest of all circles' places, nearest first.
    static func candidates(
        near position: Coordinate,
        _ places: [(circle: GroupID, place: GeofencePlace)]
    ) -> [GateCandidate] {
        let near = places.compactMap { circle, place -> GateCandidate? in
            let distance = position.distanceMeters(to: place.coordinate)
            guard distance <= radiusMeters else { return nil }
            return GateCandidate(circleID: circle, place: place, distanceMeters: distance)
        }
        return Array(near.sorted { $0.distanceMeters < $1.distanceMeters }.prefix(limit))
    }
}
