import Database
import Foundation
import TestKit
import Testing

@testable import Operations

/// The doctor over a real database.
@Suite(.timeLimit(.minutes(2))) struct DoctorDatabaseTests {
    private func examine(_ url: String, riders: Bool = true) async throws -> (String, Bool) {
        let environment = ["DATABASE_URL": url, "RIDER_MODE_ENABLED": riders ? "true" : "false"]
        // It blocks its thread, as the command does.
        return try await withCheckedThrowingContinuation { continuation in
            startThread {
                do {
                    let diagnosis = try DoctorCommand.examine(environment: environment)
                    continuation.resume(returning: (diagnosis.text, diagnosis.isWell))
                } catch {
                    continuation.resume(throwing: error)
                }
            }
        }
    }

    @Test func `a database that nobody prepared is to be migrated`() async throws {
        let database = try await ThrowawayPostgres.shared.database()
        let (text, isWell) = try await examine(database.url)
        #expect(!isWell)
        #expect(text.contains("schema verifier: missing\n"))
        #expect(text.contains("wrong: the schema bus is missing: run `alongside migrate`"))
        #expect(!text.contains("lives"), "what is not there is not asked for")
    }

    @Test func `a prepared one without processes says which are missing`() async throws {
        let database = try await ThrowawayPostgres.shared.database()
        _ = try await Fleet.migrate(database.url)
        let (text, isWell) = try await examine(database.url)
        #expect(!isWell)
        for service in DoctorCommand.services {
            #expect(text.contains("wrong: no \(service) lives: "))
        }
        #expect(text.contains("wrong: 256 of 256 slots have no owner"))
    }

    @Test func `with every service alive and every slot owned all is well`() async throws {
        let database = try await ThrowawayPostgres.shared.database()
        _ = try await Fleet.migrate(database.url)
        let session = DedicatedConnection(
            DatabaseConfiguration(url: database.url, applicationName: "v1"),
            name: "owner"
        )
        let instances = DoctorCommand.services.map { $0 == "verifier" ? "v1" : "\($0)-1" }
        let rows = zip(instances, DoctorCommand.services).map {
            "('\($0)', '\($1)', 'ipc:///x', '', 1)"
        }
        try await session.run { connection throws(DatabaseError) in
            try connection.script(
                """
                INSERT INTO bus.instances (instance, service, request_endpoint, publish_endpoint, pid)
                VALUES \(rows.joined(separator: ", "));
                INSERT INTO verifier.slot_owners (backend_pid, instance, schedule_hash,
                    schedule_source) VALUES (pg_backend_pid(), 'v1', 'ff', 'gtfs.zip');
                INSERT INTO verifier.slots
                    SELECT s, 1000 + s, 'v1', clock_timestamp() FROM generate_series(0, 255) s;
                SELECT pg_advisory_lock(\(AdvisoryLock.Class.slot.rawValue), s)
                    FROM generate_series(0, 255) s;
                """
            )
            for offset in 0...1 {
                try connection.script(
                    """
                    DO $$ BEGIN EXECUTE format(
                        'CREATE TABLE verifier.ride_points_%s PARTITION OF verifier.ride_points
                            FOR VALUES FROM (%L) TO (%L)',
                        to_char((now() AT TIME ZONE 'UTC')::date + \(offset), 'YYYYMMDD'),
                        (now() AT TIME ZONE 'UTC')::date + \(offset),
                        (now() AT TIME ZONE 'UTC')::date + \(offset + 1)); END $$
                    """
                )
            }
        }
        let (text, isWell) = try await examine(database.url)
        #expect(isWell, "\(text)")
        #expect(text.contains("v1  256 slots, 0 rides, epochs 1000 to 1255"))
        #expect(text.contains("schedule   v1: ff from gtfs.zip"))

        try await session.run { connection throws(DatabaseError) in
            try connection.script(
                "UPDATE bus.instances SET heartbeat_at = heartbeat_at - interval '1 hour'"
                    + " WHERE instance = 'v1'"
            )
        }
        let frozen = try await examine(database.url)
        #expect(!frozen.1)
        #expect(frozen.0.contains("wrong: v1 is frozen and holds 256 slots"))
        await session.close()
    }

    @Test func `a server that stores nothing is named`() async throws {
        let database = try await ThrowawayPostgres.shared.database()
        _ = try await Fleet.migrate(database.url)
        let pool = database.open(connections: 1)
        try await pool.withConnection { connection throws(DatabaseError) in
            let name = try connection.query("SELECT current_database()").one().text(0)
            try connection.script("ALTER DATABASE \(name) SET default_transaction_read_only = on")
        }
        await pool.close()
        let (text, isWell) = try await examine(database.url)
        #expect(!isWell)
        #expect(text.contains("wrong: the database stores nothing (cannot execute CREATE TABLE"))
    }

    @Test func `without riders no slot is missed`() async throws {
        let database = try await ThrowawayPostgres.shared.database()
        _ = try await Fleet.migrate(database.url)
        let (text, _) = try await examine(database.url, riders: false)
        #expect(!text.contains("slots have no owner"))
    }

    @Test(
        arguments: [
            (["ALONGSIDE_DATA": "/nonexistent"], "DATABASE_URL is missing"),
            (["DATABASE_URL": "postgresql://127.0.0.1:9/x?connect_timeout=1"], "cannot be asked"),
            (["DATABASE_URL": "x", "RIDER_MODE_ENABLED": "true"], "cannot be asked"),
        ] as [([String: String], String)]
    )
    func `without a database it says what to set`(
        environment: [String: String],
        sentence: String
    ) async throws {
        let error = await #expect(throws: OperationError.self) {
            try await withCheckedThrowingContinuation {
                (continuation: CheckedContinuation<Void, any Error>) in
                startThread {
                    do {
                        _ = try DoctorCommand.examine(environment: environment)
                        continuation.resume()
                    } catch {
                        continuation.resume(throwing: error)
                    }
                }
            }
        }
        #expect(error?.description.contains(sentence) == true)
    }
}

private func startThread(_ body: @escaping @Sendable () -> Void) {
    Thread.detachNewThread(body)
}
