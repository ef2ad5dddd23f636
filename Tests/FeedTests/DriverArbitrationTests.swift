import Messages
import Testing
import Transit

@testable import FeedService

/// Which of two drivers speaks for a trip (spec 0).
@Suite struct DriverArbitrationTests {
    private let now = TripEstimate.now

    private func published(_ vehicles: [LiveVehicle]) -> [VehicleID] {
        let arbitration = DriverArbitration(vehicles)
        let published = arbitration.published.map(\.vehicleID)
        #expect(arbitration.suppressed == Set(vehicles.map(\.vehicleID)).subtracting(published))
        return published
    }

    @Test(
        arguments: [
            // Ages of a and b, whether each is assigned, who speaks.
            (0, true, 1, true, "a"), (1, true, 0, true, "b"), (1, false, 0, false, "b"),
            (29, true, 0, false, "a"), (30, true, 0, false, "a"), (31, true, 0, false, "b"),
            (0, false, 30, true, "b"), (0, false, 31, true, "a"), (0, true, 80, false, "a"),
            (5, true, 5, true, "a"), (5, false, 5, true, "b"),
        ] as [(Int64, Bool, Int64, Bool, VehicleID)]
    )
    func `the fresher speaks, but the assigned one may be 30 seconds older`(
        firstAge: Int64,
        firstIsAssigned: Bool,
        secondAge: Int64,
        secondIsAssigned: Bool,
        winner: VehicleID
    ) {
        let first = LiveVehicle.sample("a", at: now - firstAge, assigned: firstIsAssigned)
        let second = LiveVehicle.sample("b", at: now - secondAge, assigned: secondIsAssigned)
        #expect(published([first, second]) == [winner])
        #expect(published([second, first]) == [winner])
    }

    @Test func `of three one speaks, whatever their order`() {
        let vehicles = [
            LiveVehicle.sample("a", at: now, assigned: false),
            .sample("b", at: now - 25, assigned: true),
            .sample("c", at: now - 40, assigned: true),
        ]
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            #expect(published(order.map { vehicles[$0] }) == ["b"])
        }
    }

    @Test func `other trips and other dates are no rivals`() {
        let vehicles = [
            LiveVehicle.sample("a"), .sample("b", trip: "T2"), .sample("c", date: .tuesday),
        ]
        #expect(published(vehicles) == ["a", "b", "c"])
    }

    @Test func `a report without a date is a rival of every date`() {
        #expect(
            published([
                .sample("a", at: now), .sample("b", date: .tuesday, at: now - 1),
                .sample("c", date: nil, at: now - 2),
            ]) == ["a", "b"]
        )
        #expect(
            published([.sample("a", at: now - 1), .sample("c", date: nil, at: now)]) == ["c"]
        )
    }

    @Test func `vehicles without a trip are all published`() {
        #expect(published([.sample("a", trip: ""), .sample("b", trip: "")]) == ["a", "b"])
    }

    @Test func `verifiers get those who speak and name a trip`() {
        var fast = LiveVehicle.sample("a", date: nil)
        fast.timestamp = now + 200
        let trusted = DriverArbitration([
            fast, .sample("b", at: now - 60), .sample("c", trip: "", date: nil),
        ]).trusted
        #expect(
            trusted == [
                TrustedVehicle(
                    tripID: "T1",
                    startDate: nil,
                    vehicleID: "a",
                    latitude: 47.6045,
                    longitude: -122.33,
                    timestamp: now,
                    source: .driver
                )
            ]
        )
    }
}
