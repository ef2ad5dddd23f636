import Testing

@testable import VehiclePositionsKit

@Suite struct GeometryTests {
    @Test func `measures a hundredth of a degree of latitude`() {
        let first = Coordinate(latitude: 47.6, longitude: -122.33)
        let second = Coordinate(latitude: 47.609, longitude: -122.33)
        #expect(abs(first.distanceMeters(to: second) - 1001) <= 5)
        #expect(first.distanceMeters(to: first) == 0)
    }
}
