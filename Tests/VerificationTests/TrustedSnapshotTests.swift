import Testing
import Transit

@testable import Verification

@Suite struct TrustedSnapshotTests {
    private typealias F = Fixture
    private static let now = Fixture.eight
    private let key = F.journey.instance

    private func vehicle(
        _ name: String = "bus",
        trip: TripID = "T1",
        date: ServiceDate? = F.date,
        at time: UnixSeconds = now,
        source: TrustedVehicle.Source = .agency,
        coordinate: Coordinate = F.straight.points[0]
    ) -> TrustedVehicle {
        TrustedVehicle(
            tripID: trip,
            startDate: date,
            vehicleID: name,
            coordinate: coordinate,
            timestamp: time,
            source: source
        )
    }

    private func found(_ vehicles: [TrustedVehicle], at now: UnixSeconds = now) -> String? {
        TrustedSnapshot(vehicles, createdAt: Self.now).vehicle(on: key, at: now)?.vehicleID
    }

    @Test func `finds the exact date and any date, never another date`() {
        #expect(found([vehicle()]) == "bus")
        #expect(found([vehicle(date: nil)]) == "bus")
        #expect(found([vehicle(date: F.date.adding(days: 1))]) == nil)
        #expect(found([vehicle(trip: "T2")]) == nil)
        #expect(found([vehicle("any", date: nil), vehicle("exact", at: Self.now - 60)]) == "exact")
    }

    @Test func `falls back to any date when the exact one is stale`() {
        let vehicles = [vehicle("any", date: nil), vehicle("exact", at: Self.now - 301)]
        #expect(found(vehicles) == "any")
    }

    @Test(arguments: [(Int64(300), true), (301, false), (0, true)])
    func `drops old vehicles`(age: Int64, isFound: Bool) {
        #expect((found([vehicle(at: Self.now - age)]) != nil) == isFound)
    }

    @Test(arguments: [(Int64(60), true), (61, false), (86_400, false)])
    func `drops vehicles from the future`(lead: Int64, isFound: Bool) {
        #expect((found([vehicle(at: Self.now + lead)]) != nil) == isFound)
    }

    @Test func `a vehicle from the future neither covers for ever nor hides a good one`() {
        let future = vehicle("future", at: Self.now + 86_400)
        #expect(found([vehicle(), future]) == "bus")
        let snapshot = TrustedSnapshot([future], createdAt: Self.now)
        #expect(!snapshot.covers(key, at: Self.now))
        #expect(!snapshot.covers(key, at: Self.now + 86_400))
    }

    @Test func `the fresher of two feeds wins, the first listed on a tie`() {
        let old = vehicle("old", at: Self.now - 10)
        let fresh = vehicle("fresh", at: Self.now - 5)
        #expect(found([old, fresh]) == "fresh")
        #expect(found([fresh, old]) == "fresh")
        #expect(found([vehicle("a"), vehicle("b")]) == "a")
    }

    @Test func `asks drivers after agencies`() {
        let driver = vehicle("driver", source: .driver)
        #expect(found([driver]) == "driver")
        #expect(found([driver, vehicle("agency", date: nil, at: Self.now - 200)]) == "agency")
        #expect(found([driver, vehicle("agency", at: Self.now - 301)]) == "driver")
        #expect(found([vehicle("driver", date: F.date.adding(days: 1), source: .driver)]) == nil)
    }

    @Test func `leaves out what has no trip, time or place`() {
        #expect(found([vehicle(at: 0)]) == nil)
        #expect(found([vehicle(coordinate: Coordinate(latitude: 91, longitude: 0))]) == nil)
        #expect(found([vehicle(coordinate: Coordinate(latitude: .nan, longitude: 0))]) == nil)
        let empty = TrustedSnapshot([vehicle(trip: "")], createdAt: Self.now)
        let key = TripInstance(tripID: "", startDate: F.date)
        #expect(empty.vehicle(on: key, at: Self.now) == nil)
    }

    @Test(
        arguments: [
            (91, 0, 0, true), (.nan, .nan, 0, true), (0, 0, 300, true), (91, 0, 301, false),
            (91, 0, -60, true), (91, 0, -61, false),
        ] as [(Double, Double, Int64, Bool)]
    )
    func `an impossible place covers its trip and is compared with nobody`(
        latitude: Double,
        longitude: Double,
        age: Int64,
        covers: Bool
    ) {
        let place = Coordinate(latitude: latitude, longitude: longitude)
        for date in [F.date, nil] {
            let lost = vehicle("lost", date: date, at: Self.now - age, coordinate: place)
            let alone = TrustedSnapshot([lost], createdAt: Self.now)
            #expect(alone.covers(key, at: Self.now) == covers)
            #expect(alone.vehicle(on: key, at: Self.now) == nil)
            // A good report of the same trip stays the one to compare with.
            #expect(found([vehicle(at: Self.now - 90), lost]) == "bus")
        }
        let other = vehicle(date: F.date.adding(days: 1), coordinate: place)
        #expect(!TrustedSnapshot([other], createdAt: Self.now).covers(key, at: Self.now))
    }

    @Test(arguments: [(Int64(300), true), (301, false)])
    func `an old snapshot knows nothing`(age: Int64, usable: Bool) {
        let snapshot = TrustedSnapshot([vehicle(at: Self.now + 60)], createdAt: Self.now)
        #expect(snapshot.isUsable(at: Self.now + age) == usable)
        #expect(snapshot.covers(key, at: Self.now + age) == usable)
    }

    @Test func `a missing snapshot is unavailable and never contradicts`() throws {
        #expect(!TrustedSnapshot.missing.covers(key, at: Self.now))
        let outcome = try applyBatch(
            [F.point(along: 0, at: Self.now)],
            to: F.session(),
            tier: .new,
            trusted: TrustedSnapshot.missing.vehicle(on: key, at: Self.now),
            now: Self.now
        )
        #expect(outcome.result.corroboration == .unavailable)
    }
}
