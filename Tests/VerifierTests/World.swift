import Bus
import Database
import Messages
import ServiceKit
import Synchronization
import Telemetry
import TestKit
import Transit
import Verification

@testable import VerifierService

/// A database with any number of verifiers over it, on clocks that the test moves.
final class World: Sendable {
    /// Outlives every crash but that of the machine, and so is quick.
    private static let postgres = ThrowawayPostgres(settings: ["fsync=off"])

    private static let template = ThrowawayPostgres.Template("verifiers") {
        connection throws(DatabaseError) in
        let bus = ServiceSchema(BusMigrations.schema, migrations: BusMigrations.all)
        for schema in [bus, Verifier.schema] {
            try Migrator.migrate(
                schema: schema.name,
                role: schema.role,
                migrations: schema.migrations,
                on: connection
            )
        }
    }

    let database: TestDatabase
    let clock = ManualClock(Course.start)
    private let pool: Database
    private let uptime = Mutex(0.0)
    private let index: Mutex<ScheduleIndex?>
    private let trusted = Mutex(TrustedSnapshot.missing)
    private let thresholds = Mutex(Thresholds())
    private let verifiers = Mutex<[TestVerifier]>([])
    private let peers = TestVerifier.Peers()

    private init(_ database: TestDatabase) throws {
        self.database = database
        pool = database.open(connections: 1)
        index = Mutex(try Course.index())
        // Most riders of these tests are scripts.
        thresholds.withLock { $0.witnessChecks = .count }
    }

    /// Makes a world, and ends its verifiers after `body`.
    static func with(
        _ postgres: ThrowawayPostgres? = nil,
        _ body: (World) async throws -> Void
    ) async throws {
        let world = try World(try await (postgres ?? Self.postgres).database(template))
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(world)) } catch { outcome = .failure(error) }
        for verifier in world.verifiers.withLock({ $0 }) { await verifier.close() }
        await world.pool.close()
        try outcome.get()
    }

    /// Moves both clocks.
    func pass(_ seconds: Int64) {
        clock.advance(by: seconds)
        uptime.withLock { $0 += Double(seconds) }
    }

    func setSchedule(_ index: ScheduleIndex?) { self.index.withLock { $0 = index } }

    func setTrusted(_ snapshot: TrustedSnapshot) { trusted.withLock { $0 = snapshot } }

    /// What verifiers made from now on do with the checks of witnesses.
    func setWitnessChecks(_ mode: WitnessMode) {
        thresholds.withLock { $0.witnessChecks = mode }
    }

    private var circumstances: Circumstances {
        Circumstances(
            index: index.withLock { $0 },
            trusted: trusted.withLock { $0 },
            thresholds: thresholds.withLock { $0 },
            now: clock.now,
            uptime: uptime.withLock { $0 }
        )
    }

    // MARK: - Verifiers

    /// Starts a verifier that owns nothing yet; it finds the database at `url`, when not directly.
    func idleVerifier(
        _ instance: String = "v1",
        through url: String? = nil,
        beats: Bool = true
    ) async throws -> TestVerifier {
        if beats { try await beat(instance) }
        let verifier = TestVerifier(
            instance,
            DatabaseConfiguration(
                url: url ?? database.url,
                role: Verifier.schema.role,
                schema: Verifier.schema.name,
                connections: 1,
                statementTimeout: .seconds(10)
            ),
            peers: peers,
            { self.circumstances }
        )
        verifiers.withLock { $0.append(verifier) }
        peers.all.withLock { $0[instance] = verifier }
        return verifier
    }

    /// Starts a verifier that owns its share.
    func verifier(
        _ instance: String = "v1",
        through url: String? = nil
    ) async throws -> TestVerifier {
        let verifier = try await idleVerifier(instance, through: url)
        try await eventually("\(instance) owns slots") {
            await verifier.node.stepTowardsShare()
            return verifier.node.readiness == .ready
        }
        return verifier
    }

    /// Gives a verifier a heartbeat for the length of a test, or takes it away.
    func beat(_ instance: String, isAlive: Bool = true) async throws {
        try await run(
            """
            INSERT INTO bus.instances VALUES ('\(instance)', 'verifier', '', '', 1,
                clock_timestamp() + make_interval(hours => \(isAlive ? 1 : -1)))
            ON CONFLICT (instance) DO UPDATE SET heartbeat_at = excluded.heartbeat_at
            """
        )
    }

    // MARK: - Rows

    func run(_ sql: String) async throws {
        try await pool.withConnection { connection throws(DatabaseError) in
            try connection.script(sql)
        }
    }

    func number(_ sql: String) async throws -> Int {
        try await pool.withConnection { connection throws(DatabaseError) in
            try connection.query(sql).one().int(0)
        }
    }

    /// One row's columns as PostgreSQL prints them, NULL as nil.
    func row(_ columns: [String], _ rest: String) async throws -> [String?] {
        let list = columns.map { "(\($0))::text" }.joined(separator: ", ")
        return try await pool.withConnection { connection throws(DatabaseError) in
            let row = try connection.query("SELECT \(list) \(rest)").one()
            var texts: [String?] = []
            for column in columns.indices { texts.append(try row.optionalText(column)) }
            return texts
        }
    }
}
