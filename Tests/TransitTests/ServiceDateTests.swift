import Testing
import Transit

@Suite struct ServiceDateTests {
    @Test(arguments: [
        "", "2026090", "202609021", "2026-09-02", "20260931", "20260229", "20261301", "20260001",
        "20260100", "00000101", "garbage!", "２０２６", " 2026090", "+2026090",
    ])
    func `refuses what is no date of the calendar`(text: String) {
        #expect(ServiceDate(text) == nil)
    }

    @Test(arguments: [
        ("19700101", 0, 3), ("19691231", -1, 2), ("20000229", 11_016, 1), ("20260902", 20_698, 2),
        ("00010101", -719_162, 0), ("99991231", 2_932_896, 4), ("21000301", 47_541, 0),
    ])
    func `counts days and weekdays`(text: String, days: Int, weekday: Int) throws {
        let date = try #require(ServiceDate(text))
        #expect(date.daysSince1970 == days)
        #expect(date.weekday == weekday)
        #expect(date.description == text)
    }

    @Test func `walks every day of four centuries`() throws {
        var date = try #require(ServiceDate("18991231"))
        let last = try #require(ServiceDate("23000101"))
        while date < last {
            let next = date.adding(days: 1)
            #expect(next.weekday == (date.weekday + 1) % 7)
            #expect(ServiceDate(year: next.year, month: next.month, day: next.day) == next)
            #expect(ServiceDate(next.description) == next)
            date = next
        }
    }

    @Test func `stays within the years that can be written`() throws {
        let last = try #require(ServiceDate("99991231"))
        #expect(last.adding(days: 1) == last)
        #expect(last.adding(days: .max) == last)
        #expect(last.adding(days: .min).description == "00010101")
    }
}

@Suite struct CoordinateTests {
    @Test func `measures along a meridian`() {
        let south = Coordinate(latitude: 47.6, longitude: -122.33)
        let north = Coordinate(latitude: 47.609, longitude: -122.33)
        #expect(abs(south.distance(to: north) - 1000.754) < 0.001)
        #expect(south.distance(to: south) == 0)
    }

    @Test func `measures across the date line and between antipodes`() {
        let west = Coordinate(latitude: 0.001, longitude: 179.999)
        let east = Coordinate(latitude: 0.001, longitude: -179.999)
        #expect(abs(west.distance(to: east) - 222.39) < 0.01)
        let pole = Coordinate(latitude: 90, longitude: 0)
        let other = Coordinate(latitude: -90, longitude: 0)
        #expect(abs(pole.distance(to: other) - .pi * Coordinate.earthRadiusMeters) < 1)
    }

    @Test(arguments: [(0.01, 0.0, 0.0), (0, 0.01, 90), (-0.01, 0, 180), (0, -0.01, 270)])
    func `gives bearings clockwise from north`(north: Double, east: Double, expected: Double) {
        let origin = Coordinate(latitude: 0, longitude: 10)
        let bearing = origin.bearing(to: Coordinate(latitude: north, longitude: 10 + east))
        #expect(abs(bearing - expected) < 1e-6)
        #expect(bearing >= 0 && bearing < 360)
    }

    @Test(arguments: [
        (90.0, 180.0, true), (-90, -180, true), (0, 0.1, true), (0, 0, false), (90.0001, 0, false),
        (0, 180.0001, false), (.nan, 1, false), (1, .infinity, false), (1, .nan, false),
    ])
    func `knows the range`(latitude: Double, longitude: Double, valid: Bool) {
        #expect(Coordinate(latitude: latitude, longitude: longitude).isValid == valid)
    }
}
