import Database
import Messages
import ServiceKit
import Telemetry
import TestKit
import Testing
import Transit
import Verification

@testable import VerifierService

/// The writer over a real database, on a straight trip of some ten kilometres that runs all day.
private struct Ledger: Sendable {
    static let now: UnixSeconds = 1_772_539_200
    static let tripID: TripID = "T1"

    let database: TestDatabase
    let book = RideBook()
    let connection: DedicatedConnection
    let ledger: RideLedger
    let trip: Trip

    init(on database: TestDatabase? = nil, at now: UnixSeconds = now) async throws {
        let template = ThrowawayPostgres.Template("verifier") { connection throws(DatabaseError) in
            try Migrator.migrate(
                schema: Verifier.schema.name,
                role: Verifier.schema.role,
                migrations: Verifier.schema.migrations,
                on: connection
            )
        }
        if let database {
            self.database = database
        } else {
            self.database = try await ThrowawayPostgres.shared.database(template)
        }
        let shape = try #require(
            ShapeGeometry(points: [
                Coordinate(latitude: 47.6, longitude: -122.33),
                Coordinate(latitude: 47.69, longitude: -122.33),
            ])
        )
        let zone = try TimeZoneRules(named: "Etc/UTC")
        let start = Int(now - zone.startOfService(on: zone.localTime(at: now).date))
        trip = Trip(
            id: Self.tripID,
            routeID: "R1",
            serviceID: "S",
            shape: shape,
            stopTimes: [
                StopTime(
                    stopID: "A",
                    stopSequence: 1,
                    alongShape: 0,
                    arrival: start - 600,
                    departure: start - 600,
                    coordinate: shape.point(at: 0)
                ),
                StopTime(
                    stopID: "B",
                    stopSequence: 2,
                    alongShape: shape.length,
                    arrival: start + 600,
                    departure: start + 600,
                    coordinate: shape.point(at: shape.length)
                ),
            ]
        )
        let date = zone.localTime(at: now).date
        let index = ScheduleIndex(
            timeZone: zone,
            trips: [trip],
            calendars: [
                "S": ServiceCalendar(
                    weekdays: 0b111_1111,
                    period: date.adding(days: -1)...date.adding(days: 1)
                )
            ]
        )
        connection = DedicatedConnection(
            DatabaseConfiguration(url: self.database.url, connections: 1),
            name: "writer"
        )
        ledger = RideLedger(
            book: book,
            owner: { _ in nil },
            circumstances: {
                Circumstances(
                    index: index,
                    trusted: .missing,
                    thresholds: Thresholds(),
                    now: now,
                    uptime: 0
                )
            }
        )
        // What the slot's owner does: the rides under way come from their rows.
        let slot = Slot(of: Self.tripID)
        let rows = try await connection.run { connection throws(DatabaseError) in
            try RideStore.activeRides(in: [slot], on: connection).compactMap {
                $0.resumed(on: index, at: now, thresholds: Thresholds())
            }
        }
        book.acquire(slot, epoch: 1, rides: rows)
    }

    func ask(
        _ body: RideRequest.Body,
        requestID: UniqueID = .random(),
        failing: Bool = false
    ) async throws -> RideReply.Body {
        let request = RideRequest(requestID: requestID, trace: .random(), body: body)
        let ledger = ledger
        do throws(DatabaseError) {
            let answers = try await connection.run { connection throws(DatabaseError) in
                try connection.transaction { () throws(DatabaseError) in
                    let answers = try ledger.commit([.request(request)], on: connection)
                    if failing { throw DatabaseError(.statement, "the test fails this commit") }
                    return answers
                }
            }
            ledger.committed()
            return answers[0]
        } catch {
            ledger.discarded()
            guard failing else { throw error }
            return .refused(.unavailable)
        }
    }

    func start(_ riderID: UniqueID, rideID: UniqueID) async throws -> RideReply.Body {
        try await ask(
            .start(
                StartRide(
                    rideID: rideID,
                    riderID: riderID,
                    tripID: Self.tripID,
                    destinationStopID: "B",
                    receivedAt: Self.now
                )
            )
        )
    }

    /// Points where the timetable says, or that far east of it in degrees.
    func points(_ ages: [Int64], east: Double = 0) -> [ReportedPoint] {
        ages.map { age in
            let place = trip.shape.point(at: trip.shape.length * (600 - Double(age)) / 1200)
            return ReportedPoint(
                latitude: place.latitude,
                longitude: place.longitude + east,
                timestamp: Self.now - age
            )
        }
    }

    func report(
        _ riderID: UniqueID,
        _ rideID: UniqueID,
        _ points: [ReportedPoint],
        failing: Bool = false
    ) async throws -> RideReply.Body {
        try await ask(
            .positions(
                ReportPositions(
                    rideID: rideID,
                    riderID: riderID,
                    points: points,
                    receivedAt: Self.now
                )
            ),
            failing: failing
        )
    }

    func number(_ sql: String) async throws -> Int {
        try await connection.run { connection throws(DatabaseError) in
            try connection.query(sql).one().int(0)
        }
    }
}

