import Database
import Schedule
import Synchronization
import Telemetry
import TestKit
import Testing
import Transit
import Web

@testable import FeedService
@testable import ServiceKit

/// A database with the feed's schema, made from a template.
func feedDatabase(_ postgres: ThrowawayPostgres = .shared) async throws -> TestDatabase {
    let template = ThrowawayPostgres.Template("feed") { connection throws(DatabaseError) in
        try Migrator.migrate(
            schema: Feed.schema.name,
            role: Feed.schema.role,
            migrations: Feed.schema.migrations,
            on: connection
        )
    }
    return try await postgres.database(template)
}

/// The accounts that a test's auth knows; everybody, unless it is told otherwise.
final class KnownAccounts: Sendable {
    private let answers = Mutex<[UniqueID: AccountDirectory.Answer]>([:])

    func set(_ id: UniqueID, _ answer: AccountDirectory.Answer) {
        answers.withLock { $0[id] = answer }
    }

    var directory: AccountDirectory {
        AccountDirectory { id in
            self.answers.withLock { $0[id] ?? .known(name: "Somebody") }
        }
    }
}

/// Replicas of the feed over one database, on a clock that the test moves.
struct DriverWorld: Sendable {
    let clock: ManualClock
    let database: TestDatabase
    let accounts: KnownAccounts
    let replicas: [Replica]
    fileprivate let client: HTTPClient
    fileprivate let tokens: TestTokens

    /// One running feed.
    struct Replica: Sendable {
        let port: Int
        let intake: DriverIntake
        let publisher: FeedPublisher
        let metrics: Metrics
    }

    /// Who calls.
    enum Caller: Sendable {
        case nobody
        case driver(UniqueID)
        case admin
        case role(Role)
        /// Any token.
        case token(String)
        case apiKey(String)
    }

    var first: Replica { replicas[0] }
    var now: UnixSeconds { clock.now }

    func token(_ role: Role, _ subject: UniqueID = .random()) -> String {
        tokens.token(role, subject: subject)
    }

    // MARK: - Calls

    func send(
        _ method: HTTPMethod,
        _ path: String,
        as caller: Caller,
        _ body: String? = nil,
        contentType: String? = "application/json",
        at replica: Int = 0
    ) async throws -> HTTPClientResponse {
        var headers = [("Accept-Encoding", "identity")]
        switch caller {
        case .nobody: break
        case .driver(let id): headers.append(("Authorization", "Bearer \(token(.driver, id))"))
        case .admin: headers.append(("Authorization", "Bearer \(token(.admin))"))
        case .role(let role): headers.append(("Authorization", "Bearer \(token(role))"))
        case .token(let token): headers.append(("Authorization", "Bearer \(token)"))
        case .apiKey(let key): headers.append(("X-API-Key", key))
        }
        if body != nil, let contentType { headers.append(("Content-Type", contentType)) }
        return try await client.send(
            method,
            "http://127.0.0.1:\(replicas[replica].port)\(path)",
            headers: headers,
            body: body.map { Array($0.utf8) } ?? []
        )
    }

    func get(
        _ path: String,
        as caller: Caller = .admin,
        at replica: Int = 0
    ) async throws -> HTTPClientResponse {
        try await send(.get, path, as: caller, at: replica)
    }

    func post(
        _ path: String,
        as caller: Caller = .admin,
        _ body: String,
        at replica: Int = 0
    ) async throws -> HTTPClientResponse {
        try await send(.post, path, as: caller, body, at: replica)
    }

    /// Reports one location and gives the status.
    @discardableResult
    func report(
        _ driver: UniqueID,
        _ report: ReportBody,
        at replica: Int = 0
    ) async throws -> Int {
        try await post("/api/v1/locations", as: .driver(driver), report.text, at: replica).status
    }

    // MARK: - Rows

