internal import Bus
internal import Database
internal import Glibc
internal import Synchronization
internal import Telemetry
internal import Transit
internal import Web

/// One run of a service: brings its surroundings up, runs its parts, takes everything down.
struct ServiceProcess: Sendable {
    /// Pause between two looks for a database that is away at the start.
    private static let databasePause = Duration.milliseconds(250)

    private let definition: ServiceDefinition
    private let settings: Settings
    private let standard: StandardSettings
    private let instance: String
    private let logger: Logger
    private let metrics = Metrics()
    private let readiness = ReadinessBoard()
    private let output: RunnerOutput

    init(_ definition: ServiceDefinition, _ settings: Settings, _ output: RunnerOutput) {
        self.definition = definition
        self.settings = settings
        self.output = output
        standard = StandardSettings(definition)
        let random = String(UInt32.random(in: .min ... .max), radix: 16)
        instance = settings[StandardSettings.instance] ?? "\(definition.name)-\(random)"
        logger = Logger(level: settings[StandardSettings.logLevel], sink: output.log)
            .with(["service.name": .text(definition.name), "service.instance": .text(instance)])
    }

    func run(stops: AsyncStream<Int32>) async -> Int32 {
        for warning in settings.warnings {
            logger.warning("setting needs attention", ["setting.warning": .text(warning)])
        }
        if !definition.isBuilt { readiness.setNotBuilt() }
        readiness.set("start", notReady: "starting")
        addProcessMetrics(service: definition.name, readiness: readiness, to: metrics)

        let undo = UndoList()
        let starting = Task { try await start(undo) }
        let (passedOn, sink) = AsyncStream<Int32>.makeStream()
        let listening = Task {
            for await signal in stops {
                readiness.set("start", notReady: "stopping")
                starting.cancel()
                sink.yield(signal)
            }
        }
        defer { listening.cancel() }
        do {
            let services = try await starting.value
            logger.info("started", ["service.version": .text(ProductVersion.current)])
            let code = await ServiceGroup(services, logger: logger).run(stops: passedOn)
            logger.info("stopped", ["exit.code": .integer(Int(code))])
            return code
        } catch is CancellationError {
            await undo.run()
            logger.info("stopped before it was started")
            return 0
        } catch {
            await undo.run()
            output.complain("\(definition.name): cannot start: \(error)\n")
            return 1
        }
    }

    /// Starts everything in order; what was opened is in `undo` when it throws.
    private func start(_ undo: UndoList) async throws -> [any Service] {
        let inside = try startInternalServer(undo)
        let database = try await openDatabase(undo)
        let clock = try await makeClock(database?.pool)
        let bus = try makeBus(database)
        let tokens = makeTokens(database?.pool, bus, clock)
        let context = ServiceContext(
            instance: instance,
            settings: settings,
            logger: logger,
            metrics: metrics,
            clock: clock,
            readiness: readiness,
            optionalTokens: tokens,
            optionalDatabase: database,
            optionalBus: bus
        )
        let parts = try await definition.build(context)
        var services = [inside]
        if let pool = database?.pool {
            services.append(ClosingService("database") { await pool.close() })
        }
        if let tokens { services.append(tokens.service) }
        services += parts.foundations
        if let bus {
            if let pool = database?.pool {
                do {
                    try await InstanceClaim.check(instance, in: pool)
                } catch {
                    throw StartFault("\(error)")
                }
            }
            do { try bus.start() } catch { throw StartFault("\(error)") }
            undo.add { await bus.shutdown() }
            services.append(ClosingService("bus") { await bus.shutdown() })
        }
        services += parts.services
        // Before anybody can call: until then no token could be judged.
        await tokens?.revocations.look()
        if let publicServer = try startPublicServer(parts, tokens?.verifier, undo) {
            services.append(publicServer)
        }
        try Task.checkCancellation()
        readiness.set("start", notReady: nil)
        return services
    }

