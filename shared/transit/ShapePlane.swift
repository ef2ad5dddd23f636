internal import Glibc

/// A place in a shape's plane, in metres.
struct PlanePoint {
    let x, y: Double

    /// Whether the place is finite and near enough to reckon with.
    var isUsable: Bool { abs(x) < 1e9 && abs(y) < 1e9 }
}

/// The nearest place on one segment.
struct SegmentHit {
    var segment: Int
    var along: Double
    var squaredDistance: Double

    /// Further off than any segment.
    static let none = SegmentHit(segment: .max, along: 0, squaredDistance: .infinity)

    /// Whether this is the answer rather than `other`: the first segment on ties.
    func isNearer(than other: SegmentHit) -> Bool {
        squaredDistance < other.squaredDistance
            || squaredDistance == other.squaredDistance && segment < other.segment
    }
}

/// A straight piece of a shape with all that a projection onto it reads, side by side in memory.
struct Segment {
    /// Where it starts, in metres of the plane.
    let x, y: Double
    /// From its start to its end.
    let dx, dy: Double
    /// One over its squared length in the plane, 0 for a piece of no length.
    let inverseSquare: Double
    /// Metres along the shape where it starts.
    let along: Double
    /// Metres along the shape that it covers.
    let length: Double
}

/// The segments of a shape in its plane.
struct ShapePlane: Sendable {
    private let origin: Coordinate
    private let metersPerDegreeEast: Double
    let segments: [Segment]
    let cumulative: [Double]

    static let metersPerDegree = 111_320.0

    var segmentCount: Int { segments.count }

    init(points: [Coordinate], cumulative: [Double]) {
        let origin = points[0]
        let mean = points.reduce(0) { $0 + $1.latitude } / Double(points.count)
        let east = Self.metersPerDegree * cos(mean * .pi / 180)
        let x = points.map { Self.wrapped($0.longitude - origin.longitude) * east }
        let y = points.map { ($0.latitude - origin.latitude) * Self.metersPerDegree }
        segments = (0..<(points.count - 1)).map { index in
            let dx = x[index + 1] - x[index]
            let dy = y[index + 1] - y[index]
            let square = dx * dx + dy * dy
            return Segment(
                x: x[index],
                y: y[index],
                dx: dx,
                dy: dy,
                inverseSquare: square > 0 ? 1 / square : 0,
                along: cumulative[index],
                length: cumulative[index + 1] - cumulative[index]
            )
        }
        self.origin = origin
        metersPerDegreeEast = east
        self.cumulative = cumulative
    }

    /// A difference of longitudes taken the short way round.
    static func wrapped(_ degrees: Double) -> Double {
        if degrees > 180 { return degrees - 360 }
        if degrees < -180 { return degrees + 360 }
        return degrees
    }

    func place(of point: Coordinate) -> PlanePoint {
        PlanePoint(
            x: Self.wrapped(point.longitude - origin.longitude) * metersPerDegreeEast,
            y: (point.latitude - origin.latitude) * Self.metersPerDegree
        )
    }

    @inline(__always)
    func hit(_ index: Int, _ place: PlanePoint) -> SegmentHit {
        let segment = segments[index]
        let fromX = place.x - segment.x
        let fromY = place.y - segment.y
        let dot = fromX * segment.dx + fromY * segment.dy
        let share = max(0, min(1, dot * segment.inverseSquare))
        let restX = fromX - share * segment.dx
        let restY = fromY - share * segment.dy
        return SegmentHit(
            segment: index,
            along: segment.along + share * segment.length,
            squaredDistance: restX * restX + restY * restY
        )
    }

    /// The last segment that starts at or before `along`.
    func segment(containing along: Double) -> Int {
        var low = 0
        var high = segmentCount
        // Invariant: the answer lies in low..<high.
        while high - low > 1 {
            let middle = (low + high) / 2
            if cumulative[middle] <= along { low = middle } else { high = middle }
        }
        return low
    }

    // MARK: - The rule, over all segments

    /// The largest squared distance at which a local minimum is still a candidate.
    static func admissibleSquare(best squaredDistance: Double) -> Double {
        let bound = max(2 * squaredDistance.squareRoot() + 1, alwaysAdmissibleMeters)
        return bound * bound
    }

