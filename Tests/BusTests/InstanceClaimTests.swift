import Database
import Glibc
import TestKit
import Testing

@testable import Bus

/// A name in the fleet is one process's.
@Suite(.timeLimit(.minutes(1))) struct InstanceClaimTests {
    private static let migrated = ThrowawayPostgres.Template("bus_claims") {
        connection throws(DatabaseError) in
        try Migrator.migrate(
            schema: BusMigrations.schema,
            role: "alongside_bus",
            migrations: BusMigrations.all,
            on: connection
        )
    }

    /// A database with a row of the instance `v1`.
    private func withRow(
        pid: Int32,
        endpoint: String = "ipc:///run/a/v1.req",
        age: Double = 0.5,
        _ body: (Database) async throws -> Void
    ) async throws {
        let pool = try await ThrowawayPostgres.shared.database(Self.migrated).open()
        try await pool.withConnection { connection throws(DatabaseError) in
            try connection.execute(
                """
                INSERT INTO bus.instances VALUES ('v1', 'verifier', $1, '', $2,
                    clock_timestamp() - make_interval(secs => $3))
                """,
                [.text(endpoint), .int(Int(pid)), .double(age)]
            )
        }
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(pool)) } catch { outcome = .failure(error) }
        await pool.close()
        try outcome.get()
    }

    private func beat(_ pool: Database) async throws {
        try await pool.withConnection { connection throws(DatabaseError) in
            try connection.execute("UPDATE bus.instances SET heartbeat_at = clock_timestamp()")
        }
    }

    @Test(arguments: ["ipc:///run/a/v1.req", "tcp://10.0.0.1:7000"])
    func `a name whose process beats is refused, and the other is named`(
        endpoint: String
    )
        async throws
    {
        // The test's parent lives and is another process.
        let pid = getppid()
        try await withRow(pid: pid, endpoint: endpoint) { pool async throws in
            // As a process would, only faster, until it has been noticed.
            let beating = Task { while !Task.isCancelled { try await beat(pool) } }
            let error = await #expect(throws: BusError.self) {
                try await InstanceClaim.check("v1", in: pool)
            }
            #expect(
                error?.description
                    == "INSTANCE_ID \"v1\" is in use by process \(pid) at \(endpoint): "
                    + "stop that one, or give this one another name"
            )
            beating.cancel()
            _ = await beating.result
        }
    }

    @Test func `a name that nobody has, or had long ago, is free at once`() async throws {
        try await withRow(pid: getppid(), age: 4.5) { pool async throws in
            let start = ContinuousClock.now
            try await InstanceClaim.check("v1", in: pool)
            try await InstanceClaim.check("v2", in: pool)
            #expect(ContinuousClock.now - start < InstanceClaim.heartbeatPatience)
        }
    }

    @Test func `a name whose process here has ended is free at once`() async throws {
        // Beyond every number that Linux gives.
        try await withRow(pid: 0x7FFF_FFFF) { pool async throws in
            let start = ContinuousClock.now
            try await InstanceClaim.check("v1", in: pool)
            #expect(ContinuousClock.now - start < InstanceClaim.heartbeatPatience)
        }
    }

    @Test func `a name whose process does not beat any more is taken over`() async throws {
        try await withRow(pid: getppid()) { pool async throws in
            try await InstanceClaim.check("v1", in: pool)
        }
    }

    @Test func `without a database nobody is asked`() async throws {
        let pool = Database(
            DatabaseConfiguration(url: "postgresql://127.0.0.1:9/x?connect_timeout=1")
        )
        try await InstanceClaim.check("v1", in: pool)
        await pool.close()
    }
}
