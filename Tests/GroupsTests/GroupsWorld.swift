import Bus
import Database
import Messages
import ServiceKit
import Synchronization
import Telemetry
import TestKit
import Testing
import Transit
import Web

@testable import GroupsService

/// A database with any number of groups processes over it, on a clock that the test moves.
final class GroupsWorld: Sendable {
    /// Outlives every crash but that of the machine, and so is quick.
    static let postgres = ThrowawayPostgres(settings: ["fsync=off"])

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

/// One running groups process: a real server over a pool of its own.
final class GroupsProcess: Sendable {
    /// What a process is given.
    struct Outside {
        let clock: ManualClock
        let directory: FakeDirectory
        let transport: LiveNews.Transport
        let limits: RequestLimits
        let http: HTTPClient
    }

    let port: Int
    let desk: GroupsDesk
    let endpoints: [Endpoint]
    let housekeeping: Housekeeping
    let metrics = Metrics()
    let http: HTTPClient
    let log: LogLines
    private let pool: Database
    private let server: HTTPServer

    init(_ database: TestDatabase, connections: Int, _ outside: Outside) throws {
        pool = database.open(connections: connections, role: Groups.schema.role)
        http = outside.http
        let lines = LogLines()
        log = lines
        let logger = Logger(level: .debug, sink: { _, line in lines.add(line) })
        let parts = GroupsParts(
            GroupsParts.Surroundings(
                database: pool,
                clock: outside.clock.application,
                directory: outside.directory,
                transport: outside.transport,
                limits: outside.limits,
                logger: logger,
                metrics: metrics
            )
        )
        desk = parts.desk
        endpoints = parts.endpoints
        housekeeping = parts.housekeeping
        server = try HTTPServer(
            endpoints: parts.endpoints,
            authorizer: TestTokens(clock: outside.clock.application).verifier([.member]),
            logger: logger
        )
        port = try server.start()
    }

    func close() async {
        await server.shutdown(within: .seconds(1))
        await pool.close()
    }
}

extension RequestLimits {
    /// Limits that no test meets by accident.
    static var none: RequestLimits {
        let rate = Rate(burst: 1e9, perSecond: 1e9)
        return RequestLimits(address: rate, account: rate)
    }
}

/// What a process logged.
final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])

    func add(_ line: String) { lines.withLock { $0.append(line) } }

    var text: String { lines.withLock { $0.joined() } }
}

/// An auth that knows whom a test names.
final class FakeDirectory: AccountDirectory {
    private struct State {
        var members: [String: Account] = [:]
        var isAway = false
        var asked: [String] = []
    }

    private let state = Mutex(State())

    /// The handles that were looked up.
    var asked: [String] { state.withLock { $0.asked } }

    func add(_ person: Person) {
        guard let handle = Handle(person.handle) else { return }
        state.withLock {
            $0.members[person.handle.lowercased()] = Account(id: person.id, handle: handle)
        }
    }

    func setAway(_ isAway: Bool) { state.withLock { $0.isAway = isAway } }

    func member(
        named handle: Handle,
        trace: TraceID
    ) async throws(AccountDirectoryError) -> Account? {
        let answer: Result<Account?, AccountDirectoryError> = state.withLock { state in
            state.asked.append(handle.text)
            return state.isAway
                ? .failure(AccountDirectoryError())
                : .success(state.members[handle.text.lowercased()])
        }
        return try answer.get()
    }
}

/// Relays that confirm what they are asked, and remember everything they hear.
final class FakeRelays: Sendable {
    private struct State {
        var names = ["relay-1"]
        var asked: [[Withdrawal]] = []
        var changes: [GroupChange] = []
        var fixes: [LiveFix] = []
        var events: [PlaceEventNotice] = []
        var onAsk: @Sendable (String, [Withdrawal]) async throws(BusError) -> Void = { _, _ in }
    }

    private let state = Mutex(State())

    var asked: [[Withdrawal]] { state.withLock { $0.asked } }
    var withdrawals: [Withdrawal] { asked.flatMap { $0 } }
    var changes: [GroupChange] { state.withLock { $0.changes } }
    var fixes: [LiveFix] { state.withLock { $0.fixes } }
    var events: [PlaceEventNotice] { state.withLock { $0.events } }

    func setNames(_ names: [String]) { state.withLock { $0.names = names } }

    /// Runs `body` before a relay answers; throwing is its answer.
    func onAsk(
        _ body: @escaping @Sendable (String, [Withdrawal]) async throws(BusError) -> Void
    ) {
        state.withLock { $0.onAsk = body }
    }

    /// Forgets what was heard.
    func clear() {
        state.withLock {
            $0.asked = []
            $0.changes = []
            $0.fixes = []
            $0.events = []
        }
    }

    var transport: LiveNews.Transport {
        LiveNews.Transport(
            publish: { topic, _, body, _ in self.heard(topic, body) },
            relays: { self.state.withLock { $0.names } },
            ask: { body, instance, _, _ throws(BusError) in
                guard let request = try? RelayRequest(decoding: body),
                    case .takeAway(let withdrawals) = request.body
                else { throw .configuration("not a request to take away") }
                let onAsk = self.state.withLock { $0.onAsk }
                try await onAsk(instance, withdrawals)
                self.state.withLock { $0.asked.append(withdrawals) }
                return RelayReply(to: request, .takenAway).encoded()
            }
        )
    }

    private func heard(_ topic: String, _ body: [UInt8]) {
        state.withLock { state in
            switch topic {
            case BusTopics.groupChanges:
                if let change = try? GroupChange(decoding: body) { state.changes.append(change) }
            case BusTopics.liveFixes:
                if let fix = try? LiveFix(decoding: body) { state.fixes.append(fix) }
            case BusTopics.placeEvents:
                if let event = try? PlaceEventNotice(decoding: body) {
                    state.events.append(event)
                }
            default: Issue.record("an unknown topic \(topic)")
            }
        }
    }
}