    // MARK: - HTTP

    private func startInternalServer(_ undo: UndoList) throws -> any Service {
        let configuration = HTTPServerConfiguration(
            host: settings[StandardSettings.internalHost],
            port: settings[standard.internalPort]
        )
        let server = try HTTPServer(
            endpoints: internalEndpoints(
                service: definition.name,
                readiness: readiness,
                metrics: metrics
            ),
            configuration: configuration,
            logger: logger
        )
        return try start(server, "internal-http", setting: standard.internalPort.key, undo)
    }

    private func startPublicServer(
        _ parts: ServiceParts,
        _ verifier: TokenVerifier?,
        _ undo: UndoList
    ) throws -> (any Service)? {
        guard let port = standard.port else { return nil }
        var configuration = HTTPServerConfiguration(
            host: settings[StandardSettings.host],
            port: settings[port]
        )
        if let limit = parts.maximumConnections { configuration.maximumConnections = limit }
        configuration.maximumUnfinishedBodies = parts.maximumUnfinishedBodies
        if let limit = parts.maximumWaitingRequests { configuration.maximumWaitingRequests = limit }
        configuration.trustsProxyHeaders = settings[StandardSettings.trustsProxy]
        configuration.headTimeLimit = settings[StandardSettings.readTimeout]
        configuration.bodyTimeLimit = settings[StandardSettings.readTimeout]
        configuration.answerTimeLimit = settings[StandardSettings.writeTimeout]
        configuration.idleTimeLimit = settings[StandardSettings.idleTimeout]
        let tokens: any Authorizer = parts.authorizer ?? verifier ?? NoAuthorizer()
        let server = try HTTPServer(
            endpoints: parts.endpoints,
            configuration: configuration,
            authorizer: parts.apiKeys.map { AccessAuthorizer(tokens: tokens, apiKeys: $0) }
                ?? tokens,
            logger: logger,
            metrics: metrics
        )
        return try start(server, "http", setting: port.key, undo)
    }

    private func start(
        _ server: HTTPServer,
        _ name: String,
        setting: String,
        _ undo: UndoList
    ) throws -> any Service {
        do throws(HTTPServerError) {
            let port = try server.start()
            logger.info("listening", ["server.name": .text(name), "server.port": .integer(port)])
        } catch {
            throw StartFault("\(error) (\(setting))")
        }
        undo.add { await server.shutdown(within: .zero) }
        return ClosingService(name) { await server.shutdown(within: ServiceRunner.drainTime) }
    }

    // MARK: - Database, clock, bus

    private typealias OpenDatabase = (pool: Database, configuration: DatabaseConfiguration)

    private func openDatabase(_ undo: UndoList) async throws -> OpenDatabase? {
        guard standard.needsDatabase else { return nil }
        let own = settings[standard.ownDatabaseURL]
        guard let url = own ?? settings[StandardSettings.databaseURL] else { return nil }
        let configuration = DatabaseConfiguration(
            url: url.revealed(),
            role: own == nil ? definition.schema?.role : nil,
            schema: definition.schema?.name,
            connections: settings[StandardSettings.databaseConnections],
            applicationName: instance
        )
        let pool = Database(configuration, logger: logger, metrics: metrics)
        undo.add { await pool.close() }
        try await waitFor(pool)
        readiness.check {
            guard pool.isConnected else {
                return .notReady("database: no connection, trying again")
            }
            return configuration.want.current.map { .notReady("database: \($0)") } ?? .ready
        }
        return (pool, configuration)
    }

