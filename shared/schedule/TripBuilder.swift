internal import Transit

/// Makes trips of the rows of a feed.
struct TripBuilder {
    /// A row of trips.txt.
    struct Row {
        let id: TripID
        let routeID: RouteID
        let serviceID: ServiceID
        let directionID: Int?
        let headsign: String
        let shape: Int

        /// What is known of the trip without its stop times.
        func facts(_ firstArrival: Int32?, _ frequency: TripFacts.Frequency?) -> TripFacts {
            let start = firstArrival.flatMap { $0 == StopTimeReader.noTime ? nil : Int($0) }
            return TripFacts(
                routeID: routeID,
                serviceID: serviceID,
                directionID: directionID,
                startTime: start,
                frequency: frequency
            )
        }
    }

    private struct Pattern: Hashable {
        let shape: Int
        let calls: [Int32]
        let distances: [UInt64]
    }

    private let rows: StopTimeReader
    private let stopIDs: [StopID]
    private let coordinates: [Coordinate?]
    private let grouping: Grouping
    // Many trips call at the same stops of the same shape; each pattern is placed once.
    private var patterns: [Pattern: [Double]] = [:]

    init(_ rows: StopTimeReader, tripCount: Int, stops: [StopID: Stop]) {
        self.rows = rows
        stopIDs = (0..<rows.stopIDs.count).map { StopID(rows.stopIDs.text($0)) }
        coordinates = stopIDs.map { stops[$0]?.coordinate }
        grouping = Grouping(groups: rows.trips, groupCount: tripCount)
    }

    /// Builds one trip.
    ///
    /// - Returns: nil for a trip without stop times, or with none that has a time.
    mutating func trip(
        _ index: Int,
        _ row: Row,
        shape: ShapeReader.Shape,
        isFrequencyBased: Bool
    ) -> Trip? {
        let calls = grouping.rows(of: index, by: rows.sequence)
        guard calls.contains(where: { rows.arrivals[$0] != StopTimeReader.noTime }) else {
            return nil
        }
        let places = places(of: calls, row.shape, shape)
        let times = Self.filled(
            calls.map { rows.arrivals[$0] },
            calls.map { rows.departures[$0] },
            places
        )
        let stopTimes = calls.indices.map { position in
            let call = calls[position]
            let stop = Int(rows.stops[call])
            return StopTime(
                stopID: stopIDs[stop],
                stopSequence: Int(rows.sequence[call]),
                alongShape: places[position],
                arrival: times[position].arrival,
                departure: times[position].departure,
                coordinate: coordinates[stop] ?? shape.geometry.point(at: places[position])
            )
        }
        return Trip(
            id: row.id,
            routeID: row.routeID,
            serviceID: row.serviceID,
            directionID: row.directionID,
            headsign: row.headsign,
            shape: shape.geometry,
            stopTimes: stopTimes,
            isFrequencyBased: isFrequencyBased
        )
    }

    private mutating func places(
        of calls: [Int],
        _ shapeIndex: Int,
        _ shape: ShapeReader.Shape
    ) -> [Double] {
        let pattern = Pattern(
            shape: shapeIndex,
            calls: calls.map { rows.stops[$0] },
            distances: calls.map { rows.distances[$0].bitPattern }
        )
        if let known = patterns[pattern] { return known }
        let places = StopPlacer.place(
            calls.map { row in
                StopPlacer.Call(
                    coordinate: coordinates[Int(rows.stops[row])],
                    distance: rows.distances[row]
                )
            },
            on: shape
        )
        patterns[pattern] = places
        return places
    }

    /// Fills missing times in: on a line over the distance between the neighbours that have one,
    /// before the first and after the last of these with theirs.
    static func filled(
        _ arrivals: [Int32],
        _ departures: [Int32],
        _ places: [Double]
    ) -> [(arrival: Int, departure: Int)] {
        var times = zip(arrivals, departures).map { (arrival: Int($0), departure: Int($1)) }
        let known = arrivals.indices.filter { arrivals[$0] != StopTimeReader.noTime }
        guard known.count < arrivals.count, let first = known.first, let last = known.last else {
            return times
        }
        for index in 0..<first {
            times[index] = (times[first].arrival, times[first].arrival)
        }
        for index in (last + 1)..<max(last + 1, times.count) {
            times[index] = (times[last].departure, times[last].departure)
        }
        for (from, to) in zip(known, known.dropFirst()) where to > from + 1 {
            let span = places[to] - places[from]
            let duration = Double(times[to].arrival - times[from].departure)
            for index in (from + 1)..<to {
                let share =
                    span > 0
                    ? (places[index] - places[from]) / span
                    : Double(index - from) / Double(to - from)
                let time = times[from].departure + Int((share * duration).rounded())
                times[index] = (time, time)
            }
        }
        return times
    }
}
