import Testing

@testable import Schedule
@testable import Transit

@Suite struct RecordedShapeTests {
    @Test(arguments: [
        "raba.gtfs", "saopaulo-2019.gtfs", "emery-go-round-2022.gtfs", "collins-ie-2016.gtfs",
        "bullrunner.gtfs", "wmata-2016-5A.gtfs",
    ])
    func `projects onto real shapes as the plain rule does`(feed: String) throws {
        let index = try ScheduleLoader.load(path: RecordedFeeds.path(feed))
        var shapes: [UInt64: ShapeGeometry] = [:]
        for id in index.tripIDs {
            if let shape = index.trip(id)?.shape { shapes[shape.contentHash] = shape }
        }
        var random = SplitMix(state: 3)
        var differing = 0
        for shape in shapes.values.sorted(by: { $0.contentHash < $1.contentHash }).prefix(30) {
            for _ in 0..<30 {
                let along = Double.random(in: 0...shape.length, using: &random)
                let at = shape.point(at: along)
                let spread = [0.0001, 0.0005, 0.003][Int.random(in: 0..<3, using: &random)]
                let point = Coordinate(
                    latitude: at.latitude + .random(in: -spread...spread, using: &random),
                    longitude: at.longitude + .random(in: -spread...spread, using: &random)
                )
                let place = shape.plane.place(of: point)
                let hint = along + .random(in: -200...200, using: &random)
                let hinted = shape.plane.choose(place) { abs($0 - hint) }
                let free = shape.plane.nearest(to: place)
                if shape.project(point, hint: hint).alongShape != hinted.along { differing += 1 }
                if shape.project(point).alongShape != free.along { differing += 1 }
            }
        }
        #expect(differing == 0)
    }
}
