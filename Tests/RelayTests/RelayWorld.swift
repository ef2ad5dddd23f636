import AuthService
import Bus
import Database
import Foundation
import GroupsService
import ServiceKit
import Synchronization
import Telemetry
import TestKit
import Testing
import Transit
import Web

@testable import RelayService

/// Relays and groups as their executables run them, in this process, over a real database and bus.
final class RelayWorld: Sendable {
    static let postgres = ThrowawayPostgres(settings: ["fsync=off"])

    static let template = ThrowawayPostgres.Template("relay") { connection throws(DatabaseError) in
        let bus = ServiceSchema(BusMigrations.schema, migrations: BusMigrations.all)
        for schema in [bus, Auth.schema, Groups.schema, Relay.schema] {
            try Migrator.migrate(
                schema: schema.name,
                role: schema.role,
                migrations: schema.migrations,
                on: connection
            )
        }
    }

    let database: TestDatabase
    let http = HTTPClient()
    let tokens = TestTokens(clock: .live())
    let groups: RunningPart
    let relays: [any Part]
    let auth: RunningPart?
    private let turn = Atomic<Int>(0)

    private init(
        _ database: TestDatabase,
        _ groups: RunningPart,
        _ relays: [any Part],
        _ auth: RunningPart?
    ) {
        self.database = database
        self.groups = groups
        self.relays = relays
        self.auth = auth
    }

    /// Makes a world, and ends it after `body`.
    ///
    /// - Parameters:
    ///   - count: How many relays.
    ///   - areProcesses: Whether relays are processes of their own, which have the limits that are deployed
    ///     and can be killed.
    ///   - limits: The limits of relays in this process.
    ///   - uptime: What those limits are measured with.
    ///   - hears: Whether what other relays publish arrives at a relay in this process, by its number from 0 on.
    ///   - hasAuth: Whether auth runs, too.
    ///   - settings: Settings beside those that every part needs.
    ///   - body: The test.
    /// - Throws: What `body` throws, or ``Late`` when a part does not become ready.
    static func with(
        relays count: Int = 1,
        areProcesses: Bool = false,
        limits: RelayLimits = .inTests,
        uptime: ShiftedClock = ShiftedClock(),
        hears: @escaping @Sendable (Int) -> Bool = { _ in true },
        auth hasAuth: Bool = false,
        settings: [String: String] = [:],
        _ body: (RelayWorld) async throws -> Void
    ) async throws {
        let database = try await postgres.database(template)
        let folder = "/tmp/relay-bus-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let common = [
            "DATABASE_URL": database.url, "JWT_SECRET": TestTokens.secret.revealed(),
            "BUS_URL_PREFIX": "ipc://\(folder)/", "PORT": "0", "INTERNAL_PORT": "0",
            "TRUST_PROXY_HEADERS": "true",
        ]
        let environment = common.merging(settings) { _, given in given }
        let groups = RunningPart(Groups.definition, "groups-1", environment)
        let relays: [any Part] = try (1...count).map { number in
            let name = "relay-\(number)"
            if areProcesses {
                return try PartProcess("relay", name, environment, folder: folder)
            }
            let definition = Relay.definition(
                limits,
                uptime: { uptime.nanoseconds },
                hears: { hears(number - 1) }
            )
            return RunningPart(definition, name, environment)
        }
        let auth = hasAuth ? RunningPart(Auth.definition, "auth-1", environment) : nil
        let world = RelayWorld(database, groups, relays, auth)
        let outcome: Result<Void, any Error>
        do {
            for part in world.parts {
                try await world.waitUntilReady(part)
            }
            try await world.waitUntilAcquainted()
            outcome = .success(try await body(world))
        } catch {
            outcome = .failure(error)
        }
        for part in world.parts.reversed() { await part.stop() }
        world.http.close()
        try outcome.get()
    }

    /// The parts know each other when what one says reaches the others.
    private func waitUntilAcquainted() async throws {
        guard relays.count > 1 else { return }
        let scouts = try await relays.asyncMap { relay in
            try await LiveClient(port: relay.port, token: tokens.token(.member, handle: "scout"))
        }
        for relay in relays {
            try await eventually("relays know each other") {
                try await self.figure("relay_remote_riders_items", of: relay)
                    == Double(relays.count - 1)
            }
        }
        for scout in scouts { scout.abort() }
        for relay in relays {
            try await eventually("the scouts are gone") {
                try await self.figure("relay_remote_riders_items", of: relay) == 0
            }
        }
    }

    private var parts: [any Part] { [auth].compactMap { $0 } + [groups] + relays }

    private func waitUntilReady(_ part: any Part) async throws {
        try await eventually("\(part.name) is ready") { await self.isReady(part) }
    }

    /// Whether a part can do its job.
    func isReady(_ part: any Part) async -> Bool {
        let port = part.internalPort
        guard port > 0 else { return false }
        return (try? await http.get("http://127.0.0.1:\(port)/ready"))?.status == 200
    }

    // MARK: - People

    /// A person with a token that lasts for a time, whom groups knows.
    func person(_ handle: String, for lifetime: Duration = .seconds(900)) async throws -> Traveller
    {
        let id = UniqueID.random()
        let person = Traveller(
            id: id,
            handle: handle,
            token: tokens.token(.member, subject: id, lifetime: lifetime, handle: handle),
            world: self
        )
        #expect(try await person.get("/api/friends").status == 200)
        return person
    }

    /// A group of the first person, in which everyone shares.
    func group(_ kind: String, _ owner: Traveller, _ others: Traveller...) async throws -> String {
        try await group(kind, owner, others)
    }

    func group(_ kind: String, _ owner: Traveller, _ others: [Traveller]) async throws -> String {
        let id = try await owner.create(kind)
        if kind == "circles" { try await owner.share(id) }
        for other in others {
            try await owner.befriend(other)
            try await owner.invite(other, to: id)
            try await other.accept(id)
            if kind == "circles" { try await other.share(id) }
        }
        return id
    }

    /// Opens a socket, at each relay in turn.
    func connect(_ person: Traveller, at relay: Int? = nil) async throws -> LiveClient {
        let index = relay ?? turn.wrappingAdd(1, ordering: .relaxed).newValue % relays.count
        let others = relays.indices.filter { $0 != index }.map { relays[$0] }
        let heard = try await others.asyncMap { try await self.figure(Self.heard, of: $0) }
        let client = try await LiveClient(port: relays[index].port, token: person.token)
        // An answer proves that the socket is open and its groups are known.
        try await client.roundTrip()
        for (other, before) in zip(others, heard) {
            try await eventually("\(other.name) hears of a socket") {
                try await self.figure(Self.heard, of: other) > before
            }
        }
        return client
    }

    /// Open sockets of the first relay, as of its last tick.
    func sockets() async throws -> Double { try await figure("relay_open_sockets", of: relays[0]) }

    private static let heard = "relay_presence_heard_total"

    /// A figure of a process's metrics; its labels belong to the name.
    func figure(_ name: String, of part: any Part) async throws -> Double {
        let answer = try await http.get("http://127.0.0.1:\(part.internalPort)/metrics")
        let text = String(decoding: answer.body, as: UTF8.self)
        let line = text.split(separator: "\n").first { $0.hasPrefix(name + " ") }
        return line.flatMap { Double($0.split(separator: " ").last ?? "") } ?? -1
    }
}

