import Transit

@testable import Verification

/// The schedule of the tests: S1 straight north, S2 a loop, four trips, built in memory.
enum Fixture {
    /// 2026-09-02, a Wednesday; local midnight in Los Angeles (UTC−7).
    static let date = ServiceDate(daysSince1970: 20_698)
    static let startOfService: UnixSeconds = 1_788_332_400
    /// 08:00 local, when T1 leaves.
    static let eight = startOfService + 8 * 3600

    static let straight = shape([
        Coordinate(latitude: 47.6, longitude: -122.33),
        Coordinate(latitude: 47.6045, longitude: -122.33),
        Coordinate(latitude: 47.609, longitude: -122.33),
    ])
    static let loop = shape([
        Coordinate(latitude: 47.6, longitude: -122.33),
        Coordinate(latitude: 47.6045, longitude: -122.33),
        Coordinate(latitude: 47.6045, longitude: -122.3234),
        Coordinate(latitude: 47.6, longitude: -122.3234),
        Coordinate(latitude: 47.6, longitude: -122.33),
    ])

    static let t1 = trip("T1", "R1", straight, ["ST1", "ST2", "ST3"], [0, 500, 1001], 8 * 3600)
    static let t2 = trip("T2", "R1", straight, ["ST1", "ST2", "ST3"], [0, 500, 1001], 9 * 3600)
    /// 25:00 LP1, 25:10 LP2, 25:15 LP3, 25:20 LP1.
    static let t3 = Trip(
        id: "T3",
        routeID: "R2",
        serviceID: "WEEKDAY",
        shape: loop,
        stopTimes: zip(
            [("LP1", 0.0), ("LP2", 500.377), ("LP3", 995.196), ("LP1", loop.length)],
            [0, 600, 900, 1200]
        ).enumerated().map { index, stop in
            stopTime(stop.0.0, index + 1, stop.0.1, 25 * 3600 + stop.1, loop)
        }
    )

    static let journey = journey(t1)
    static let loopJourney = journey(t3)

    static func journey(_ trip: Trip, on date: ServiceDate = date) -> Journey {
        Journey(
            trip: trip,
            startDate: date,
            startOfService: startOfService
                + Int64(date.daysSince1970 - Self.date.daysSince1970) * 86_400
        )
    }

    static func trip(
        _ id: TripID,
        _ route: RouteID,
        _ shape: ShapeGeometry,
        _ stops: [String],
        _ along: [Double],
        _ first: Int
    ) -> Trip {
        Trip(
            id: id,
            routeID: route,
            serviceID: "WEEKDAY",
            shape: shape,
            stopTimes: zip(stops, along).enumerated().map { index, stop in
                stopTime(stop.0, index + 1, stop.1, first + index * 300, shape)
            }
        )
    }

    private static func stopTime(
        _ id: String,
        _ sequence: Int,
        _ along: Double,
        _ time: Int,
        _ shape: ShapeGeometry
    ) -> StopTime {
        StopTime(
            stopID: StopID(id),
            stopSequence: sequence,
            alongShape: along,
            arrival: time,
            departure: time,
            coordinate: shape.point(at: along)
        )
    }

    private static func shape(_ points: [Coordinate]) -> ShapeGeometry {
        guard let shape = ShapeGeometry(points: points) else {
            preconditionFailure("the fixture's shapes have two points or more")
        }
        return shape
    }

    // MARK: - Points

    /// A place so many metres along the straight shape and so many metres east of it.
    static func place(along: Double, east: Double = 0) -> Coordinate {
        let onShape = straight.point(at: along)
        return Coordinate(
            latitude: onShape.latitude,
            longitude: onShape.longitude + east / 75_057  // metres in a degree at this latitude
        )
    }

    static func point(
        along: Double,
        east: Double = 0,
        at timestamp: UnixSeconds,
        accuracy: Double? = 5,
        speed: Double? = nil
    ) -> Point {
        Point(
            place(along: along, east: east),
            accuracy: accuracy,
            speed: speed,
            timestamp: timestamp
        )
    }

    /// When T1 is due so many metres along, to the second.
    static func due(_ along: Double, _ journey: Journey = journey) -> UnixSeconds {
        startOfService + Int64(journey.trip.scheduledOffset(at: along))
    }

    // MARK: - Sessions and verdicts

    static func id(_ number: Int) -> UniqueID { UniqueID(high: 1, low: UInt64(number)) }

    static func session(
        rider: Int = 1,
        ride: Int = 1,
        journey: Journey = journey,
        startedAt: UnixSeconds = eight
    ) -> Session {
        Session(rideID: id(ride), riderID: id(rider), journey: journey, startedAt: startedAt)
    }

    static func verdict(
        _ outcome: Outcome,
        _ corroboration: Corroboration = .unavailable,
        along: Double = 0
    ) -> Verdict {
        Verdict(
            outcome: outcome,
            corroboration: outcome == .matched ? corroboration : .unavailable,
            alongShape: along,
            distanceToShape: 0
        )
    }

    /// A session that got these verdicts, one second apart from the second after eight.
    static func session(after verdicts: [Verdict], rider: Int = 1, ride: Int = 1) -> Session {
        var session = session(rider: rider, ride: ride)
        for (index, verdict) in verdicts.enumerated() {
            session.apply(verdict, to: point(along: 0, at: eight + Int64(index) + 1))
        }
        return session
    }

    /// A verified session whose latest match is at `along` at `time`.
    static func rider(
        _ number: Int,
        along: Double,
        at time: UnixSeconds = eight + 60,
        speed: Double? = nil,
        corroborated: Int = 0,
        ride: Int? = nil,
        journey: Journey = journey,
        startedAt: UnixSeconds = eight
    ) -> Session {
        var session = session(
            rider: number,
            ride: ride ?? number,
            journey: journey,
            startedAt: startedAt
        )
        let count = max(3, corroborated)
        for index in 0..<count {
            let timestamp = time - Int64(count - 1 - index)
            session.apply(
                verdict(
                    .matched,
                    index < corroborated ? .corroborated : .unavailable,
                    along: along
                ),
                to: point(along: along, at: timestamp, speed: speed)
            )
        }
        return session
    }
}