    /// At least ``admissibleSquare(best:)``, without its root: 4d ≤ 2d² + 2 for every d.
    static func admissibleBound(best squaredDistance: Double) -> Double {
        max(6 * squaredDistance + 3, alwaysAdmissibleMeters * alwaysAdmissibleMeters)
    }

    /// A local minimum this near is a candidate whatever the best distance is.
    static let alwaysAdmissibleMeters = 30.0

    func nearest(to place: PlanePoint) -> SegmentHit {
        var best = hit(0, place)
        for segment in 1..<max(1, segmentCount) {
            let next = hit(segment, place)
            if next.squaredDistance < best.squaredDistance { best = next }
        }
        return best
    }

    /// Scans twice, once for the best distance and once for the candidates, to allocate nothing.
    func choose(_ place: PlanePoint, _ cost: (Double) -> Double) -> SegmentHit {
        var chosen = nearest(to: place)
        let limit = Self.admissibleSquare(best: chosen.squaredDistance)
        var lowest = Double.infinity
        var before = Double.infinity
        var current = hit(0, place)
        for segment in 0..<segmentCount {
            let after = segment + 1 < segmentCount ? hit(segment + 1, place) : nil
            let distance = current.squaredDistance
            if distance <= limit, distance <= before,
                distance <= after?.squaredDistance ?? .infinity
            {
                let price = cost(current.along)
                if price < lowest {
                    lowest = price
                    chosen = current
                }
            }
            before = distance
            if let after { current = after }
        }
        return chosen
    }

    func isLocalMinimum(_ hit: SegmentHit, _ place: PlanePoint) -> Bool {
        let segment = hit.segment
        if segment > 0, self.hit(segment - 1, place).squaredDistance < hit.squaredDistance {
            return false
        }
        return segment + 1 >= segmentCount
            || self.hit(segment + 1, place).squaredDistance >= hit.squaredDistance
    }

    // MARK: - The rule, near the hint

    /// The most segments looked at before the grid takes over.
    private static let windowSegments = 96

    /// Finds the rule's answer by looking outwards from the hint.
    ///
    /// A local minimum within 30 m is a candidate whatever the rest of the shape looks like, so once
    /// every segment not yet seen lies further from the hint than one that was found, nothing can
    /// beat it. A nearer local minimum beyond 30 m may or may not be a candidate; then this gives up.
    ///
    /// - Returns: What ``choose(_:_:)`` returns for the cost |along - hint|, or nil if undecided.
    func nearestToHint(_ place: PlanePoint, hint: Double) -> SegmentHit? {
        let always = Self.alwaysAdmissibleMeters * Self.alwaysAdmissibleMeters
        let start = segment(containing: hint)
        var first = start
        var last = start
        var lowHit = hit(start, place)
        var highHit = lowHit
        var chosen: SegmentHit?
        var lowest = Double.infinity
        var doubtful = Double.infinity

        func consider(_ hit: SegmentHit) {
            let price = abs(hit.along - hint)
            if hit.squaredDistance > always {
                doubtful = min(doubtful, price)
            } else if price < lowest || price == lowest && hit.segment < chosen?.segment ?? .max {
                lowest = price
                chosen = hit
            }
        }

        if isLocalMinimum(lowHit, place) { consider(lowHit) }
        // What lies outside first...last is at least this far from the hint.
        var below = first > 0 ? hint - cumulative[first] : .infinity
        var above = last + 1 < segmentCount ? cumulative[last + 1] - hint : .infinity
        while min(below, above) <= lowest {
            guard min(below, above) < .infinity, last - first < Self.windowSegments else {
                return nil
            }
            if above <= below {
                last += 1
                let next = hit(last, place)
                let after =
                    last + 1 < segmentCount ? hit(last + 1, place).squaredDistance : .infinity
                if next.squaredDistance <= highHit.squaredDistance, next.squaredDistance <= after {
                    consider(next)
                }
                highHit = next
                above = last + 1 < segmentCount ? cumulative[last + 1] - hint : .infinity
            } else {
                first -= 1
                let next = hit(first, place)
                let before = first > 0 ? hit(first - 1, place).squaredDistance : .infinity
                if next.squaredDistance <= lowHit.squaredDistance, next.squaredDistance <= before {
                    consider(next)
                }
                lowHit = next
                below = first > 0 ? hint - cumulative[first] : .infinity
            }
        }
        return doubtful <= lowest ? nil : chosen
    }
}