    /// Works on the database from outside the feed.
    @discardableResult
    func query<Value: Sendable>(
        _ body: @escaping @Sendable (Connection) throws(DatabaseError) -> Value
    ) async throws -> Value {
        let pool = database.open(connections: 1)
        let result: Result<Value, DatabaseError>
        do throws(DatabaseError) {
            result = .success(try await pool.withConnection(body))
        } catch {
            result = .failure(error)
        }
        await pool.close()
        return try result.get()
    }

    /// One whole number of the database.
    func number(_ sql: String) async throws -> Int {
        try await query { connection throws(DatabaseError) in
            try connection.query(sql).one().int(0)
        }
    }

    /// Runs statements from outside the feed.
    func run(_ sql: String) async throws {
        try await query { connection throws(DatabaseError) in try connection.script(sql) }
    }
}

/// Runs replicas of the feed as their executable would assemble them, in this process.
func withDrivers(
    _ environment: [String: String] = [:],
    replicas count: Int = 1,
    clock: ManualClock = ManualClock(),
    database given: TestDatabase? = nil,
    schedule: @escaping @Sendable () -> ScheduleIndex? = { nil },
    _ body: (DriverWorld) async throws -> Void
) async throws {
    let database: TestDatabase
    if let given { database = given } else { database = try await feedDatabase() }
    let accounts = KnownAccounts()
    let tokens = TestTokens(clock: clock.application)
    var running: [RunningReplica] = []
    var outcome: Result<Void, any Error> = .success(())
    let client = HTTPClient()
    do {
        for _ in 0..<count {
            running.append(
                try await RunningReplica(environment, database, accounts, tokens, clock, schedule)
            )
        }
        try await body(
            DriverWorld(
                clock: clock,
                database: database,
                accounts: accounts,
                replicas: running.map(\.replica),
                client: client,
                tokens: tokens
            )
        )
    } catch {
        outcome = .failure(error)
    }
    client.close()
    for replica in running { await replica.stop() }
    try outcome.get()
}

/// A replica with what has to be stopped.
private struct RunningReplica {
    let replica: DriverWorld.Replica
    private let server: HTTPServer
    private let pool: Database
    private let tasks: [Task<Void, Never>]
    private let foundations: [Task<Void, Never>]

    init(
        _ environment: [String: String],
        _ database: TestDatabase,
        _ accounts: KnownAccounts,
        _ tokens: TestTokens,
        _ clock: ManualClock,
        _ schedule: @escaping @Sendable () -> ScheduleIndex?
    ) async throws {
        var environment = environment
        environment["DATABASE_URL"] = database.url
        environment["JWT_SECRET"] = TestTokens.secret.revealed()
        environment["GTFS_STATIC_URL"] = "unused"
        let settings = try Feed.definition.table.read(environment: environment)
        let metrics = Metrics()
        pool = database.open(role: Feed.schema.role)
        let intake = DriverIntake(
            DriverIntake.Surroundings(
                settings: settings,
                database: pool,
                writing: DatabaseConfiguration(url: database.url, role: Feed.schema.role),
                schedule: schedule,
                accounts: accounts.directory,
                verifiers: .absent,
                now: { clock.now },
                logger: .silent,
                metrics: metrics
            )
        )
        await intake.prepare()
        var sources = FeedPublisher.Sources()
        sources.drivers = { intake.tracker.live(at: $0) }
        let publisher = FeedPublisher(sources, metrics: metrics)
        publisher.tick(at: clock.now)
        let feed = FeedEndpoints(board: publisher.board, access: intake.feedAccess)
        server = try HTTPServer(
            endpoints: feed.all + intake.endpoints,
            authorizer: AccessAuthorizer(tokens: tokens.verifier([.staff]), apiKeys: intake.apiKeys)
        )
        tasks = intake.services.map { service in Task { try? await service.run() } }
        foundations = intake.foundations.map { service in Task { try? await service.run() } }
        replica = DriverWorld.Replica(
            port: try server.start(),
            intake: intake,
            publisher: publisher,
            metrics: metrics
        )
    }

    func stop() async {
        await server.shutdown(within: .seconds(1))
        for task in tasks + foundations { task.cancel() }
        for task in tasks + foundations { await task.value }
        await pool.close()
    }
}
