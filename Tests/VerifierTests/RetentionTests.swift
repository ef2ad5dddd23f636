import Database
import Messages
import ServiceKit
import Telemetry
import TestKit
import Testing
import Transit

@testable import VerifierService

/// Day partitions of points: made ahead, dropped when too old (architecture, section 7).
@Suite(.timeLimit(.minutes(3))) struct RetentionTests {
    private static let day: Int64 = 86_400
    private static let week = 7 * day

    /// A world with a sweeper over it.
    private func withSweeper(
        retention: Int64 = week,
        _ body: (World, PointRetention, Metrics) async throws -> Void
    ) async throws {
        try await World.with { world async throws in
            let pool = Database(
                DatabaseConfiguration(
                    url: world.database.url,
                    role: Verifier.schema.role,
                    schema: Verifier.schema.name,
                    connections: 1
                )
            )
            let metrics = Metrics()
            let clock = world.clock
            let sweeper = PointRetention(
                pool: pool,
                retentionSeconds: retention,
                now: { clock.now },
                logger: .silent,
                metrics: metrics
            )
            let outcome: Result<Void, any Error>
            do {
                outcome = .success(try await body(world, sweeper, metrics))
            } catch {
                outcome = .failure(error)
            }
            await pool.close()
            try outcome.get()
        }
    }

    /// Stores a point that was measured and arrived at these times.
    private func store(
        _ world: World,
        at timestamp: UnixSeconds,
        received: UnixSeconds? = nil
    ) async throws {
        try await world.run(
            """
            INSERT INTO verifier.ride_points (ride_id, timestamp, latitude, longitude, outcome,
                corroboration, received_at)
            VALUES (gen_random_uuid(), to_timestamp(\(timestamp)), 1, 2, 'matched', 'none',
                to_timestamp(\(received ?? timestamp)))
            """
        )
    }

    /// The partitions with the number of their rows, empty ones included.
    private func partitions(_ world: World) async throws -> [String] {
        let text = try await world.row(
            [
                """
                SELECT coalesce(string_agg(name, ' ' ORDER BY name), '') FROM (
                    SELECT replace(c.relname, 'ride_points_', '') || ':' ||
                        (SELECT count(*) FROM verifier.ride_points p WHERE p.tableoid = c.oid)
                        AS name
                    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
                    WHERE i.inhparent = 'verifier.ride_points'::regclass) t
                """
            ],
            ""
        )[0]
        return (text ?? "").split(separator: " ").map(String.init)
    }

    @Test func `today and the two days ahead are made, and made again as days pass`() async throws {
        try await withSweeper { world, sweeper, _ async throws in
            #expect(await sweeper.sweep())
            #expect(
                try await partitions(world)
                    == ["20260216:0", "20260217:0", "20260218:0", "default:0"]
            )
            #expect(await sweeper.sweep())
            #expect(try await partitions(world).count == 4)
            world.pass(Self.day)
            #expect(await sweeper.sweep())
            #expect(try await partitions(world).contains("20260219:0"))
        }
    }

    @Test(arguments: [(599, true), (600, false)] as [(Int64, Bool)])
    func `yesterday's is made while its points still arrive`(
        afterMidnight: Int64,
        isMade: Bool
    ) async throws {
        try await withSweeper { world, sweeper, _ async throws in
            world.pass(8 * 3600 + afterMidnight)
            await sweeper.sweep()
            #expect(try await partitions(world).contains("20260216:0") == isMade)
            #expect(try await partitions(world).contains("20260217:0"))
        }
    }

    @Test func `a point lies in the partition of its own day, on both sides of midnight`()
        async throws
    {
        try await withSweeper { world, sweeper, _ async throws in
            await sweeper.sweep()
            let midnight = Course.start + 8 * 3600
            for time in [midnight - 1, midnight, midnight + Self.day - 1] {
                try await store(world, at: time)
            }
            try await store(world, at: midnight - 100 * Self.day)
            #expect(
                try await partitions(world)
                    == ["20260216:1", "20260217:2", "20260218:0", "default:1"]
            )
        }
    }

    @Test func `what came before its partition moves into it`() async throws {
        try await withSweeper { world, sweeper, _ async throws in
            try await store(world, at: Course.start)
            try await store(world, at: Course.start + Self.day)
            try await store(world, at: Course.start + 30 * Self.day)
            #expect(try await partitions(world) == ["default:3"])
            #expect(await sweeper.sweep())
            #expect(
                try await partitions(world)
                    == ["20260216:1", "20260217:1", "20260218:0", "default:1"]
            )
        }
    }

    @Test func `a partition goes when all of its points are too old, not a second before`()
        async throws
    {
        try await withSweeper { world, sweeper, metrics async throws in
            await sweeper.sweep()
            let midnight = Course.start + 8 * 3600
            // Measured in the day's last second, arrived as late as it may.
            try await store(world, at: midnight - 1, received: midnight + 599)
            world.pass(8 * 3600 + Self.week + 599)
            #expect(await sweeper.sweep())
            #expect(try await partitions(world).contains("20260216:1"))
            world.pass(1)
            #expect(await sweeper.sweep())
            #expect(try await !partitions(world).contains { $0.hasPrefix("20260216") })
            #expect(metrics.rendered().contains("ride_point_partitions_dropped_total 1\n"))
            #expect(metrics.rendered().contains("ride_points_deleted_total 0\n"))
        }
    }

    @Test func `the hourly delete takes what lies in a partition that stays, to the second`()
        async throws
    {
        try await withSweeper { world, sweeper, metrics async throws in
            await sweeper.sweep()
            for second in 0..<3 as Range<Int64> {
                try await store(world, at: Course.start + second)
            }
            world.pass(Self.week + 1)
            #expect(await sweeper.sweep())
            // Arrived exactly the retention ago is not older than it.
            #expect(try await partitions(world).contains("20260216:2"))
            #expect(metrics.rendered().contains("ride_points_deleted_total 1\n"))
        }
    }

    @Test func `the default partition is swept too`() async throws {
        try await withSweeper { world, sweeper, _ async throws in
            try await store(
                world,
                at: Course.start - 100 * Self.day,
                received: Course.start - Self.week
            )
            try await store(
                world,
                at: Course.start - 100 * Self.day,
                received: Course.start - Self.week - 1
            )
            #expect(await sweeper.sweep())
            #expect(try await partitions(world).contains("default:1"))
        }
    }

    @Test func `more rows than one statement takes all go`() async throws {
        try await withSweeper { world, sweeper, metrics async throws in
            await sweeper.sweep()
            try await world.run(
                """
                INSERT INTO verifier.ride_points (ride_id, timestamp, latitude, longitude, outcome,
                    corroboration, received_at)
                SELECT gen_random_uuid(), to_timestamp(\(Course.start)), 1, 2, 'matched', 'none',
                    to_timestamp(\(Course.start)) FROM generate_series(1, 20001)
                """
            )
            world.pass(Self.week + 1)
            #expect(await sweeper.sweep())
            #expect(metrics.rendered().contains("ride_points_deleted_total 20001\n"))
        }
    }

    @Test func `a narrower retention drops the days that a wider one kept`() async throws {
        try await withSweeper(retention: 30 * Self.day) { world, wide, _ async throws in
            await wide.sweep()
            try await store(world, at: Course.start)
            world.pass(10 * Self.day)
            await wide.sweep()
            #expect(try await partitions(world).contains("20260216:1"))
        }
        try await withSweeper(retention: 2 * Self.day) { world, narrow, _ async throws in
            await narrow.sweep()
            try await store(world, at: Course.start)
            world.pass(10 * Self.day)
            await narrow.sweep()
            #expect(
                try await partitions(world)
                    == ["20260226:0", "20260227:0", "20260228:0", "default:0"]
            )
        }
    }

    @Test func `two who sweep at once do not disturb each other, nor those who write`()
        async throws
    {
        try await withSweeper { world, sweeper, _ async throws in
            let verifier = try await world.verifier()
            let rider = Rider()
            _ = await verifier.start(rider)
            async let first = sweeper.sweep()
            async let second = sweeper.sweep()
            async let answer = verifier.report(rider, Course.points([-25, -20, -15]))
            let swept = await [first, second]
            #expect(swept == [true, true])
            #expect(await answer.batch?.accepted == 3)
            #expect(try await partitions(world).contains("20260216:3"))
        }
    }

    @Test func `with the database away a round fails, is counted, and the next one does it`()
        async throws
    {
        let postgres = try await ThrowawayPostgres.fresh(settings: ["fsync=off"])
        try await World.with(postgres) { world async throws in
            let metrics = Metrics()
            let clock = world.clock
            let pool = Database(
                DatabaseConfiguration(
                    url: world.database.url,
                    role: Verifier.schema.role,
                    schema: Verifier.schema.name,
                    connections: 1
                )
            )
            let sweeper = PointRetention(
                pool: pool,
                retentionSeconds: Self.week,
                now: { clock.now },
                logger: .silent,
                metrics: metrics
            )
            try await postgres.stop()
            #expect(await !sweeper.sweep())
            #expect(metrics.rendered().contains("ride_point_sweeps_failed_total 1\n"))
            try await postgres.start()
            try await eventually("the round succeeds") { await sweeper.sweep() }
            #expect(try await partitions(world).count == 4)
            await pool.close()
        }
    }
}
