import Database
import Messages
import ServiceKit
import Synchronization
import Telemetry
import TestKit
import Testing
import Transit

@testable import VerifierService

/// A verifier of a deployment without riders.
@Suite(.timeLimit(.minutes(1))) struct IdleTests {
    @Test func `with rider mode off it is ready and takes no slot; retention goes on`() async throws
    {
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
            try await eventually("partitions are looked after") {
                try await world.number(
                    """
                    SELECT count(*) FROM pg_inherits
                    WHERE inhparent = 'verifier.ride_points'::regclass
                    """
                ) == 4
            }
            stop.yield(15)
            #expect(await code == 0)
        }
    }

    // MARK: - Forgetting

    /// A rider with a ride under way, whose verifier is gone.
    private func leaveRide(_ world: World) async throws -> Rider {
        let verifier = try await world.verifier()
        let rider = Rider()
        _ = await verifier.start(rider)
        _ = await verifier.report(rider, Course.points([-25, -20, -15]))
        await verifier.close()
        return rider
    }

    private func withIdle(_ world: World, _ body: (IdleVerifier) async throws -> Void) async throws
    {
        let pool = Database(
            DatabaseConfiguration(
                url: world.database.url,
                role: Verifier.schema.role,
                schema: Verifier.schema.name,
                connections: 1
            )
        )
        let clock = world.clock
        let idle = IdleVerifier(
            erasure: .idle(pool: pool, now: { clock.now }, logger: .silent)
        )
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(idle)) } catch { outcome = .failure(error) }
        await pool.close()
        try outcome.get()
    }

    private func ask(
        _ idle: IdleVerifier,
        _ body: RideRequest.Body
    ) async throws -> RideReply.Body {
        let request = RideRequest(requestID: .random(), trace: .random(), body: body)
        return try RideReply(
            decoding: await idle.answer(request.encoded(), trace: request.trace)
        ).body
    }

    private func erasure(of rider: Rider, _ world: World) -> RideRequest.Body {
        .eraseRider(
            EraseRider(
                riderID: rider.id,
                receivedAt: world.clock.now,
                successorID: .random(),
                forgottenUntil: world.clock.now + 100
            )
        )
    }

    @Test func `with rider mode off a rider is forgotten all the same, the ride under way too`()
        async throws
    {
        try await World.with { world async throws in
            let rider = try await leaveRide(world)
            try await withIdle(world) { idle in
                let export = RideRequest.Body.exportRider(
                    ExportRider(riderID: rider.id, receivedAt: world.clock.now, page: 1)
                )
                guard case .exported(let bytes) = try await ask(idle, export) else {
                    Issue.record("no export")
                    return
                }
                #expect(!bytes.isEmpty)
                for _ in 0..<2 {
                    #expect(try await ask(idle, erasure(of: rider, world)) == .erased)
                }
                for table in ["rides", "ride_points", "rider_reputation"] {
                    #expect(
                        try await world.number("SELECT count(*) FROM verifier.\(table)") == 0,
                        "\(table)"
                    )
                }
            }
        }
    }

    @Test func `a slot that somebody owns is not passed by`() async throws {
        try await World.with { world async throws in
            let verifier = try await world.verifier()
            let rider = Rider()
            _ = await verifier.start(rider)
            try await withIdle(world) { idle in
                let answer = try await ask(idle, erasure(of: rider, world))
                #expect(answer == .refused(.unavailable))
                #expect(try await world.number("SELECT count(*) FROM verifier.rides") == 1)
                #expect(
                    try await ask(idle, .status(VerifierStatusQuery(receivedAt: 1)))
                        == .refused(.unavailable)
                )
            }
        }
    }
}
