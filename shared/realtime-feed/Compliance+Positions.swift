internal import Glibc
internal import Transit

extension ComplianceRule {
    /// Metres outside the whole schedule that a position may lie (E028).
    static let regionMetres = 1609.0
    /// Degrees off the trip's shape that a position may lie: 200 m from south to north (E029).
    static let shapeDegrees = 200 / 111_195.0
    /// The fastest speed of a bus that nobody doubts, in metres per second (W004).
    static let fastestSpeed: Float = 26

    /// Rules about where vehicles are and how they move.
    static let positionRules: [ComplianceRule] = [
        ComplianceRule(id: "E026", title: "a position is not on the earth", severity: .error) {
            feed,
            _ in
            feed.indices { entity in
                guard let position = entity.vehicle?.position else { return false }
                return !(-90...90).contains(position.latitude)
                    || !(-180...180).contains(position.longitude)
            }
        },
        ComplianceRule(id: "E027", title: "a bearing is outside 0 to 360", severity: .error) {
            feed,
            _ in
            feed.indices { entity in
                guard let bearing = entity.vehicle?.position?.bearing else { return false }
                return !(0...360).contains(bearing)
            }
        },
        ComplianceRule(
            id: "E028",
            title: "a position is far from everything in the schedule",
            severity: .error
        ) { feed, context in
            guard let bounds = context.schedule?.bounds else { return [] }
            return feed.indices { entity in
                guard let place = entity.vehicle?.position?.coordinate else { return false }
                return !bounds.contains(place, within: regionMetres)
            }
        },
        ComplianceRule(
            id: "E029",
            title: "a position is far from its trip's shape",
            severity: .error
        ) { feed, context in
            guard let schedule = context.schedule, let bounds = schedule.bounds else { return [] }
            return feed.indices { entity in
                guard let place = entity.vehicle?.position?.coordinate,
                    let id = entity.vehicle?.trip?.tripID, let trip = schedule.trip(id),
                    // What is outside everything is E028's.
                    bounds.contains(place, within: regionMetres)
                else { return false }
                return !trip.shape.isNear(place, degrees: shapeDegrees)
            }
        },
        ComplianceRule(id: "W004", title: "a speed is unlikely", severity: .warning) { feed, _ in
            feed.indices { ($0.vehicle?.position?.speed ?? 0) > fastestSpeed }
        },
        ComplianceRule(id: "A001", title: "a speed is negative or no number", severity: .error) {
            feed,
            _ in
            feed.indices { entity in
                guard let speed = entity.vehicle?.position?.speed else { return false }
                return !(speed >= 0 && speed.isFinite)
            }
        },
    ]
}

extension Position {
    /// The place as geometry takes it; nil when it is not on the earth.
    fileprivate var coordinate: Coordinate? {
        guard (-90...90).contains(latitude), (-180...180).contains(longitude) else { return nil }
        return Coordinate(latitude: Double(latitude), longitude: Double(longitude))
    }
}

extension ShapeGeometry {
    /// Whether a place is within so many degrees of the shape, as E029 measures: in plain degrees, so
    /// that a metre from west to east counts for more the nearer the pole.
    fileprivate func isNear(_ place: Coordinate, degrees: Double) -> Bool {
        let metres = degrees * 111_195 * cos(place.latitude * .pi / 180)
        if project(place).distanceToShape <= metres { return true }
        var previous = points[0]
        for point in points.dropFirst() {
            let east = point.longitude - previous.longitude
            let north = point.latitude - previous.latitude
            let length = east * east + north * north
            let toPlace = (
                east: place.longitude - previous.longitude,
                north: place.latitude - previous.latitude
            )
            let along = length > 0 ? (toPlace.east * east + toPlace.north * north) / length : 0
            let share = min(1, max(0, along))
            let off = (toPlace.east - share * east, toPlace.north - share * north)
            if off.0 * off.0 + off.1 * off.1 <= degrees * degrees { return true }
            previous = point
        }
        return false
    }
}