    /// Waits for a database that is starting, restarting or being migrated, within a bound.
    private func waitFor(_ pool: Database) async throws {
        let gate = DatabaseGate(schema: definition.schema)
        let deadline = ContinuousClock.now + settings[StandardSettings.databaseWait]
        var last: String?
        while let obstacle = await gate.obstacle(pool) {
            try Task.checkCancellation()
            guard obstacle.mayPass, ContinuousClock.now < deadline else {
                throw StartFault(obstacle.sentence)
            }
            if obstacle.sentence != last {
                logger.warning("waiting for the database", ["error": .text(obstacle.sentence)])
                last = obstacle.sentence
            }
            readiness.set("database", notReady: obstacle.sentence)
            try await Task.sleep(for: Self.databasePause)
        }
        readiness.set("database", notReady: nil)
    }

    private func makeClock(_ pool: Database?) async throws -> ApplicationClock {
        let start = settings[FleetClock.start]
        let now = ApplicationClock.live().now()
        var offset = start.map { $0 - now }
        if let pool {
            do {
                offset = try await pool.withConnection {
                    connection throws(DatabaseError) -> Int64? in
                    guard let start else { return try FleetClock.fixedOffset(on: connection) }
                    return try FleetClock.offsetSeconds(start: start, now: now, on: connection)
                }
            } catch {
                throw StartFault("the fleet's clock cannot be read from bus.clock: \(error)")
            }
        }
        guard let offset else { return .live() }
        logger.warning(
            "the application clock is shifted",
            [
                "clock.offset_seconds": .integer(Int(offset)),
                "clock.now": .text(Timestamps.text(ofSeconds: now + offset)),
                "clock.hint": "delete the row in bus.clock to shift the fleet anew",
            ]
        )
        return .live(offsetSeconds: offset)
    }

    private func makeTokens(
        _ pool: Database?,
        _ bus: Bus?,
        _ clock: ApplicationClock
    ) -> ProcessTokens? {
        guard let keys = standard.keyRing(settings), let pool else { return nil }
        return ProcessTokens(
            keys,
            pool: pool,
            bus: bus,
            clock: clock,
            readiness: readiness,
            logger: logger,
            metrics: metrics
        )
    }

    private func makeBus(_ database: OpenDatabase?) throws -> Bus? {
        guard definition.usesBus else { return nil }
        do {
            var curve: CurveKeys?
            if let secretKey = settings[StandardSettings.busSecretKey]?.revealed() {
                curve =
                    if let publicKey = settings[StandardSettings.busPublicKey] {
                        try CurveKeys(publicKey: publicKey, secretKey: secretKey)
                    } else {
                        try CurveKeys(secretKey: secretKey)
                    }
            }
            let configuration = BusConfiguration(
                service: definition.name,
                instance: instance,
                urlPrefix: settings[StandardSettings.busPrefix],
                advertiseHost: settings[StandardSettings.busHost],
                curve: curve
            )
            return try Bus(
                configuration,
                directory: directory(database),
                logger: logger,
                metrics: metrics
            )
        } catch {
            throw StartFault("\(error)")
        }
    }

    private func directory(_ database: OpenDatabase?) throws(BusError) -> any InstanceDirectory {
        let rows = database.map { database in
            PostgresDirectory(
                database.pool,
                listening: database.configuration,
                logger: logger,
                metrics: metrics
            )
        }
        guard let peers = settings[StandardSettings.busPeers] else {
            if let rows { return rows }
            return try StaticDirectory(parsing: "")
        }
        return try StaticDirectory(parsing: peers, over: rows)
    }
}

/// A start that cannot go on; the sentence says what to do next.
struct StartFault: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// What a failed start has to close, the last opened first.
private final class UndoList: Sendable {
    private let steps = Mutex<[@Sendable () async -> Void]>([])

    func add(_ step: @escaping @Sendable () async -> Void) {
        steps.withLock { $0.append(step) }
    }

    func run() async {
        let all = steps.withLock { $0 }
        for step in all.reversed() { await step() }
    }
}

/// Writes text with as many calls as it takes; nothing is buffered in this process.
func writeAll(_ text: String, to descriptor: Int32) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
        let written = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        guard written > 0 else { return }
        rest = rest.dropFirst(written)
    }
}
