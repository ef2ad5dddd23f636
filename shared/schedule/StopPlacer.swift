internal import Transit

/// Finds how far along its shape a trip calls at each stop.
enum StopPlacer {
    /// A call before it is placed.
    struct Call: Hashable {
        let coordinate: Coordinate?
        /// shape_dist_traveled, not a number when the row has none.
        let distance: Double
    }

    /// Metres per unit of shape_dist_traveled that are tried where the shape has no measure: metres,
    /// feet, kilometres and miles.
    static let units = [1, 0.3048, 1000, 1609.344]
    /// How far past the shape's end the last stop may seem to lie, as a share of the length.
    static let overshoot = 1.05
    /// How far off its stop a distance may put a call before the trip's distances are not believed.
    static let largestMismatch = 2000.0
    /// How far back a stop may project before the stop ahead of it; stops stand beside the road.
    static let backwardsMeters = 100.0

    /// Places the calls of one trip.
    ///
    /// - Returns: Metres along the shape, one per call, never decreasing and within the shape.
    static func place(_ calls: [Call], on shape: ShapeReader.Shape) -> [Double] {
        let places = byDistance(calls, on: shape) ?? byProjection(calls, on: shape.geometry)
        var furthest = 0.0
        return places.map { along in
            furthest = max(furthest, min(along, shape.geometry.length))
            return furthest
        }
    }

    private static func byDistance(
        _ calls: [Call],
        on shape: ShapeReader.Shape
    ) -> [Double]? {
        guard let last = calls.last?.distance, last > 0,
            calls.allSatisfy({ !$0.distance.isNaN })
        else { return nil }
        let geometry = shape.geometry
        var places: [Double]
        if let total = shape.measure.last {
            guard last <= total * overshoot else { return nil }
            places = calls.map { interpolate($0.distance, shape.measure, geometry.cumulative) }
        } else {
            guard let unit = unit(ofLast: last, length: geometry.length) else { return nil }
            places = calls.map { $0.distance * unit }
        }
        places = places.map { min(max(0, $0), geometry.length) }
        let isBelievable = zip(calls, places).allSatisfy { call, along in
            guard let coordinate = call.coordinate else { return true }
            return geometry.point(at: along).distance(to: coordinate) <= largestMismatch
        }
        return isBelievable ? places : nil
    }

    /// The unit that puts the last stop furthest along the shape without passing its end by more
    /// than 5 %.
    static func unit(ofLast distance: Double, length: Double) -> Double? {
        units.filter { distance * $0 <= length * overshoot }.max()
    }

    private static func interpolate(
        _ value: Double,
        _ measure: [Double],
        _ cumulative: [Double]
    ) -> Double {
        var low = 0
        var high = measure.count
        while low < high {
            let middle = (low + high) / 2
            if measure[middle] < value { low = middle + 1 } else { high = middle }
        }
        guard low > 0 else { return cumulative[0] }
        guard low < measure.count else { return cumulative[cumulative.count - 1] }
        let share = (value - measure[low - 1]) / (measure[low] - measure[low - 1])
        return cumulative[low - 1] + share * (cumulative[low] - cumulative[low - 1])
    }

    /// Projects stop by stop, each near the one before, so that a loop's last stop comes at its end.
    ///
    /// The first is sought near the shape's start. A place ahead goes before one behind: on a short
    /// loop the start can be nearer to the last but one stop than the end is.
    private static func byProjection(_ calls: [Call], on shape: ShapeGeometry) -> [Double] {
        var previous = 0.0
        return calls.map { call in
            guard let coordinate = call.coordinate else { return previous }
            let from = previous
            let projection = shape.project(coordinate) { along in
                along >= from - backwardsMeters ? abs(along - from) : shape.length + from - along
            }
            previous = projection.alongShape
            return previous
        }
    }
}