@Suite(.timeLimit(.minutes(1))) struct RideLedgerTests {
    private let rider = UniqueID.random()
    private let ride = UniqueID.ride(slot: Slot(of: "T1"))

    @Test func `starts a ride, says where it goes, and answers a repeat the same`() async throws {
        let ledger = try await Ledger()
        let first = try await ledger.start(rider, rideID: ride)
        guard case .started(let started) = first else {
            Issue.record("\(first)")
            return
        }
        #expect(started.state == "pending")
        #expect(started.destination?.stopID == "B")
        #expect(try await ledger.start(rider, rideID: ride) == first)
        #expect(try await ledger.number("SELECT count(*) FROM verifier.rides") == 1)
        let other = UniqueID.ride(slot: Slot(of: "T1"))
        #expect(try await ledger.start(rider, rideID: other) == .conflict(rideID: ride))
    }

    @Test func `stores what it acknowledges, once, and a failed commit changes nothing`()
        async throws
    {
        let ledger = try await Ledger()
        _ = try await ledger.start(rider, rideID: ride)
        let batch = ledger.points([40, 35, 30, 25])
        #expect(
            try await ledger.report(rider, ride, batch, failing: true) == .refused(.unavailable)
        )
        #expect(try await ledger.number("SELECT count(*) FROM verifier.ride_points") == 0)
        #expect(ledger.book.ride(ride)?.session.counts.total == 0)
        let answer = try await ledger.report(rider, ride, batch)
        guard case .accepted(let accepted) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(accepted.accepted == 4)
        #expect(accepted.state == "verified")
        #expect(try await ledger.number("SELECT count(*) FROM verifier.ride_points") == 4)
        #expect(try await ledger.number("SELECT points_total FROM verifier.rides") == 4)
        // The allowance is spent: two batches at once, the failed one among them.
        let third = try await ledger.report(rider, ride, ledger.points([20]))
        #expect(third == .refused(RideRefusal(.tooManyReports, retryAfterSeconds: 2)))
    }

    @Test func `another owner goes on with the ride, and the same batch gets the same answer`()
        async throws
    {
        let first = try await Ledger()
        _ = try await first.start(rider, rideID: ride)
        let batch = first.points([40, 35, 30, 25])
        let answer = try await first.report(rider, ride, batch)
        let second = try await Ledger(on: first.database)
        #expect(second.book.ride(ride)?.session.counts.total == 4)
        #expect(second.book.ride(ride)?.session.state == .verified)
        #expect(try await second.report(rider, ride, batch) == answer)
        #expect(try await second.number("SELECT count(*) FROM verifier.ride_points") == 4)
    }

    @Test func `a ride off the route is rejected, costs a point and leaves no position`()
        async throws
    {
        let ledger = try await Ledger()
        _ = try await ledger.start(rider, rideID: ride)
        let answer = try await ledger.report(
            rider,
            ride,
            ledger.points([50, 45, 40, 35, 30, 25], east: 0.01)
        )
        guard case .accepted(let accepted) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(accepted.ended)
        #expect(accepted.endReason == "off_route")
        #expect(accepted.accepted == 5)
        #expect(accepted.ignored == 1)
        let late = try await ledger.report(rider, ride, ledger.points([20]))
        #expect(late == .refused(RideRefusal(.rideEnded, endReason: "off_route")))
        #expect(try await ledger.number("SELECT score FROM verifier.rider_reputation") == -1)
        #expect(
            try await ledger.number(
                "SELECT count(*) FROM verifier.rides WHERE status = 'ended' AND along_shape IS NULL"
            ) == 1
        )
    }

    @Test func `the first end wins and its repeat gets the summary`() async throws {
        let ledger = try await Ledger()
        _ = try await ledger.start(rider, rideID: ride)
        _ = try await ledger.report(rider, ride, ledger.points([40, 35, 30, 25]))
        let end = RideRequest.Body.end(
            EndRide(rideID: ride, riderID: rider, reason: "arrived", receivedAt: Ledger.now)
        )
        let requestID = UniqueID.random()
        let first = try await ledger.ask(end, requestID: requestID)
        #expect(
            first
                == .ended(RideEnded(points: 4, matched: 4, corroborated: 0, durationSeconds: 0))
        )
        #expect(try await ledger.ask(end, requestID: requestID) == first)
        #expect(
            try await ledger.ask(end) == .refused(RideRefusal(.rideEnded, endReason: "arrived"))
        )
    }

    @Test func `a foreign ride is not found, an unknown one has ended`() async throws {
        let ledger = try await Ledger()
        _ = try await ledger.start(rider, rideID: ride)
        let batch = ledger.points([10])
        #expect(
            try await ledger.report(.random(), ride, batch)
                == .refused(RideRefusal(.rideNotFound))
        )
        let unknown = UniqueID.ride(slot: Slot(of: "T1"))
        #expect(
            try await ledger.report(rider, unknown, batch) == .refused(RideRefusal(.rideEnded))
        )
        let elsewhere = UniqueID.ride(slot: Slot(Slot(of: "T1").rawValue &+ 1))
        #expect(
            try await ledger.report(rider, elsewhere, batch)
                == .refused(RideRefusal(.notOwner, owner: "", retryAfterSeconds: 2))
        )
    }
}
