import Foundation
import Testing
import Transit

@testable import Schedule

@Suite struct FixtureFeedTests {
    private static let path: String = {
        let root = #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
        return "/\(root)/Fixtures/fixture.zip"
    }()

    @Test func `is committed as its builder makes it`() throws {
        let built = try FixtureFeed.zip()
        if ProcessInfo.processInfo.environment["WRITE_FIXTURE"] == "1" {
            try Data(built).write(to: URL(fileURLWithPath: Self.path))
        }
        // Contents are compared, not bytes: another zlib may pack the same text differently.
        let committed = try ZipReader(try ScheduleLoader.bytes(path: Self.path), source: "fixture")
        #expect(committed.names == FixtureFeed.files.map(\.name))
        for (index, file) in FixtureFeed.files.enumerated() {
            #expect(try committed.read(index, as: file.name) == Array(file.text.utf8))
        }
    }

    private func load(_ changes: [String: String?] = [:]) throws -> ScheduleIndex {
        try ScheduleLoader.load(zip: try FixtureFeed.zip(changes), name: "fixture.zip")
    }

    private func alongs(_ index: ScheduleIndex, _ trip: TripID) throws -> [Double] {
        try #require(index.trip(trip)).stopTimes.map(\.alongShape)
    }

    @Test func `leaves out the trip without a shape and sorts the others`() throws {
        let index = try load()
        #expect(index.tripIDs == ["T1", "T2", "T3"])
        #expect(index.counts.trips == 4)
        #expect(index.counts.shapes == 2)
        #expect(index.agencyName == "Fixture Transit")
        #expect(index.stop("ST2")?.name == "Middle")
        #expect(index.route("R2")?.color == "AA4400")
        #expect(index.trip("T3")?.startTime == 90_000)
        #expect(index.trip("T1")?.headsign == "North")
        #expect(index.trip("T1")?.directionID == 0)
    }

    @Test func `places stops by the shape's own measure`() throws {
        let along = try alongs(try load(), "T1")
        #expect(abs(along[1] - 500.377) < 0.01)
        #expect(abs(along[2] - 1000.754) < 0.01)
    }

    @Test func `ends a loop at its end`() throws {
        let along = try alongs(try load(), "T3")
        #expect(along[0] == 0)
        #expect(abs(along[1] - 500.377) < 0.01)
        #expect(abs(along[2] - 995.196) < 0.01)
        #expect(abs(along[3] - 1990.435) < 0.01)
    }

    @Test func `ends a loop at its end when the stop before is near its start`() throws {
        let times = FixtureFeed.text("stop_times.txt").split(separator: "\n")
            .filter { !$0.hasPrefix("T3,25:15") }.joined(separator: "\n")
        let along = try alongs(try load(["stop_times.txt": times]), "T3")
        #expect(abs(along[2] - 1990.435) < 0.01)
    }

    @Test(arguments: [",0", ",", ",500", ",40000"])
    func `projects where distances are of no use`(last: String) throws {
        let times = FixtureFeed.text("stop_times.txt")
            .replacingOccurrences(of: ",ST3,3,1001", with: ",ST3,3" + last)
            .replacingOccurrences(of: ",ST2,2,500", with: ",ST2,2" + (last == ",0" ? ",0" : ",500"))
        let shapes = FixtureFeed.text("shapes.txt")
        let plain = shapes.replacingOccurrences(of: "2,500", with: "2,")
        let changed = last == ",500" ? shapes : plain
        let along = try alongs(
            try load(["stop_times.txt": times, "shapes.txt": changed]),
            "T1"
        )
        if last == ",500" {
            // A usable measure is believed even when the last stop comes early.
            #expect(abs(along[2] - 500.377) < 0.01)
        } else {
            #expect(abs(along[2] - 1000.754) < 0.01)
        }
    }

    @Test func `takes kilometres where the shape has no measure`() throws {
        let times = FixtureFeed.text("stop_times.txt")
            .replacingOccurrences(of: ",ST2,2,500", with: ",ST2,2,0.5")
            .replacingOccurrences(of: ",ST3,3,1001", with: ",ST3,3,1.001")
        let shapes = FixtureFeed.text("shapes.txt").replacingOccurrences(of: "2,500", with: "2,")
        let along = try alongs(try load(["stop_times.txt": times, "shapes.txt": shapes]), "T1")
        #expect(abs(along[1] - 500) < 0.01)
        #expect(abs(along[2] - 1000.754) < 0.01)
    }

    @Test(arguments: [
        (9800.0, 1.0 as Double?), (5000, 1), (500, 1), (9.8, 1000), (32_152, 0.3048),
        (6.089, 1609.344), (40_000, nil),
    ])
    func `chooses the unit of distances`(last: Double, unit: Double?) {
        #expect(StopPlacer.unit(ofLast: last, length: 10_000) == unit)
    }

    @Test func `fills missing times in by distance and at the ends`() {
        let none = StopTimeReader.noTime
        let times = TripBuilder.filled(
            [none, 100, none, none, 200, none],
            [none, 110, none, none, 230, none],
            [0, 100, 130, 190, 200, 300]
        )
        #expect(times.map(\.arrival) == [100, 100, 137, 191, 200, 230])
        #expect(times.map(\.departure) == [100, 110, 137, 191, 230, 230])
    }
}
