import Testing

@testable import Transit

/// The rule of projection written down plainly, with all distances in an array.
private struct PlainRule {
    let hits: [SegmentHit]

    init(_ shape: ShapeGeometry, _ place: PlanePoint) {
        hits = (0..<shape.plane.segmentCount).map { shape.plane.hit($0, place) }
    }

    var nearest: SegmentHit {
        hits.min { $0.squaredDistance < $1.squaredDistance } ?? hits[0]
    }

    func choose(_ cost: (Double) -> Double) -> SegmentHit {
        let distances = hits.map(\.squaredDistance)
        let bound = max(2 * nearest.squaredDistance.squareRoot() + 1, 30)
        let candidates = hits.indices.filter { index in
            distances[index] <= bound * bound
                && (index == 0 || distances[index] <= distances[index - 1])
                && (index + 1 == hits.count || distances[index] <= distances[index + 1])
        }
        let index = candidates.min { cost(hits[$0].along) < cost(hits[$1].along) }
        return index.map { hits[$0] } ?? nearest
    }
}

@Suite struct ProjectionRuleTests {
    enum Kind: String, CaseIterable {
        case wander, lap, thereAndBack, knot, dense, longSegments, doubledPoints
    }

    @Test(arguments: Kind.allCases, 0..<20)
    func `shortcuts answer exactly as the plain rule`(kind: Kind, seed: Int) throws {
        var random = SeededRandom(seed: UInt64(seed) * 977 + 1)
        let shape = try #require(ShapeGeometry(points: Self.points(kind, &random)))
        for _ in 0..<40 {
            let along = Double.random(in: 0...max(1, shape.length), using: &random)
            let spread: Double = [3, 20, 45, 120, 2000][Int.random(in: 0..<5, using: &random)]
            let point = Self.moved(shape.point(at: along), by: spread, &random)
            let place = shape.plane.place(of: point)
            let rule = PlainRule(shape, place)
            let nearest = rule.nearest
            var same = shape.project(point) == Self.projection(nearest)
            let cheap = rule.choose { -$0 }
            same = same && shape.project(point, preferring: { -$0 }) == Self.projection(cheap)
            for distance: Double in [0, 10, 100, 1000] {
                let hint = along + Double.random(in: -1...1, using: &random) * distance
                let expected = rule.choose { abs($0 - hint) }
                same = same && shape.project(point, hint: hint) == Self.projection(expected)
                let scanned = shape.plane.choose(place) { abs($0 - hint) }
                same = same && scanned.along == expected.along
            }
            #expect(same, "point \(point), placed \(along) m along")
        }
    }

    private static func projection(_ hit: SegmentHit) -> Projection {
        Projection(alongShape: hit.along, distanceToShape: hit.squaredDistance.squareRoot())
    }

    private static func points(_ kind: Kind, _ random: inout SeededRandom) -> [Coordinate] {
        let origin = Coordinate(
            latitude: .random(in: -60...60, using: &random),
            longitude: .random(in: -180...180, using: &random)
        )
        let count = Int.random(in: 2...300, using: &random)
        switch kind {
        case .wander, .knot, .dense, .longSegments, .doubledPoints:
            let steps: [Kind: Double] = [.longSegments: 3000, .knot: 15, .dense: 2]
            let step = steps[kind] ?? 40
            var points = [origin]
            for _ in 1..<max(2, count) {
                let last = points[points.count - 1]
                if kind == .doubledPoints, Bool.random(using: &random) {
                    points.append(last)
                } else {
                    points.append(moved(last, by: step, &random))
                }
            }
            return points
        case .lap:
            let laps = Double(Int.random(in: 1...3, using: &random))
            return (0...count).map { index in
                place(origin, angle: Double(index) / Double(count) * laps * 2 * .pi, radius: 300)
            }
        case .thereAndBack:
            let line = (0...count).map { index in
                place(origin, angle: 0, radius: Double(index) * 25)
            }
            return line + line.reversed().map { moved($0, by: 4, &random) }
        }
    }

    private static func place(_ origin: Coordinate, angle: Double, radius: Double) -> Coordinate {
        // A polygon is round enough: no trigonometry, and exact ties do occur.
        let turn = (angle / (2 * .pi)).truncatingRemainder(dividingBy: 1) * 4
        let side = turn.rounded(.down)
        let share = turn - side
        let corners: [(Double, Double)] = [(1, 0), (0, 1), (-1, 0), (0, -1), (1, 0)]
        let from = corners[Int(side)]
        let to = corners[Int(side) + 1]
        return Coordinate(
            latitude: origin.latitude + radius / 111_320 * (from.0 + share * (to.0 - from.0)),
            longitude: origin.longitude + radius / 111_320 * (from.1 + share * (to.1 - from.1))
        )
    }

    private static func moved(
        _ point: Coordinate,
        by meters: Double,
        _ random: inout SeededRandom
    ) -> Coordinate {
        let range = -(meters / 111_320)...(meters / 111_320)
        return Coordinate(
            latitude: point.latitude + .random(in: range, using: &random),
            longitude: point.longitude + .random(in: range, using: &random)
        )
    }
}

/// SplitMix64: a seed in the test's name brings a failure back.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
        return word ^ word >> 31
    }
}
