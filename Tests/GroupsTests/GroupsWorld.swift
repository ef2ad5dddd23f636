import Database
import ServiceKit
import TestKit
import Testing
import Transit
import Web

@testable import GroupsService

/// A database with any number of groups processes over it, on a clock that the test moves.
final class GroupsWorld: Sendable {
    /// Outlives every crash but that of the machine, and so is quick; counts what statements do.
    static let postgres = ThrowawayPostgres(
        settings: ["fsync=off", "shared_preload_libraries=pg_stat_statements"]
    )

    static let template = ThrowawayPostgres.Template("groups") { connection throws(DatabaseError) in
        try Migrator.migrate(
            schema: Groups.schema.name,
            role: Groups.schema.role,
            migrations: Groups.schema.migrations,
            on: connection
        )
    }

    let database: TestDatabase
    let clock = ManualClock()
    let relays = FakeRelays()
    let directory = FakeDirectory()
    let http = HTTPClient()
    let processes: [GroupsProcess]
    private let pool: Database

    private init(
        _ database: TestDatabase,
        processes count: Int,
        connections: Int,
        limits: RequestLimits,
        transport: LiveNews.Transport?
    ) throws {
        self.database = database
        pool = database.open(connections: 1)
        let (clock, relays, directory, http) = (clock, relays, directory, http)
        processes = try (0..<count).map { _ in
            try GroupsProcess(
                database,
                connections: connections,
                GroupsProcess.Outside(
                    clock: clock,
                    directory: directory,
                    transport: transport ?? relays.transport,
                    limits: limits,
                    http: http
                )
            )
        }
    }

    /// Makes a world, and ends it after `body`.
    static func with(
        processes: Int = 1,
        connections: Int = 2,
        limits: RequestLimits = .none,
        transport: LiveNews.Transport? = nil,
        _ body: (GroupsWorld) async throws -> Void
    ) async throws {
        try await WorldPool.shared.with { database in
            try await run(
                try GroupsWorld(
                    database,
                    processes: processes,
                    connections: connections,
                    limits: limits,
                    transport: transport
                ),
                body
            )
        }
    }

    /// Makes a world in a cluster of its own, and ends it after `body`.
    static func with(
        postgres: ThrowawayPostgres,
        _ body: (GroupsWorld) async throws -> Void
    ) async throws {
        try await run(
            try GroupsWorld(
                try await postgres.database(template),
                processes: 1,
                connections: 2,
                limits: .none,
                transport: nil
            ),
            body
        )
    }

    private static func run(
        _ world: GroupsWorld,
        _ body: (GroupsWorld) async throws -> Void
    ) async throws {
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(world)) } catch { outcome = .failure(error) }
        world.http.close()
        for process in world.processes { await process.close() }
        await world.pool.close()
        try outcome.get()
    }

    /// The first process.
    var process: GroupsProcess { processes[0] }

    // MARK: - People

    /// A person with a token, who has called once and so is known.
    func person(_ handle: String, known: Bool = true) async throws -> Person {
        let person = stranger(handle)
        if known { #expect(try await person.get("/api/friends").status == 200) }
        return person
    }

    /// A person with a token who was never seen here.
    func stranger(_ handle: String, id: UniqueID = .random()) -> Person {
        let token = TestTokens(clock: clock.application).token(
            .member,
            subject: id,
            lifetime: .seconds(365 * 86_400),
            handle: handle
        )
        return Person(id: id, handle: handle, token: token, process: process)
    }

    /// Makes two people friends.
    func befriend(_ one: Person, _ other: Person) async throws {
        try await one.ask(other.handle)
        #expect(try await other.ask(one.handle) == "accepted")
    }

    /// A group of the first person in which the others are accepted members, all friends of the
    /// first.
    func group(
        _ kind: String,
        _ owner: Person,
        _ others: Person...,
        name: String = "Family"
    ) async throws -> String {
        let id = try await owner.create(kind, name)
        for other in others {
            try await befriend(owner, other)
            try await owner.invite(other, to: id)
            try await other.accept(id)
        }
        return id
    }

    /// A circle in which everyone shares.
    func sharingCircle(_ owner: Person, _ others: Person...) async throws -> String {
        let id = try await owner.create("circles", "Family")
        try await owner.share(id)
        for other in others {
            try await befriend(owner, other)
            try await owner.invite(other, to: id)
            try await other.accept(id)
            try await other.share(id)
        }
        return id
    }

    // MARK: - Rows

    /// Works on the database as its owner.
    @discardableResult
    func query<Value: Sendable>(
        _ body: @escaping @Sendable (Connection) throws(DatabaseError) -> Value
    ) async throws(DatabaseError) -> Value {
        try await pool.withConnection(body)
    }

    /// The number that a statement with one number gives.
    func count(_ sql: String, _ parameters: SQLValue...) async throws -> Int {
        try await query { connection throws(DatabaseError) in
            try connection.query(sql, parameters).one().int(0)
        }
    }
}
