import Testing
import Transit

/// The shapes of the reference's fixture feed.
enum FixtureShapes {
    static let straight = [47.6, 47.6045, 47.609].map {
        Coordinate(latitude: $0, longitude: -122.33)
    }
    static let loop = [
        Coordinate(latitude: 47.6, longitude: -122.33),
        Coordinate(latitude: 47.6045, longitude: -122.33),
        Coordinate(latitude: 47.6045, longitude: -122.3234),
        Coordinate(latitude: 47.6, longitude: -122.3234),
        Coordinate(latitude: 47.6, longitude: -122.33),
    ]
}

private func isNear(_ value: Double, _ expected: Double, _ tolerance: Double) -> Bool {
    abs(value - expected) <= tolerance
}

@Suite struct ShapeGeometryTests {
    private let straight: ShapeGeometry
    private let loop: ShapeGeometry
    private let corner = Coordinate(latitude: 47.6001, longitude: -122.3299)

    init() throws {
        straight = try #require(ShapeGeometry(points: FixtureShapes.straight))
        loop = try #require(ShapeGeometry(points: FixtureShapes.loop))
    }

    @Test func `needs two finite points`() {
        let point = Coordinate(latitude: 1, longitude: 1)
        #expect(ShapeGeometry(points: []) == nil)
        #expect(ShapeGeometry(points: [point]) == nil)
        #expect(ShapeGeometry(points: [point, Coordinate(latitude: .nan, longitude: 1)]) == nil)
        #expect(ShapeGeometry(points: [point, point])?.length == 0)
    }

    @Test func `measures the fixture shapes`() {
        for (value, expected) in zip(straight.cumulative, [0, 500.377, 1000.754]) {
            #expect(isNear(value, expected, 0.001))
        }
        for (value, expected) in zip(loop.cumulative, [0, 500.377, 995.196, 1495.573, 1990.435]) {
            #expect(isNear(value, expected, 0.001))
        }
    }

    @Test(arguments: [
        (47.60225, -122.3290, 250.19, 75.057), (47.6045, -122.3200, 500.377, 750.57),
        (47.6045, -122.33, 500.377, 0), (47.599, -122.33, 0, 111.32),
        (47.61, -122.33, 1000.754, 111.32),
    ])
    func `projects as the golden values say`(
        latitude: Double,
        longitude: Double,
        along: Double,
        distance: Double
    ) {
        let point = Coordinate(latitude: latitude, longitude: longitude)
        for projection in [straight.project(point), straight.project(point, hint: 400)] {
            #expect(isNear(projection.alongShape, along, 0.01))
            #expect(isNear(projection.distanceToShape, distance, 0.01))
        }
    }

    @Test func `takes the leg near the hint on a loop's shared corner`() {
        let first = loop.project(corner)
        #expect(isNear(first.alongShape, 11.12, 0.01) && isNear(first.distanceToShape, 7.51, 0.01))
        for hint in [loop.length - 30, 1000] {
            let last = loop.project(corner, hint: hint)
            #expect(isNear(last.alongShape, 1982.94, 0.01))
            #expect(isNear(last.distanceToShape, 11.13, 0.01))
        }
    }

    @Test func `takes the first place on ties`() {
        #expect(loop.project(FixtureShapes.loop[0]).alongShape == 0)
        let middle = Coordinate(latitude: 47.60225, longitude: -122.3267)
        #expect(loop.project(middle, hint: 0).alongShape < 995)
    }

    @Test func `lets a cost choose among the candidates`() {
        let late = loop.project(corner) { -$0 }
        #expect(isNear(late.alongShape, 1982.94, 0.01))
        let early = loop.project(corner) { _ in 0 }
        #expect(isNear(early.alongShape, 11.12, 0.01))
    }

    @Test(arguments: [10.0, 400, 900, 1400]) func `finds back what it placed`(along: Double) {
        let projection = loop.project(loop.point(at: along), hint: along)
        #expect(isNear(projection.alongShape, along, 1))
        #expect(projection.distanceToShape < 0.01)
    }

    @Test func `clamps to the ends`() {
        #expect(straight.point(at: -5) == FixtureShapes.straight.first)
        #expect(straight.point(at: 5000) == FixtureShapes.straight.last)
        #expect(straight.point(at: .nan) == FixtureShapes.straight.first)
    }

    @Test(arguments: [(100.0, 0.0), (600, 90), (1200, 180), (1700, 270), (500.378, 90)])
    func `gives each side of the loop its bearing`(along: Double, bearing: Double) {
        #expect(isNear(loop.bearing(at: along), bearing, 0.01))
    }

    @Test func `counts a vertex to the segment after it and the end to the last`() {
        #expect(isNear(loop.bearing(at: loop.cumulative[1]), 90, 0.01))
        #expect(isNear(loop.bearing(at: loop.length), 270, 0.01))
        #expect(isNear(loop.bearing(at: loop.length + 50), 270, 0.01))
    }

    @Test(arguments: [
        (Double.nan, 0.0), (.infinity, 0), (0, .nan), (1e300, 1e300), (-1e12, 5),
    ])
    func `answers infinitely far for what is no place`(latitude: Double, longitude: Double) {
        let point = Coordinate(latitude: latitude, longitude: longitude)
        for hint: Double? in [nil, 3.0, Double.nan, Double.infinity] {
            #expect(straight.project(point, hint: hint).distanceToShape == .infinity)
        }
    }

    @Test func `crosses the date line`() throws {
        let points = [179.99, -179.99].map { Coordinate(latitude: -17, longitude: $0) }
        let shape = try #require(ShapeGeometry(points: points))
        #expect(shape.length < 2200)
        let middle = shape.point(at: shape.length / 2)
        #expect(isNear(abs(middle.longitude), 180, 1e-9))
        let place = Coordinate(latitude: -17, longitude: -179.995)
        #expect(isNear(shape.project(place).alongShape, shape.length * 0.75, 0.1))
    }

    @Test func `hashes content and nothing else`() throws {
        let same = try #require(ShapeGeometry(points: FixtureShapes.loop))
        #expect(same.contentHash == loop.contentHash)
        #expect(straight.contentHash != loop.contentHash)
    }
}
