public import Transit
public import Verification

/// One position of a vehicle in a recording.
public struct RecordedFix: Sendable, Equatable {
    /// The vehicle's id in the recording.
    public var vehicleID: String
    /// The trip that the recording names; nil when it names a block or nothing.
    public var tripID: TripID?
    /// The service date of the trip, where the recording has one.
    public var startDate: ServiceDate?
    /// Where, when, how fast and in which direction, as a phone aboard would have reported it.
    public var point: Point

    /// Makes a fix.
    public init(
        vehicleID: String,
        tripID: TripID? = nil,
        startDate: ServiceDate? = nil,
        point: Point
    ) {
        self.vehicleID = vehicleID
        self.tripID = tripID
        self.startDate = startDate
        self.point = point
    }
}

/// The fixes of one vehicle while it ran one trip.
public struct BusTrip: Sendable {
    /// The vehicle's id in the recording.
    public let vehicleID: String
    /// The trip and date that the recording names.
    public let trip: TripInstance
    /// The fixes in order of time, no two of one second.
    public let fixes: [RecordedFix]

    /// Divides a recording by vehicle, trip and date.
    ///
    /// - Parameters:
    ///   - fixes: In any order; those without a trip and date are left out.
    ///   - minimum: Groups with fewer fixes are left out.
    /// - Returns: The groups by trip, date and vehicle.
    public static func all(in fixes: [RecordedFix], minimum: Int = 1) -> [BusTrip] {
        struct Key: Hashable {
            let vehicleID: String
            let trip: TripInstance
        }
        var groups: [Key: [RecordedFix]] = [:]
        for fix in fixes {
            guard let tripID = fix.tripID, let startDate = fix.startDate else { continue }
            let trip = TripInstance(tripID: tripID, startDate: startDate)
            groups[Key(vehicleID: fix.vehicleID, trip: trip), default: []].append(fix)
        }
        return groups.compactMap { key, fixes in
            let inOrder = RecordedFix.inOrder(fixes)
            guard inOrder.count >= minimum else { return nil }
            return BusTrip(vehicleID: key.vehicleID, trip: key.trip, fixes: inOrder)
        }
        .sorted { ($0.trip, $0.vehicleID) < ($1.trip, $1.vehicleID) }
    }
}

extension RecordedFix {
    /// The fixes by time; of two of one second the first stays.
    static func inOrder(_ fixes: [RecordedFix]) -> [RecordedFix] {
        var result: [RecordedFix] = []
        let sorted = fixes.enumerated().sorted { left, right in
            (left.element.point.timestamp, left.offset)
                < (right.element.point.timestamp, right.offset)
        }
        for (_, fix) in sorted where fix.point.timestamp != result.last?.point.timestamp {
            result.append(fix)
        }
        return result
    }

    /// Gives the fixes of a block the trips that it runs: a fix belongs to the trip that is due at its
    /// time, in a layover to the next one, after the last to the last.
    ///
    /// - Parameters:
    ///   - fixes: The block's fixes.
    ///   - trips: Its trips in the order in which they run.
    ///   - startDate: The service date of the block.
    ///   - startOfService: From when the trips' times count.
    /// - Returns: The fixes with trip and date.
    public static func assign(
        _ fixes: [RecordedFix],
        to trips: [Trip],
        on startDate: ServiceDate,
        startOfService: UnixSeconds
    ) -> [RecordedFix] {
        fixes.map { fix in
            let due = trips.first { trip in
                fix.point.timestamp <= startOfService + Int64(trip.endTime)
            }
            var fix = fix
            fix.tripID = (due ?? trips.last)?.id
            fix.startDate = startDate
            return fix
        }
    }
}