extension RelayLimits {
    /// What tests wait for comes sooner; everything else is as it is deployed.
    static var inTests: RelayLimits {
        var limits = RelayLimits()
        limits.sweepInterval = .seconds(1)
        limits.tickInterval = .milliseconds(50)
        limits.clientInterval = .milliseconds(50)
        limits.storeInterval = .milliseconds(100)
        limits.closeLimit = .milliseconds(500)
        return limits
    }
}

extension Array where Element: Sendable {
    /// Transforms one after the other.
    func asyncMap<Value>(_ body: (Element) async throws -> Value) async throws -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await body(element)) }
        return values
    }
}

/// Someone with a token, and what they do over HTTP.
struct Traveller: Sendable {
    let id: UniqueID
    let handle: String
    let token: String
    let world: RelayWorld

    func send(
        _ method: HTTPMethod,
        _ path: String,
        _ body: String = ""
    ) async throws -> (status: Int, json: JSON) {
        let answer = try await world.http.send(
            method,
            "http://127.0.0.1:\(world.groups.port)\(path)",
            headers: [
                ("Authorization", "Bearer \(token)"), ("Content-Type", "application/json"),
                ("X-Forwarded-For", address),
            ],
            body: Array(body.utf8)
        )
        return (answer.status, JSON(answer.body))
    }

    /// An address of each one's own: a crowd behind one would meet that address's limit.
    private var address: String {
        let low = id.low
        return "10.\(low & 0xFF).\(low >> 8 & 0xFF).\(low >> 16 & 0xFF)"
    }

    func get(_ path: String) async throws -> (status: Int, json: JSON) {
        try await send(.get, path)
    }

    func create(_ kind: String) async throws -> String {
        let answer = try await send(.post, "/api/\(kind)", "{\"name\":\"Trip\"}")
        return try #require(answer.json["id"].string, "\(answer)")
    }

    func befriend(_ other: Traveller) async throws {
        _ = try await send(.post, "/api/friends/requests", "{\"username\":\"\(other.handle)\"}")
        _ = try await other.send(.post, "/api/friends/requests", "{\"username\":\"\(handle)\"}")
    }

    func invite(_ other: Traveller, to group: String) async throws {
        let answer = try await send(
            .post,
            "/api/groups/\(group)/invitations",
            "{\"username\":\"\(other.handle)\"}"
        )
        #expect(answer.status == 200, "\(answer)")
    }

    func accept(_ group: String) async throws {
        let answer = try await send(
            .post,
            "/api/groups/\(group)/invitations/respond",
            "{\"accept\":true}"
        )
        #expect(answer.status == 200, "\(answer)")
    }

    func share(_ group: String, _ sharing: Bool = true) async throws {
        let answer = try await send(
            .put,
            "/api/circles/\(group)/sharing",
            "{\"sharing\":\(sharing)}"
        )
        #expect(answer.status == 200, "\(answer)")
    }

    func leave(_ group: String) async throws {
        #expect(try await send(.delete, "/api/groups/\(group)/membership").status == 204)
    }

    func unfriend(_ other: Traveller) async throws {
        #expect(try await send(.delete, "/api/friends/\(other.id)").status == 204)
    }

    func postFix(_ latitude: Double) async throws {
        #expect(
            try await send(.post, "/api/me/fix", "{\"latitude\":\(latitude),\"longitude\":8}")
                .status == 204
        )
    }
}
