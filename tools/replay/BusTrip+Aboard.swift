public import Transit
internal import Verification

extension BusTrip {
    /// How near a stop the vehicle counts as being there, in metres.
    public static let stopReachMeters = 150.0

    /// The part of the recording in which a rider can be aboard.
    ///
    /// A vehicle is often assigned to its trip while it still drives to the first stop or waits
    /// somewhere near, and for a while after the last one; some leave without ever running it. A rider
    /// boards at a stop and leaves at one. So this keeps what lies between the last fix at the first
    /// stop and the first fix at the last stop after it, and of that what lies between the first and the last
    /// fix at any stop. Only the stops' places decide, none of the rules that a replay is to test.
    ///
    /// - Parameter trip: The trip that the vehicle ran.
    /// - Returns: The same trip with fewer fixes, possibly none; a loop, whose ends are one place, as it
    ///   is.
    public func aboard(_ trip: Trip) -> BusTrip {
        let stops = trip.stopTimes
        guard let first = stops.first, let last = stops.last,
            first.coordinate.distance(to: last.coordinate) > 2 * Self.stopReachMeters
        else { return self }
        let arrival = fixes.firstIndex { Self.isAt(last, $0) } ?? fixes.endIndex
        // A recording that begins behind the end, in a layover, has its arrival after its departure.
        let departure =
            fixes[..<arrival].lastIndex { Self.isAt(first, $0) }
            ?? fixes.lastIndex { Self.isAt(first, $0) } ?? fixes.startIndex
        let end = fixes[departure...].firstIndex { Self.isAt(last, $0) } ?? fixes.endIndex - 1
        let ridden = fixes[departure...max(departure, end)]
        let isAtAnyStop = { (fix: RecordedFix) in stops.contains { Self.isAt($0, fix) } }
        guard let boarding = ridden.firstIndex(where: isAtAnyStop),
            let alighting = ridden.lastIndex(where: isAtAnyStop)
        else { return BusTrip(vehicleID: vehicleID, trip: self.trip, fixes: []) }
        return BusTrip(
            vehicleID: vehicleID,
            trip: self.trip,
            fixes: Array(ridden[boarding...alighting])
        )
    }

    private static func isAt(_ stop: StopTime, _ fix: RecordedFix) -> Bool {
        stop.coordinate.distance(to: fix.point.coordinate) <= stopReachMeters
    }
}
