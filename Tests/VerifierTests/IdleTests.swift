import Database
import ServiceKit
import Synchronization
import TestKit
import Testing

@testable import VerifierService

/// A verifier of a deployment without riders.
@Suite(.timeLimit(.minutes(1))) struct IdleTests {
    @Test func `with rider mode off it is ready, takes no slot and stores nothing`() async throws {
        try await World.with { world async throws in
            let log = Mutex("")
            let (stops, stop) = AsyncStream<Int32>.makeStream()
            async let code = ServiceRunner.run(
                Verifier.definition,
                arguments: [],
                environment: [
                    "RIDER_MODE_ENABLED": "false",
                    "DATABASE_URL": world.database.url,
                    "INTERNAL_PORT": "0",
                    "INSTANCE_ID": "idle",
                    "BUS_URL_PREFIX": "ipc:///tmp/idle-\(UInt32.random(in: 0 ... .max))-",
                    // Not looked at: there is nothing to match riders with.
                    "GTFS_STATIC_URL": "/nowhere/gtfs.zip",
                ],
                stops: stops,
                output: RunnerOutput { line in log.withLock { $0 += line } }
            )
            try await eventually("started: \(log.withLock { $0 })") {
                log.withLock { $0.contains("\"started\"") }
            }
            #expect(
                try await world.number(
                    """
                    SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted
                        AND classid = \(AdvisoryLock.Class.slot.rawValue)
                        AND database = (SELECT oid FROM pg_database
                            WHERE datname = current_database())
                    """
                ) == 0
            )
            #expect(
                try await world.number(
                    """
                    SELECT count(*) FROM pg_inherits
                    WHERE inhparent = 'verifier.ride_points'::regclass
                    """
                ) == 1
            )
            stop.yield(15)
            #expect(await code == 0)
        }
    }
}
