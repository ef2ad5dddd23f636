import Messages
import ServiceKit
import TestKit
import Testing
import Transit

@testable import FeedService

/// Which report of a vehicle is live, for how long, and in which replicas (spec 1.7, spec 0).
@Suite(.timeLimit(.minutes(2))) struct TrackerTests {
    private let now = TripEstimate.now

    // MARK: - One tracker

    @Test(arguments: [(0, true), (89, true), (90, true), (91, false), (300, false)])
    func `a vehicle is live for 90 seconds of report time`(age: Int64, isLive: Bool) {
        let tracker = Tracker(staleness: 90)
        tracker.apply([.sample(at: now - age)])
        #expect(tracker.live(at: now).count == (isLive ? 1 : 0))
        #expect(tracker.counts(at: now).active == (isLive ? 1 : 0))
        #expect(tracker.counts(at: now).total == 1)
    }

    @Test func `the higher revision is believed, in whatever order they come`() {
        for order in [[1, 2, 3], [3, 2, 1], [2, 3, 1], [3, 3, 2]] as [[Int64]] {
            let tracker = Tracker(staleness: 90)
            for revision in order {
                tracker.apply([.sample(at: now + revision, revision: revision)])
            }
            #expect(tracker.live(at: now).map(\.revision) == [3])
            #expect(tracker.counts(at: now).lastUpdate == now + 3)
        }
    }

    @Test func `vehicles come by id and counts survive their age`() {
        let tracker = Tracker(staleness: 90)
        #expect(tracker.counts(at: now) == Tracker.Counts(active: 0, total: 0, lastUpdate: nil))
        tracker.apply([.sample("b"), .sample("a"), .sample("c", at: now - 200)])
        #expect(tracker.live(at: now).map(\.vehicleID) == ["a", "b"])
        #expect(tracker.counts(at: now) == Tracker.Counts(active: 2, total: 3, lastUpdate: now))
        #expect(tracker.counts(at: now + 91).total == 3)
    }

    // MARK: - Replicas

    @Test func `a report that one replica accepted is live in all`() async throws {
        try await withDrivers(replicas: 3) { world async throws in
            try await world.report(.random(), ReportBody(at: world.now), at: 1)
            for replica in world.replicas {
                try await eventually("the report is known") {
                    replica.intake.tracker.live(at: world.now).map(\.vehicleID) == ["bus-1"]
                }
            }
            world.clock.advance(by: 5)
            try await world.report(.random(), ReportBody(at: world.now, latitude: "1"), at: 2)
            for replica in world.replicas {
                try await eventually("the newer report is known") {
                    replica.intake.tracker.live(at: world.now).map(\.latitude) == [1]
                }
            }
        }
    }

    @Test func `a row that nobody told of is found by the next whole look`() async throws {
        try await withDrivers { world async throws in
            try await world.report(.random(), ReportBody(at: world.now))
            // As another replica's commit would, with its notification lost.
            try await world.run(
                """
                UPDATE feed.live_vehicles SET latitude = 2, revision = revision + 1,
                    transaction = pg_current_xact_id()
                """
            )
            try await eventually("the row is found") {
                world.first.intake.tracker.live(at: world.now).map(\.latitude) == [2]
            }
        }
    }

    @Test func `a restart finds what is live and prolongs nothing`() async throws {
        let clock = ManualClock()
        let database = try await feedDatabase()
        let start = clock.now
        try await withDrivers(clock: clock, database: database) { world async throws in
            try await world.report(.random(), ReportBody("fresh", at: start))
            try await world.report(.random(), ReportBody("old", at: start - 80))
        }
        clock.advance(by: 60)
        try await withDrivers(clock: clock, database: database) { world async throws in
            let tracker = world.first.intake.tracker
            try await eventually("the rows are read") {
                tracker.live(at: clock.now).map(\.vehicleID) == ["fresh"]
            }
            #expect(tracker.counts(at: clock.now).lastUpdate == start)
            clock.advance(by: 30)
            #expect(tracker.live(at: clock.now).map(\.vehicleID) == ["fresh"])
            clock.advance(by: 1)
            #expect(tracker.live(at: clock.now).isEmpty)
        }
    }

    @Test func `how long a vehicle is live can be set`() async throws {
        try await withDrivers(["STALENESS_THRESHOLD": "5m"]) { world async throws in
            try await world.report(.random(), ReportBody(at: world.now))
            world.clock.advance(by: 300)
            #expect(world.first.intake.tracker.live(at: world.now).count == 1)
            world.clock.advance(by: 1)
            #expect(world.first.intake.tracker.live(at: world.now).isEmpty)
        }
    }

    @Test(arguments: ["0s", "-5m", "soon"])
    func `a senseless time of staleness stops the start`(text: String) {
        #expect(throws: (any Error).self) {
            try Feed.definition.table.read(
                environment: [
                    "DATABASE_URL": "x", "JWT_SECRET": TestTokens.secret.revealed(),
                    "GTFS_STATIC_URL": "x", "STALENESS_THRESHOLD": text,
                ]
            )
        }
    }

    // MARK: - Clocks that are off

    @Test func `a clock that is ahead lives no longer and keeps nobody out`() async throws {
        try await withDrivers { world async throws in
            let tracker = world.first.intake.tracker
            let start = world.now
            try await world.report(.random(), ReportBody(at: start + 300, latitude: "1"))
            #expect(tracker.live(at: start).map(\.reportedAt) == [start])
            // In the same second nothing tells which is newer but what the clocks say.
            try await world.report(.random(), ReportBody(at: start, latitude: "2"))
            #expect(tracker.live(at: start).map(\.latitude) == [1])
            world.clock.advance(by: 1)
            try await world.report(.random(), ReportBody(at: start + 1, latitude: "3"))
            #expect(tracker.live(at: world.now).map(\.latitude) == [3])
            world.clock.advance(by: 90)
            #expect(tracker.live(at: world.now).map(\.latitude) == [3])
            world.clock.advance(by: 1)
            #expect(tracker.live(at: world.now).isEmpty)
        }
    }

    @Test func `a stale row does not give way to an older report`() async throws {
        try await withDrivers { world async throws in
            let start = world.now
            try await world.report(.random(), ReportBody(at: start, latitude: "1"))
            world.clock.advance(by: 200)
            try await world.report(.random(), ReportBody(at: start - 50, latitude: "2"))
            let latitude = try await world.number(
                "SELECT latitude::bigint FROM feed.live_vehicles"
            )
            #expect(latitude == 1)
        }
    }
}
