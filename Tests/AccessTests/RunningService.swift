import Database
import Foundation
import Synchronization
import TestKit
import Testing

@testable import Operations
@testable import ServiceKit
@testable import Web

/// A service as its executable runs it, in this process and on free ports.
///
/// Its handlers may be replaced by one that only says that it was reached. Everything in front of a
/// handler is real all the same: settings, key ring, revocations, authorizer, router and server.
final class RunningService: Sendable {
    /// The body of every request that a replaced handler answers.
    static let admitted = "admitted"

    private struct State {
        var output = ""
        var endpoints: [Endpoint] = []
        var task: Task<Int32, Never>?
    }

    let definition: ServiceDefinition
    private let replacesHandlers: Bool
    private let state = Mutex(State())
    private let stops = AsyncStream<Int32>.makeStream()

    private init(_ definition: ServiceDefinition, replacesHandlers: Bool) {
        self.definition = definition
        self.replacesHandlers = replacesHandlers
    }

    /// Starts a service.
    ///
    /// - Parameters:
    ///   - definition: The service.
    ///   - fleet: Where database and bus are.
    ///   - environment: What is set besides.
    ///   - replacesHandlers: Whether its handlers only say that they were reached.
    /// - Returns: The service, once it listens, and the port of its public server.
    /// - Throws: With all it has logged, when it does not start.
    static func start(
        _ definition: ServiceDefinition,
        in fleet: TestFleet,
        environment: [String: String] = [:],
        replacesHandlers: Bool = true
    ) async throws -> (RunningService, port: Int) {
        let service = RunningService(definition, replacesHandlers: replacesHandlers)
        var all = fleet.environment
        all["INSTANCE_ID"] = "\(definition.name)-\(UInt32.random(in: 0 ... .max))"
        all.merge(environment) { _, given in given }
        let task = Task { [all] in await service.run(all) }
        service.state.withLock { $0.task = task }
        return (service, try await service.port())
    }

    /// What the service offers, in its own words.
    var endpoints: [Endpoint] { state.withLock { $0.endpoints } }

    /// Stops it as SIGTERM would.
    func stop() async {
        stops.continuation.yield(15)
        let code = await state.withLock { $0.task }?.value
        #expect(code == 0, "\(definition.name): \(output)")
    }

    // MARK: - Details

    private var output: String { state.withLock { $0.output } }

    private func run(_ environment: [String: String]) async -> Int32 {
        await ServiceRunner.run(
            observed,
            arguments: [],
            environment: environment,
            stops: stops.stream,
            output: RunnerOutput { text in self.state.withLock { $0.output += text } }
        )
    }

    /// The service, whose endpoints are noted when it is built.
    private var observed: ServiceDefinition {
        let definition = definition
        let replacesHandlers = replacesHandlers
        return ServiceDefinition(
            name: definition.name,
            summary: definition.summary,
            publicPort: definition.publicPort,
            internalPort: definition.internalPort,
            keyFamilies: definition.keyFamilies,
            signsTokens: definition.signsTokens,
            schema: definition.schema,
            usesBus: definition.usesBus,
            isBuilt: definition.isBuilt,
            settings: definition.settings,
            rules: definition.rules
        ) { context in
            var parts = try await definition.build(context)
            self.state.withLock { [endpoints = parts.endpoints] in $0.endpoints = endpoints }
            guard replacesHandlers else { return parts }
            parts.endpoints = parts.endpoints.map { endpoint in
                Endpoint(
                    endpoint.method,
                    endpoint.pattern,
                    access: endpoint.access,
                    inline: { _ in .text(Self.admitted) }
                )
            }
            return parts
        }
    }

    /// The port of the public server, once the service has started.
    private func port() async throws -> Int {
        try await eventually("\(definition.name) starts: \(output)") { startedPort != nil }
        return try #require(startedPort)
    }

    private var startedPort: Int? {
        let lines = output.split(separator: "\n")
        guard lines.contains(where: { $0.contains("\"message\":\"started\"") }),
            let line = lines.first(where: { $0.contains("\"server.name\":\"http\"") }),
            let match = line.firstMatch(of: #/"server\.port":(\d+)/#)
        else { return nil }
        return Int(match.1)
    }
}

struct StartFailure: Error, CustomStringConvertible {
    let description: String
}

/// The surroundings of services under test: a database with every schema, and a place for the bus.
final class TestFleet: Sendable {
    let database: TestDatabase
    private let folder: String

    /// Makes them, as `alongside migrate` leaves the database.
    init() async throws {
        let template = ThrowawayPostgres.Template("fleet") { connection throws(DatabaseError) in
            for schema in Fleet.schemas {
                try Migrator.migrate(
                    schema: schema.name,
                    role: schema.role,
                    migrations: schema.migrations,
                    on: connection
                )
            }
        }
        database = try await ThrowawayPostgres.shared.database(template)
        folder = "/tmp/alongside-access-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: false
        )
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// What every service is told.
    var environment: [String: String] {
        [
            "DATABASE_URL": database.url,
            "JWT_SECRET": TestTokens.secret.revealed(),
            "BUS_URL_PREFIX": "ipc://\(folder)/",
            "GTFS_STATIC_URL": ProjectPaths.root + "/deploy/demo/raba.gtfs.zip",
            "PORT": "0", "INTERNAL_PORT": "0",
        ]
    }

    /// Runs every service that has public endpoints, one after another, with replaced handlers.
    ///
    /// The endpoints are the service's own list, so a new one is there without a change in a test.
    func eachService(
        _ body: (ServiceDefinition, [Endpoint], _ port: Int) async throws -> Void
    ) async throws {
        for definition in Fleet.definitions where definition.publicPort != nil {
            let (service, port) = try await RunningService.start(definition, in: self)
            let outcome: Result<Void, any Error>
            do {
                outcome = .success(try await body(definition, service.endpoints, port))
            } catch {
                outcome = .failure(error)
            }
            await service.stop()
            try outcome.get()
        }
    }
}

extension Endpoint {
    /// A path that the pattern matches.
    var examplePath: String {
        pattern.split(separator: "/", omittingEmptySubsequences: false).map { segment in
            guard segment.first == "{" else { return String(segment) }
            return segment.hasSuffix("...}") ? "x/y" : "11111111-1111-4111-8111-111111111111"
        }
        .joined(separator: "/")
    }
}
