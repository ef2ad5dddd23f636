internal import Glibc

/// A trip's path on the ground, ready to project points onto.
///
/// Works in a flat plane per shape: x and y in metres from the first point, longitudes scaled by the
/// cosine of the shape's mean latitude, 111,320 m per degree. Lengths along the shape are
/// great-circle metres. Immutable and shared by every trip that follows the shape; a projection
/// allocates nothing.
public final class ShapeGeometry: Sendable {
    /// The shape's points in order, at least two.
    public let points: [Coordinate]
    /// Metres from the start to each point; never decreasing.
    public let cumulative: [Double]
    /// Metres from the first to the last point.
    public var length: Double { cumulative[cumulative.count - 1] }
    /// A hash of the points, the same for the same points in any process.
    public let contentHash: UInt64

    let plane: ShapePlane
    private let grid: SegmentGrid

    /// Measures a shape.
    ///
    /// - Returns: nil for fewer than two points or a coordinate that is not finite.
    public init?(points: [Coordinate]) {
        guard points.count >= 2 else { return nil }
        var cumulative: [Double] = []
        cumulative.reserveCapacity(points.count)
        var hash = FNV1a()
        var total = 0.0
        var previous = points[0]
        for point in points {
            guard point.latitude.isFinite, point.longitude.isFinite else { return nil }
            total += previous.distance(to: point)
            cumulative.append(total)
            hash.add(point.latitude.bitPattern)
            hash.add(point.longitude.bitPattern)
            previous = point
        }
        self.points = points
        self.cumulative = cumulative
        contentHash = hash.value
        plane = ShapePlane(points: points, cumulative: cumulative)
        grid = SegmentGrid(plane: plane)
    }

    // MARK: - Projection

    /// Projects a point onto the shape.
    ///
    /// Without a hint the nearest place wins, the first on ties. With a hint the answer is the local
    /// minimum of distance that lies nearest to the hint along the shape, among those not further
    /// off than the larger of 30 m and twice the best distance plus 1 m; so a vehicle on a loop or a
    /// road used in both directions stays on its leg.
    ///
    /// - Parameters:
    ///   - point: The place to project.
    ///   - hint: Metres along the shape where the vehicle was last.
    /// - Returns: Where the point lies; the distance is infinite for a point that is not finite.
    public func project(_ point: Coordinate, hint: Double? = nil) -> Projection {
        let place = plane.place(of: point)
        guard place.isUsable else { return Projection(alongShape: 0, distanceToShape: .infinity) }
        guard let hint, hint.isFinite else {
            return projection(grid.nearest(to: place, in: plane) ?? plane.nearest(to: place))
        }
        if let near = plane.nearestToHint(place, hint: hint) { return projection(near) }
        return projection(choose(place) { abs($0 - hint) })
    }

    /// Projects a point whose place along the shape something else can tell, such as the schedule.
    ///
    /// - Parameters:
    ///   - point: The place to project.
    ///   - cost: What speaks against an answer that many metres along the shape.
    /// - Returns: Among the local minima that a hint could choose from, the one with the lowest
    ///   cost, the first on ties.
    public func project(
        _ point: Coordinate,
        preferring cost: (_ alongShape: Double) -> Double
    ) -> Projection {
        let place = plane.place(of: point)
        guard place.isUsable else { return Projection(alongShape: 0, distanceToShape: .infinity) }
        return projection(choose(place, cost))
    }

    private func choose(_ place: PlanePoint, _ cost: (Double) -> Double) -> SegmentHit {
        grid.choose(place, in: plane, cost) ?? plane.choose(place, cost)
    }

    private func projection(_ hit: SegmentHit) -> Projection {
        Projection(alongShape: hit.along, distanceToShape: hit.squaredDistance.squareRoot())
    }

    // MARK: - From metres to places

    /// The place so many metres along the shape, clamped to its ends.
    public func point(at along: Double) -> Coordinate {
        let segment = plane.segment(containing: along)
        let length = cumulative[segment + 1] - cumulative[segment]
        let from = points[segment]
        let to = points[segment + 1]
        guard length > 0, along > cumulative[segment] else { return from }
        let share = min(1, (along - cumulative[segment]) / length)
        if share == 1 { return to }
        let latitude = from.latitude + share * (to.latitude - from.latitude)
        let step = ShapePlane.wrapped(to.longitude - from.longitude)
        return Coordinate(
            latitude: latitude,
            longitude: ShapePlane.wrapped(from.longitude + share * step)
        )
    }

    /// The direction of travel so many metres along the shape.
    ///
    /// - Parameter along: Clamped to the shape's ends; a vertex belongs to the segment after it.
    /// - Returns: Degrees clockwise from north, at least 0 and below 360.
    public func bearing(at along: Double) -> Double {
        var segment = plane.segment(containing: along)
        while segment > 0, cumulative[segment + 1] == cumulative[segment] { segment -= 1 }
        return points[segment].bearing(to: points[segment + 1])
    }
}
