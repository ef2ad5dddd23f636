import Bus
import Database
import ServiceKit
import Telemetry
import TestKit
import Testing
import Transit

@testable import FeedService

/// A database with the schemas that the feed needs.
enum FeedDatabaseTemplate {
    static let value = ThrowawayPostgres.Template("feed_service") {
        connection throws(DatabaseError) in
        try Migrator.migrate(
            schema: BusMigrations.schema,
            role: "alongside_bus",
            migrations: BusMigrations.all,
            on: connection
        )
        try Migrator.migrate(
            schema: Feed.schema.name,
            role: Feed.schema.role,
            migrations: Feed.schema.migrations,
            on: connection
        )
    }
}

/// Whose turn it is to build, on a real database.
@Suite(.timeLimit(.minutes(2))) struct BuilderLockTests {
    private func lock(
        _ database: TestDatabase,
        _ instance: String,
        _ metrics: Metrics = Metrics()
    ) -> BuilderLock {
        BuilderLock(
            database: DatabaseConfiguration(url: database.url),
            instance: instance,
            logger: .silent,
            metrics: metrics
        )
    }

    /// Says that a process gave its last sign of life so many seconds ago.
    private func beat(_ database: TestDatabase, _ instance: String, ago: Double) async throws {
        let pool = Database(DatabaseConfiguration(url: database.url, connections: 1))
        try await pool.withConnection { connection throws(DatabaseError) in
            try connection.execute(
                """
                INSERT INTO bus.instances
                    (instance, service, request_endpoint, publish_endpoint, pid, heartbeat_at)
                VALUES ($1, 'feed', '', '', 1, clock_timestamp() - make_interval(secs => $2))
                ON CONFLICT (instance) DO UPDATE SET heartbeat_at = excluded.heartbeat_at
                """,
                [.text(instance), .double(ago)]
            )
            // The holder took the lock longer ago than anybody may be silent.
            try connection.execute(
                "UPDATE feed.builders SET seen_at = seen_at - make_interval(secs => 10)"
            )
        }
        await pool.close()
    }

    @Test func `one builds, the next one's epoch is higher`() async throws {
        let database = try await ThrowawayPostgres.shared.database(FeedDatabaseTemplate.value)
        let first = lock(database, "a")
        let second = lock(database, "b")
        try await first.step()
        try await second.step()
        let epoch = try #require(first.epoch)
        #expect(second.epoch == nil)
        try await first.step()
        #expect(first.epoch == epoch)
        // The session's end is the lock's.
        await first.close()
        try await second.step()
        #expect(try #require(second.epoch) > epoch)
        await second.close()
    }

    @Test(arguments: [(0.5, false), (4.5, true)])
    func `a builder that gave no sign of life is cut off`(silence: Double, isCut: Bool) async throws
    {
        let database = try await ThrowawayPostgres.shared.database(FeedDatabaseTemplate.value)
        let metrics = Metrics()
        let frozen = lock(database, "frozen")
        let other = lock(database, "other", metrics)
        try await frozen.step()
        try await beat(database, "frozen", ago: silence)
        try await beat(database, "other", ago: 0)
        try await other.step()
        #expect((other.epoch != nil) == isCut)
        #expect(metrics.rendered().contains("feed_builders_fenced_total \(isCut ? 1 : 0)\n"))
        // Who wakes up finds the lock taken, and hears of the higher epoch at the latest.
        if let epoch = other.epoch {
            frozen.heard(epoch: epoch)
            #expect(frozen.epoch == nil)
        }
        await frozen.close()
        await other.close()
    }

    @Test func `nobody is judged by one whose own signs do not arrive`() async throws {
        let database = try await ThrowawayPostgres.shared.database(FeedDatabaseTemplate.value)
        let holder = lock(database, "holder")
        let other = lock(database, "other")
        try await holder.step()
        try await beat(database, "holder", ago: 60)
        try await beat(database, "other", ago: 60)
        try await other.step()
        #expect(other.epoch == nil)
        await holder.close()
        await other.close()
    }

    @Test func `losing the database does not stop a builder, a higher epoch does`() async throws {
        let postgres = try await ThrowawayPostgres.fresh()
        let database = try await postgres.database(FeedDatabaseTemplate.value)
        let builder = lock(database, "a")
        try await builder.step()
        let epoch = try #require(builder.epoch)
        try await postgres.stop()
        await #expect(throws: DatabaseError.self) { try await builder.step() }
        #expect(builder.epoch == epoch)
        builder.heard(epoch: epoch)
        builder.heard(epoch: epoch - 1)
        #expect(builder.epoch == epoch)
        try await postgres.start()
        var again: UInt64?
        while again == nil || again == epoch {
            try? await builder.step()
            again = builder.epoch
        }
        #expect(try #require(again) > epoch)
        builder.heard(epoch: .max)
        #expect(builder.epoch == nil)
        await builder.close()
    }
}
