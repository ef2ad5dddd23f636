import Testing
import Transit

@testable import RiderSimulation

/// Trips for the simulator's tests.
enum SimulatedTrips {
    /// Straight north, about 1,000 m, three stops: 0 s, 100-110 s, 200 s after 08:00.
    static func straight() throws -> Trip {
        try trip(
            [(47.6, -122.33), (47.6045, -122.33), (47.609, -122.33)],
            stops: [(0, 0, 0), (500, 100, 110), (1000, 200, 200)]
        )
    }

    /// A block with sides of 500 m.
    static func loop() throws -> Trip {
        try trip(
            [
                (47.6, -122.33), (47.6045, -122.33), (47.6045, -122.3234), (47.6, -122.3234),
                (47.6, -122.33),
            ],
            stops: [(0, 0, 0), (1990, 200, 200)]
        )
    }

    private static func trip(
        _ points: [(Double, Double)],
        stops: [(along: Double, arrival: Int, departure: Int)]
    ) throws -> Trip {
        let coordinates = points.map { Coordinate(latitude: $0.0, longitude: $0.1) }
        let shape = try #require(ShapeGeometry(points: coordinates))
        return Trip(
            id: "T1",
            routeID: "R1",
            serviceID: "W",
            shape: shape,
            stopTimes: stops.enumerated().map { index, stop in
                StopTime(
                    stopID: StopID("S\(index)"),
                    stopSequence: index,
                    alongShape: stop.along,
                    arrival: 28_800 + stop.arrival,
                    departure: 28_800 + stop.departure,
                    coordinate: shape.point(at: stop.along)
                )
            }
        )
    }
}

@Suite struct RiderSimWalkTests {
    func walk(
        _ trip: Trip,
        from start: Double = 0,
        noise: Double = 8,
        offRouteAfter: Double? = nil,
        seed: UInt64 = 1
    ) -> SimulatedWalk {
        SimulatedWalk(
            trip: trip,
            pace: .constant(metersPerSecond: 10, from: start),
            noiseMeters: noise,
            offRouteAfter: offRouteAfter,
            seed: seed
        )
    }

    @Test(arguments: zip([0.0, 1, 50, 100, 500], [100.0, 110, 600, 1000.754, 1000.754]))
    func `walks the shape at one speed and stops at its end`(elapsed: Double, along: Double) throws
    {
        let walk = walk(try SimulatedTrips.straight(), from: 100)
        #expect(abs(walk.along(at: elapsed) - along) < 0.01)
        #expect(walk.isFinished(at: elapsed) == (along > 1000))
    }

    @Test(
        arguments: zip(
            [-60.0, 0, 50, 100, 109, 110, 155, 200, 900],
            [0.0, 0, 250, 500, 500, 500, 750, 1000, 1000]
        )
    )
    func `finds the place the timetable has the vehicle at`(second: Double, along: Double) throws {
        let trip = try SimulatedTrips.straight()
        #expect(abs(trip.scheduledAlong(at: 28_800 + second) - along) < 0.01)
        let walk = SimulatedWalk(
            trip: trip,
            pace: .timetable(offset: 28_800),
            noiseMeters: 0,
            seed: 1
        )
        #expect(abs(walk.along(at: second) - along) < 0.01)
        #expect(walk.isFinished(at: second) == (second >= 200))
    }

    @Test(arguments: 0..<20)
    func `spreads its fixes around the truth`(seed: Int) throws {
        let walk = walk(try SimulatedTrips.straight(), seed: UInt64(seed))
        var squares = 0.0
        for second in 0..<100 {
            let fix = walk.fix(at: Double(second))
            let truth = walk.trip.shape.point(at: fix.alongShape)
            let error = truth.distance(to: fix.coordinate)
            #expect(error < 8 * 6)
            #expect((3...60).contains(fix.accuracyMeters))
            #expect((9.4...10.6).contains(fix.speedMetersPerSecond))
            squares += error * error
        }
        // Two axes of 8 m each: 11.3 m; a hundred samples stay within a third of it.
        #expect((7.5...15).contains((squares / 100).squareRoot()))
    }

    @Test func `repeats itself with the same seed only`() throws {
        let trip = try SimulatedTrips.straight()
        #expect(walk(trip).fix(at: 7) == walk(trip).fix(at: 7))
        #expect(walk(trip).fix(at: 7) != walk(trip, seed: 2).fix(at: 7))
        #expect(walk(trip).fix(at: 7) != walk(trip).fix(at: 8))
    }

    @Test func `leaves the shape by 300 m, also where another leg is near`() throws {
        for trip in [try SimulatedTrips.straight(), try SimulatedTrips.loop()] {
            let walk = walk(trip, noise: 0, offRouteAfter: 20)
            for second in [0.0, 19.9] {
                let fix = walk.fix(at: second)
                #expect(trip.shape.project(fix.coordinate).distanceToShape < 1)
            }
            for second in [20.0, 40, 90] {
                let fix = walk.fix(at: second)
                let distance = trip.shape.project(fix.coordinate).distanceToShape
                #expect((250...301).contains(distance))
            }
        }
    }
}
