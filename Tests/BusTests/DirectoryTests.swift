import Database
import Telemetry
import TestKit
import Testing

@testable import Bus

@Suite struct InstanceLivenessTests {
    private let second: UInt64 = 1_000_000_000

    private func record(_ instance: String) -> InstanceRecord {
        InstanceRecord(
            service: "feed",
            instance: instance,
            requestEndpoint: "ipc:///\(instance).req",
            publishEndpoint: "ipc:///\(instance).pub"
        )
    }

    @Test(arguments: [(3.99, true), (4.0, false)])
    func `takes silence for death after four seconds`(silence: Double, isLiving: Bool) {
        var liveness = InstanceLiveness()
        let living = liveness.living([(record("a"), silence)], now: 0)
        #expect(living == (isLiving ? [record("a")] : []))
    }

    @Test func `keeps who was known before an outage for the usual time after it`() {
        var liveness = InstanceLiveness()
        #expect(liveness.living([(record("a"), 0), (record("b"), 9)], now: 0) == [record("a")])
        let back = 30 * second
        let stale = [(record: record("a"), silenceSeconds: 30.0), (record("b"), 39.0)]
        #expect(liveness.living(stale, now: back) == [record("a")])
        #expect(liveness.living(stale, now: back + 2 * second) == [record("a")])
        #expect(liveness.living(stale, now: back + 4 * second - 1) == [record("a")])
        #expect(liveness.living(stale, now: back + 4 * second) == [])
        #expect(liveness.living(stale, now: back + 5 * second) == [])
    }

    @Test func `lets go who withdrew although there was an outage`() {
        var liveness = InstanceLiveness()
        #expect(liveness.living([(record("a"), 0)], now: 0) == [record("a")])
        #expect(liveness.living([], now: 30 * second) == [])
        #expect(liveness.living([(record("a"), 31)], now: 31 * second) == [])
    }

    @Test(arguments: [(UInt64(2_000_000_000), false), (2_000_000_001, true)])
    func `takes a long pause between answers for an outage`(pause: UInt64, isKept: Bool) {
        var liveness = InstanceLiveness()
        _ = liveness.living([(record("a"), 3)], now: 0)
        #expect(liveness.living([(record("a"), 5)], now: pause).isEmpty != isKept)
    }
}

@Suite(.timeLimit(.minutes(1)))
struct PostgresDirectoryTests {
    private static let template = ThrowawayPostgres.Template("bus_directory") {
        connection throws(DatabaseError) in
        try Migrator.migrate(
            schema: BusMigrations.schema,
            role: "alongside_bus",
            migrations: BusMigrations.all,
            on: connection
        )
    }

    /// One process's access to the database.
    private final class Access {
        let database: Database
        let directory: PostgresDirectory

        init(_ url: String) {
            let configuration = DatabaseConfiguration(url: url)
            database = Database(configuration, logger: .silent, metrics: Metrics())
            directory = PostgresDirectory(database, listening: configuration)
        }
    }

    private func record(_ instance: String, request: String = "ipc:///a.req") -> InstanceRecord {
        InstanceRecord(
            service: "feed",
            instance: instance,
            requestEndpoint: request,
            publishEndpoint: "ipc:///a.pub",
            pid: 7
        )
    }

