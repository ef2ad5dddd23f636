import Database
import Dispatch
import FoundationEssentials
import Messages
import Synchronization
import Telemetry
import TestKit
import Testing
import Transit
import Web

@testable import ServiceKit

/// What a process knows of the rows of `auth.revocations`, over a real table.
@Suite(.timeLimit(.minutes(1))) struct RevocationViewTests {
    @Test func `before the first look nobody can say anything`() async throws {
        let world = try await RevocationWorld()
        for role in Role.allCases { #expect(world.status(role) == .unknown, "\(role)") }
        #expect(world.view.readiness == .notReady("revocations: not read yet"))
        #expect(await world.view.look())
        for role in Role.allCases { #expect(world.status(role) == .valid, "\(role)") }
        #expect(world.view.readiness == .ready)
        await world.close()
    }

    @Test(arguments: Role.allCases)
    func `a token is revoked by its id and no other is`(role: Role) async throws {
        let world = try await RevocationWorld()
        try await world.insert("token", "one")
        await world.view.look()
        #expect(world.status(role, token: "one") == .revoked)
        #expect(world.status(role, token: "two") == .valid)
        #expect(world.status(role, token: nil) == .valid)
        // A subject of that name is another thing.
        #expect(world.status(role, subject: "one", token: nil) == .valid)
        await world.close()
    }

    @Test(arguments: [(Int64(-1), RevocationStatus.revoked), (0, .revoked), (1, .valid)])
    func `a subject is revoked up to an instant`(
        seconds: Int64,
        expected: RevocationStatus
    ) async throws {
        let world = try await RevocationWorld()
        try await world.insert("subject", SubjectDigest.text(of: "ann"))
        await world.view.look()
        let instant = world.clock.now + seconds
        #expect(world.status(.member, subject: "ann", issuedAt: instant) == expected)
        #expect(world.status(.member, subject: "bob", issuedAt: instant) == .valid)
        await world.close()
    }

    @Test func `a token without a date is as old as can be`() async throws {
        let world = try await RevocationWorld()
        try await world.insert("subject", SubjectDigest.text(of: "ann"))
        await world.view.look()
        #expect(world.status(.member, subject: "ann", issuedAt: nil) == .revoked)
        await world.close()
    }

    @Test func `a row that is committed after a younger one is not missed`() async throws {
        let world = try await RevocationWorld()
        let pool = world.database.open(connections: 2)
        let (reached, reach) = AsyncStream<Void>.makeStream()
        // Holds a database thread, which is there to be held.
        let gate = DispatchSemaphore(value: 0)
        async let older: Void = pool.transaction { connection throws(DatabaseError) in
            try insertRevocation("token", "older", at: 1, until: 4_000_000_000, on: connection)
            reach.finish()
            gate.wait()
        }
        for await _ in reached {}
        try await world.insert("token", "younger")
        await world.view.look()
        #expect(world.status(.admin, token: "younger") == .revoked)
        #expect(world.status(.admin, token: "older") == .valid)
        // Many looks and transactions later it still is not lost.
        for number in 0..<5 {
            try await world.insert("token", "other \(number)")
            await world.view.look()
        }
        gate.signal()
        _ = try await older
        await world.view.look()
        #expect(world.status(.admin, token: "older") == .revoked)
        await pool.close()
        await world.close()
    }

    @Test func `a row that is revoked again is seen again`() async throws {
        let world = try await RevocationWorld()
        let digest = SubjectDigest.text(of: "ann")
        try await world.insert("subject", digest)
        await world.view.look()
        world.clock.advance(by: 100)
        let issuedAt = world.clock.now - 50
        #expect(world.status(.member, subject: "ann", issuedAt: issuedAt) == .valid)
        try await world.insert("subject", digest)
        await world.view.look()
        #expect(world.status(.member, subject: "ann", issuedAt: issuedAt) == .revoked)
        await world.close()
    }

    @Test func `a view of thirty seconds still counts, an older one is 503 but for riders`()
        async throws
    {
        let world = try await RevocationWorld()
        try await world.insert("token", "gone")
        await world.view.look()
        world.uptime.advance(by: 30_000_000_000)
        for role in Role.allCases { #expect(world.status(role) == .valid, "\(role)") }
        world.uptime.advance(by: 1)
        for role in [Role.member, .driver, .admin] {
            #expect(world.status(role) == .unknown, "\(role)")
            #expect(world.status(role, token: "gone") == .revoked)
        }
        #expect(world.status(.rider) == .valid)
        #expect(world.status(.rider, token: "gone") == .revoked)
        #expect(world.view.readiness == .notReady("revocations: the last look is too old"))
        await world.view.look()
        for role in Role.allCases { #expect(world.status(role) == .valid, "\(role)") }
        await world.close()
    }

    @Test func `catches up after the database was away`() async throws {
        let postgres = try await ThrowawayPostgres.fresh(settings: ["fsync=off"])
        let world = try await RevocationWorld(postgres)
        await world.view.look()
        try await world.insert("token", "before")
        try await postgres.stop()
        #expect(await world.view.look() == false)
        #expect(world.status(.admin, token: "before") == .valid)
        #expect(world.metrics.rendered().contains("revocation_looks_failed_total 1\n"))
        try await postgres.start()
        // The server takes a moment before it takes connections.
        while await !world.view.look() { await Task.yield() }
        try await world.insert("token", "after")
        while await !world.view.look() { await Task.yield() }
        #expect(world.status(.admin, token: "before") == .revoked)
        #expect(world.status(.admin, token: "after") == .revoked)
        await world.close()
    }

    @Test func `a database that was set back is read from its beginning`() async throws {
        let world = try await RevocationWorld()
        try await world.insert("token", "one")
        let page = try await world.pool.withConnection { connection throws(DatabaseError) in
            try RevocationReader.read(from: UInt64(Int64.max), at: 0, on: connection)
        }
        #expect(page.entries.map(\.target) == [.token("one")])
        #expect(page.cursor < UInt64(Int64.max))
        await world.close()
    }

    @Test func `rows whose tokens have expired are neither read nor kept`() async throws {
        let world = try await RevocationWorld()
        try await world.insert("token", "short", lifetime: 60)
        try await world.insert("token", "long", lifetime: 3600)
        try await world.insert("token", "over", lifetime: -1)
        await world.view.look()
        #expect(world.metrics.rendered().contains("revocations_known_items 2.0\n"))
        #expect(world.status(.admin, token: "over") == .valid)
        world.clock.advance(by: 61)
        // Each look sweeps one part of the table.
        for _ in 0..<64 { await world.view.look() }
        #expect(world.metrics.rendered().contains("revocations_known_items 1.0\n"))
        #expect(world.status(.admin, token: "long") == .revoked)
        await world.close()
    }

    @Test func `hears what auth says between two looks`() async throws {
        let world = try await RevocationWorld()
        await world.view.look()
        let entries = [
            Revocations.Entry(target: .token("one"), revokedAt: 1, expiresAt: .max),
            Revocations.Entry(
                target: .subject(SubjectDigest.text(of: "ann")),
                revokedAt: world.clock.now,
                expiresAt: .max
            ),
            Revocations.Entry(target: .subject("no digest"), revokedAt: 1, expiresAt: 2),
        ]
        world.view.hear(Revocations(sequence: 1, entries: entries).encoded())
        world.view.hear([0xFF])
        #expect(world.status(.admin, token: "one") == .revoked)
        #expect(world.status(.admin, subject: "ann") == .revoked)
        #expect(world.metrics.rendered().contains("revocations_unreadable_total 2\n"))
        await world.close()
    }

    @Test func `only what nobody has said before is news`() async throws {
        let world = try await RevocationWorld()
        let heard = Mutex<[Revocations.Entry.Target]>([])
        world.view.onNews { entries, _ in heard.withLock { $0 += entries.map(\.target) } }
        let known = Revocations.Entry(target: .token("one"), revokedAt: .max, expiresAt: .max)
        world.view.hear(Revocations(sequence: 1, entries: [known]).encoded())
        try await world.insert("token", "one")
        try await world.insert("token", "two")
        await world.view.look()
        await world.view.look()
        #expect(heard.withLock { $0 } == [.token("two")])
        await world.close()
    }

    @Test func `a hundred thousand rows are read, found and small`() async throws {
        let world = try await RevocationWorld()
        try await world.pool.withConnection { connection throws(DatabaseError) in
            try connection.execute(
                """
                INSERT INTO auth.revocations (kind, value, revoked_at, until)
                SELECT 'token', 'token ' || n, to_timestamp(1), to_timestamp(4000000000)
                FROM generate_series(1, 100000) n
                """
            )
        }
        #expect(await world.view.look())
        for number in [1, 50_000, 100_000] {
            #expect(world.status(.admin, token: "token \(number)") == .revoked)
        }
        #expect(world.status(.admin, token: "token 100001") == .valid)
        await world.close()
    }
}

/// Monotonic nanoseconds that the test moves.
private final class Uptime: Sendable {
    private let reading = Mutex<UInt64>(1_000_000_000)

    var value: UInt64 { reading.withLock { $0 } }

    func advance(by nanoseconds: UInt64) { reading.withLock { $0 += nanoseconds } }
}

/// The table as auth's own migrations make it.
let revocationsTemplate = ThrowawayPostgres.Template("revocations") {
    connection throws(DatabaseError) in
    try connection.script("CREATE SCHEMA auth")
    for name in ["0001-schema", "0002-revocations", "0004-erasures"] {
        let path = ProjectPaths.root + "/services/auth/Sources/Migrations/\(name).sql"
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw DatabaseError(.statement, "\(path) cannot be read")
        }
        try connection.script(text)
    }
}

private func insertRevocation(
    _ kind: String,
    _ value: String,
    at now: UnixSeconds,
    until: UnixSeconds,
    on connection: Connection
) throws(DatabaseError) {
    try connection.execute(
        """
        INSERT INTO auth.revocations (kind, value, revoked_at, until) VALUES ($1, $2, $3, $4)
        ON CONFLICT (kind, value) DO UPDATE SET revoked_at = excluded.revoked_at,
            transaction = pg_current_xact_id()
        """,
        [.text(kind), .text(value), .timestamp(now), .timestamp(until)]
    )
}

/// A table of revocations and a view of it, on clocks that the test moves.
private struct RevocationWorld {
    let database: TestDatabase
    let pool: Database
    let view: RevocationView
    let clock = ManualClock()
    let uptime = Uptime()
    let metrics = Metrics()

    init(_ postgres: ThrowawayPostgres = .shared) async throws {
        database = try await postgres.database(revocationsTemplate)
        pool = database.open(connections: 2)
        let uptime = uptime
        view = RevocationView(
            database: pool,
            clock: clock.application,
            metrics: metrics,
            uptime: { uptime.value }
        )
    }

    func close() async { await pool.close() }

    func status(
        _ role: Role,
        subject: String = "someone",
        token: String? = "some token"
    ) -> RevocationStatus {
        status(role, subject: subject, token: token, issuedAt: clock.now)
    }

    func status(
        _ role: Role,
        subject: String = "someone",
        token: String? = "some token",
        issuedAt: UnixSeconds?
    ) -> RevocationStatus {
        var claims = TokenClaims(
            subject: subject,
            role: role,
            issuedAt: 0,
            lifetime: .seconds(60),
            tokenID: token
        )
        claims.issuedAt = issuedAt
        return view.status(of: claims)
    }

    func insert(_ kind: String, _ value: String, lifetime: Int64 = 3600) async throws {
        let now = clock.now
        try await pool.withConnection { connection throws(DatabaseError) in
            try insertRevocation(kind, value, at: now, until: now + lifetime, on: connection)
        }
    }
}
