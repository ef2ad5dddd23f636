import Replay
import Transit
import Verification

/// What riders say who sit in another vehicle than they think.
enum Claim: String, CaseIterable, CustomStringConvertible {
    /// A trip of the same route in the other direction.
    case opposite = "opposite direction"
    /// A trip of another route.
    case other = "another route"

    var description: String { rawValue }

    /// The trips that someone aboard could take for theirs, those that leave at the nearest time first.
    ///
    /// - Parameters:
    ///   - busTrip: What the vehicle runs, with the fixes in which someone is aboard.
    ///   - recording: Its day.
    ///   - limit: How many at most; nil is every trip whose schedule, with the seed's window around it,
    ///     overlaps the fixes.
    /// - Returns: The trips, none of which the vehicle ran.
    func trips(for busTrip: BusTrip, in recording: Recording, limit: Int?) -> [Trip] {
        let date = busTrip.trip.startDate
        guard let trip = recording.index.trip(busTrip.trip.tripID),
            let first = busTrip.fixes.first?.point.timestamp,
            let last = busTrip.fixes.last?.point.timestamp
        else { return [] }
        let start = recording.index.startOfService(on: date)
        let thresholds = Thresholds()
        let found = recording.trips(on: date).filter { claimed in
            let isSameRoute = claimed.routeID == trip.routeID
            let isWanted =
                switch self {
                case .opposite: isSameRoute && claimed.directionID != trip.directionID
                case .other: !isSameRoute
                }
            return isWanted
                && start + Int64(claimed.startTime) - thresholds.scheduleEarlySeconds <= last
                && start + Int64(claimed.endTime) + thresholds.scheduleLateSeconds >= first
        }
        .sorted { left, right in
            let (near, far) = (left.startTime - trip.startTime, right.startTime - trip.startTime)
            return (near.magnitude, left.id) < (far.magnitude, right.id)
        }
        return limit.map { Array(found.prefix($0)) } ?? found
    }
}
