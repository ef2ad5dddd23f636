import Database
import Synchronization
import Telemetry
import TestKit
import Testing

@testable import Bus

/// What the directory leaves in the database and tells through it.
@Suite(.timeLimit(.minutes(1)))
struct DirectoryRowsTests {
    private static let migrated = ThrowawayPostgres.Template("bus_rows") {
        connection throws(DatabaseError) in
        try Migrator.migrate(
            schema: BusMigrations.schema,
            role: "alongside_bus",
            migrations: BusMigrations.all,
            on: connection
        )
    }

    private func record(_ instance: String = "peer-1", pid: Int32 = 7) -> InstanceRecord {
        InstanceRecord(
            service: "peer",
            instance: instance,
            requestEndpoint: "ipc:///run/a/\(instance).req",
            publishEndpoint: "ipc:///run/a/\(instance).pub",
            pid: pid
        )
    }

    private func execute(_ sql: String, on pool: Database) async throws {
        try await pool.withConnection { connection throws(DatabaseError) in
            _ = try connection.execute(sql)
        }
    }

    @Test(arguments: Network.allCases)
    func `brings two processes together and parts them`(network: Network) async throws {
        let place = try await ThrowawayPostgres.shared.database(Self.migrated)
        let pool = place.open()
        let fleet = try Fleet(network)
        let buses = try ["a", "b"].map { instance in
            let bus = try Bus(
                BusConfiguration(
                    service: "tester",
                    instance: instance,
                    urlPrefix: fleet.prefix,
                    curve: network == .tcp ? fleet.keys : nil
                ),
                directory: PostgresDirectory(
                    pool,
                    listening: DatabaseConfiguration(url: place.url)
                ),
                logger: .silent,
                metrics: Metrics()
            )
            bus.serve { $0.body }
            try bus.start()
            return bus
        }
        try await eventually("a knows b") { buses[0].instances(of: "tester") == ["a", "b"] }
        #expect(try await buses[0].ask("hello", of: "b") == "hello")
        await buses[1].shutdown()
        try await eventually("b is gone") { buses[0].instances(of: "tester") == ["a"] }
        await buses[0].shutdown()
        let left = try await pool.withConnection { connection throws(DatabaseError) in
            try connection.query("SELECT count(*) FROM bus.instances").one().int64(0)
        }
        #expect(left == 0)
        await pool.close()
    }

    @Test func `tells what is new, not that all is as it was`() async throws {
        let place = try await ThrowawayPostgres.shared.database(Self.migrated)
        let pool = place.open()
        let heard = Mutex<[String]>([])
        let isListening = Mutex(false)
        let listener = NotificationListener(
            DatabaseConfiguration(url: place.url),
            channels: ["bus_instances"],
            connected: { _ in isListening.withLock { $0 = true } },
            receive: { notification in heard.withLock { $0.append(notification.payload) } }
        )
        try await eventually("it listens") { isListening.withLock { $0 } }
        let directory = PostgresDirectory(pool, listening: DatabaseConfiguration(url: place.url))
        for _ in 0..<3 { try await directory.announce(record()) }
        try await execute("NOTIFY bus_instances, 'moved'", on: pool)
        for _ in 0..<3 { try await directory.announce(record(pid: 8)) }
        try await execute("NOTIFY bus_instances, 'silent'", on: pool)
        try await execute(
            "UPDATE bus.instances SET heartbeat_at = clock_timestamp() - interval '5 s'",
            on: pool
        )
        for _ in 0..<3 { try await directory.announce(record(pid: 8)) }
        try await execute("NOTIFY bus_instances, 'withdrawn'", on: pool)
        try await directory.withdraw(record(pid: 8))
        try await execute("NOTIFY bus_instances, 'end'", on: pool)
        // Notifications keep the order of their commits: behind the last one nothing is missing.
        try await eventually("all is heard") { heard.withLock { $0.last } == "end" }
        let expected = [
            "peer-1", "moved", "peer-1", "silent", "peer-1", "withdrawn", "peer-1", "end",
        ]
        #expect(heard.withLock { $0 } == expected)
        await listener.close()
        await pool.close()
    }

    @Test func `forgets who was silent for a day`() async throws {
        let place = try await ThrowawayPostgres.shared.database(Self.migrated)
        let pool = place.open()
        try await execute(
            """
            INSERT INTO bus.instances VALUES
                ('old', 'peer', '', '', 1, clock_timestamp() - interval '25 h'),
                ('recent', 'peer', '', '', 1, clock_timestamp() - interval '23 h')
            """,
            on: pool
        )
        let directory = PostgresDirectory(pool, listening: DatabaseConfiguration(url: place.url))
        try await directory.announce(record())
        let names = try await pool.withConnection { connection throws(DatabaseError) in
            try connection.query(
                "SELECT string_agg(instance, ' ' ORDER BY instance) FROM bus.instances"
            ).one().text(0)
        }
        #expect(names == "peer-1 recent")
        try await directory.withdraw(record())
        await pool.close()
    }

    @Test func `serves a role that owns nothing here`() async throws {
        let place = try await ThrowawayPostgres.shared.database(Self.migrated)
        let pool = place.open()
        try await execute("CREATE ROLE bus_guest NOLOGIN", on: pool)
        let configuration = DatabaseConfiguration(url: place.url, role: "bus_guest")
        let guest = Database(configuration)
        let directory = PostgresDirectory(guest, listening: configuration)
        try await directory.announce(record())
        #expect(try await directory.instances() == [record()])
        try await directory.withdraw(record())
        let offset = try await guest.withConnection { connection throws(DatabaseError) in
            for offset in [5, 9] {
                _ = try connection.execute(
                    "INSERT INTO bus.clock (offset_seconds) VALUES ($1) ON CONFLICT DO NOTHING",
                    [.int(offset)]
                )
            }
            return try connection.query("SELECT offset_seconds FROM bus.clock").one().int64(0)
        }
        #expect(offset == 5)
        await guest.close()
        try await execute("DROP ROLE bus_guest", on: pool)
        await pool.close()
    }
}