    @Test func `lists whom others announced until they withdraw`() async throws {
        let place = try await ThrowawayPostgres.shared.database(Self.template)
        let (one, other) = (Access(place.url), Access(place.url))
        try await one.directory.announce(record("feed-1"))
        try await one.directory.announce(record("feed-1", request: "ipc:///b.req"))
        try await other.directory.announce(record("feed-2"))
        #expect(
            try await other.directory.instances()
                == [record("feed-1", request: "ipc:///b.req"), record("feed-2")]
        )
        try await one.directory.withdraw(record("feed-1"))
        #expect(try await other.directory.instances() == [record("feed-2")])
        try await other.directory.withdraw(record("feed-2"))
        await one.database.close()
        await other.database.close()
    }

    @Test func `does not list who is silent by the database's clock`() async throws {
        let place = try await ThrowawayPostgres.shared.database(Self.template)
        let access = Access(place.url)
        try await access.directory.announce(record("feed-1"))
        try await access.database.withConnection { connection throws(DatabaseError) in
            try connection.execute(
                "UPDATE bus.instances SET heartbeat_at = clock_timestamp() - interval '5 s'"
            )
        }
        #expect(try await access.directory.instances() == [])
        try await access.directory.announce(record("feed-1"))
        #expect(try await access.directory.instances() == [record("feed-1")])
        await access.database.close()
    }

    @Test func `keeps the row of a successor when its predecessor withdraws`() async throws {
        let place = try await ThrowawayPostgres.shared.database(Self.template)
        let access = Access(place.url)
        let successor = InstanceRecord(
            service: "feed",
            instance: "feed-1",
            requestEndpoint: "ipc:///a.req",
            publishEndpoint: "ipc:///a.pub",
            pid: 8
        )
        try await access.directory.announce(successor)
        try await access.directory.withdraw(record("feed-1"))
        #expect(try await access.directory.instances() == [successor])
        await access.database.close()
    }

    @Test func `tells a new instance before the next poll`() async throws {
        let place = try await ThrowawayPostgres.shared.database(Self.template)
        let fleet = try Fleet(.ipc)
        let (mine, other) = (Access(place.url), Access(place.url))
        let bus = try fleet.bus(over: mine.directory, pollingEach: .seconds(3600))
        try await eventually("this process is announced") {
            bus.instances(of: "tester") == ["tester"]
        }
        try await other.directory.announce(record("feed-1"))
        try await eventually("the other is known by notification") {
            bus.instances(of: "feed") == ["feed-1"]
        }
        try await other.directory.withdraw(record("feed-1"))
        try await eventually("its end is known") { bus.instances(of: "feed").isEmpty }
        await bus.shutdown()
        await mine.database.close()
        await other.database.close()
    }

    @Test func `keeps working with whom it knows while the database is away`() async throws {
        let postgres = try await ThrowawayPostgres.fresh(settings: ["fsync=off"])
        let place = try await postgres.database(Self.template)
        let fleet = try Fleet(.ipc)
        _ = try await fleet.peer()
        let known = try #require(try await fleet.directory.instances().first)
        let (mine, other) = (Access(place.url), Access(place.url))
        try await other.directory.announce(known)
        let metrics = Metrics()
        let bus = try fleet.bus(
            over: mine.directory,
            pollingEach: .milliseconds(50),
            metrics: metrics
        )
        try await eventually("the peer is known") { bus.instances(of: "peer") == ["peer-1"] }
        #expect(try await bus.ask("echo") == "echo")
        try await postgres.stop()
        try await eventually("the directory fails") {
            (try? await mine.directory.instances()) == nil
        }
        #expect(bus.instances(of: "peer") == ["peer-1"])
        #expect(try await bus.ask("echo") == "echo")
        try await postgres.start()
        try await eventually("a new instance is known again") {
            try? await other.directory.announce(known)
            try? await other.directory.announce(record("feed-9"))
            return bus.instances(of: "feed") == ["feed-9"]
        }
        #expect(try await bus.ask("echo") == "echo")
        #expect(metrics.value("bus_connections_lost_total") == 0)
        await bus.shutdown()
        await mine.database.close()
        await other.database.close()
    }
}

extension Fleet {
    /// A started bus that finds others in a directory of the caller's.
    fileprivate func bus(
        over directory: any InstanceDirectory,
        pollingEach interval: Duration,
        metrics: Metrics = Metrics()
    ) throws -> Bus {
        var limits = BusLimits()
        limits.directoryInterval = interval
        let bus = try Bus(
            BusConfiguration(
                service: "tester",
                instance: "tester",
                urlPrefix: prefix,
                limits: limits
            ),
            directory: directory,
            logger: .silent,
            metrics: metrics
        )
        try bus.start()
        return bus
    }
}
