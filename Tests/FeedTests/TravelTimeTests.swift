import Database
import Messages
import Prediction
import RealtimeFeed
import ServiceKit
import Telemetry
import TestKit
import Testing
import Transit

@testable import FeedService

/// What a builder learns of travel times outlives it.
@Suite(.timeLimit(.minutes(1))) struct TravelTimeTests {
    private static let now = TripEstimate.now
    private static let segment = SegmentTimes.Segment(from: "ST2", to: "ST3")

    private func learned(
        _ to: StopID = "ST3",
        sum: Double = 60,
        at time: UnixSeconds = now
    ) -> SegmentTimes.Learned {
        SegmentTimes.Learned(
            segment: SegmentTimes.Segment(from: "ST2", to: to),
            weight: 1,
            sum: sum,
            seenAt: time
        )
    }

    // MARK: - In memory

    @Test func `another goes on with what one learned`() {
        let rules = PredictionRules()
        var one = SegmentTimes(rules: rules)
        one.learn(60, on: Self.segment, at: Self.now)
        one.learn(90, on: Self.segment, at: Self.now + 600)
        var other = SegmentTimes(rules: rules)
        other.adopt(one.takeChanges())
        for later in [600, 5000] as [Int64] {
            let (mine, theirs) = (
                one.expectation(on: Self.segment, at: Self.now + later),
                other.expectation(on: Self.segment, at: Self.now + later)
            )
            #expect(mine == theirs && mine.deviation > 0)
        }
        // Told once; and what was adopted is not told again.
        #expect(one.takeChanges().isEmpty && other.takeChanges().isEmpty)
    }

    @Test(arguments: [(-1, 20.0), (0, 20), (1, 60)] as [(Int64, Double)])
    func `of two that know a stretch, who saw it later counts`(offset: Int64, sum: Double) {
        var times = SegmentTimes(rules: PredictionRules())
        times.adopt([learned(sum: 20)])
        let before = times.expectation(on: Self.segment, at: Self.now)
        times.adopt([learned(sum: 60, at: Self.now + offset)])
        let after = times.expectation(on: Self.segment, at: Self.now + offset)
        #expect((after.deviation > 2 * before.deviation) == (sum == 60))
        times.adopt([learned(sum: .nan, at: Self.now + 9)])
        #expect(times.expectation(on: Self.segment, at: Self.now).deviation.isFinite)
    }

    // MARK: - In the database

    private func withPool(_ body: (Database) async throws -> Void) async throws {
        let pool = try await feedDatabase().open(connections: 1, role: Feed.schema.role)
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(pool)) } catch { outcome = .failure(error) }
        await pool.close()
        try outcome.get()
    }

    @Test func `rows keep what was seen last, and forget what is old`() async throws {
        try await withPool { pool in
            let (fresh, stale) = (learned(sum: 10, at: Self.now + 5), learned(sum: 20))
            let odd = learned("\u{0}odd")
            let old = learned("ST9", at: Self.now - 100)
            let found = try await pool.transaction { connection throws(DatabaseError) in
                for batch in [[fresh, odd, old], [stale]] {
                    try TravelTimeStore.save(
                        batch,
                        forgettingBefore: Self.now - 100,
                        on: connection
                    )
                }
                let all = try TravelTimeStore.load(since: Self.now - 100, on: connection)
                let some = try TravelTimeStore.load(since: Self.now - 99, on: connection)
                try TravelTimeStore.save([], forgettingBefore: Self.now - 99, on: connection)
                return (all, some, try TravelTimeStore.load(since: 0, on: connection))
            }
            #expect(found.0.count == 2)
            #expect(found.1 == [fresh])
            #expect(found.2 == [fresh])
        }
    }

    /// A builder with one driver on the straight trip.
    private struct Builder {
        let publisher: FeedPublisher
        let keeper: TravelTimeKeeper

        init(_ pool: Database, _ driver: @escaping @Sendable (UnixSeconds) -> LiveVehicle) {
            var sources = FeedPublisher.Sources()
            sources.drivers = { [driver($0)] }
            sources.schedule = { Fixture.schedule }
            let publisher = FeedPublisher(sources, metrics: Metrics())
            self.publisher = publisher
            keeper = TravelTimeKeeper(
                publisher: publisher,
                database: pool,
                epoch: { 1 },
                now: { TravelTimeTests.now + 700 },
                logger: .silent
            )
        }

        /// The delay at the last stop that trip updates have.
        var delay: Int32? {
            publisher.board.feed(.tripUpdates).entities(of: .driver).first?.tripUpdate?
                .stopTimeUpdates.last?.arrival?.delay
        }
    }

    @Test func `a successor predicts as the builder before it`() async throws {
        try await withPool { pool in
            // Two minutes longer than planned from the second stop to the last.
            let first = Builder(pool) { time in
                let seconds = Double(time - Self.now)
                let share = seconds < 300 ? seconds / 600 : 0.5 + (seconds - 300) / 840
                return .sample(latitude: 47.6 + 0.009 * min(1, share), at: time)
            }
            for time in stride(from: Self.now, through: Self.now + 780, by: 60) {
                first.publisher.tick(at: time)
            }
            await first.keeper.save()

            let second = { Builder(pool) { .sample("b", latitude: 47.6018, at: $0) } }
            let (ignorant, successor) = (second(), second())
            await successor.keeper.begin()
            for builder in [ignorant, successor] { builder.publisher.tick(at: Self.now + 120) }
            let (without, with) = (try #require(ignorant.delay), try #require(successor.delay))
            #expect(abs(without) <= 1)
            #expect(with > 40 && with < 120)
        }
    }
}
