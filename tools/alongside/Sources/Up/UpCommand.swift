internal import AuthService
internal import Bus
internal import CLinux
internal import FoundationEssentials
internal import Glibc
internal import ServiceKit
internal import Telemetry
internal import Transit
internal import Web

/// `alongside up`: the whole product on one machine and one port.
///
/// It runs on the thread that calls ``run(stop:)``, which must be the main thread: every child ends
/// with it. The stop goes outside in: riders, gateway, services, then the private PostgreSQL.
final class UpCommand {
    /// How long the services may take to become ready.
    static let startLimitSeconds = 120.0
    private static let gatewayName = "gateway"
    /// How often a part may end before it was ready: once can be a port that somebody took meanwhile.
    static let startAttempts = 3
    /// How long the main loop waits for a signal before it looks after its children again.
    static let tickMilliseconds = 100

    private let settings: Settings
    private let environment: [String: String]
    private let isDemo: Bool
    private let say: (String) -> Void
    private let logger: Logger
    private let supervisor: Supervisor
    private let board = ReadyBoard()

    init(
        _ settings: Settings,
        environment: [String: String],
        isDemo: Bool,
        say: @escaping (String) -> Void
    ) {
        self.settings = settings
        self.environment = environment
        self.isDemo = isDemo
        self.say = say
        logger = Logger(level: .info).with(["service.name": "alongside"])
        supervisor = Supervisor(logger: logger)
    }

    /// Brings everything up, keeps it up, and takes it down after a signal.
    ///
    /// - Parameter signals: Blocked before any thread was started.
    /// - Throws: ``OperationError`` saying what to do next; nothing is left running then.
    func run(signals: inout SignalWait) throws(OperationError) {
        let installation = try Installation(environment: environment)
        let routes = try RouteTable(file: installation.routes)
        try routes.check(against: Fleet.definitions.map(\.name))
        let port = settings[UpSettings.port]
        let bind = settings[UpSettings.bind]
        let folder = try DataFolder(opening: settings[UpSettings.data])
        // Before the port: who starts the same thing twice hears that it runs, not that a port is taken.
        let lock = try folder.lock(port: port)
        defer { close(lock) }
        let site = PublicSite(settings)
        if let obstacle = LoopbackPort.obstacle(to: port, on: bind)
            ?? site?.obstacle(beside: port)
        {
            throw OperationError(obstacle)
        }

        let riders =
            isDemo ? try DemoRiders(installation, folder, environment: environment) : nil
        let own = settings[UpSettings.databaseURL]
        let postgres = own == nil ? try PrivatePostgres(in: folder) : nil
        let schedule = UpSchedule(settings, folder)
        var isFirst = postgres?.hasData == false
        if let own { isFirst = try !UpSchedule.isArchived(in: own.revealed()) }
        let look = try schedule.check(isFirst: isFirst, &signals, say: say)
        if case .stopped = look { return }
        let temporary = try TemporaryFolders(of: folder, postgres)
        defer { temporary.remove() }
        let url = own?.revealed() ?? postgres?.url ?? ""
        let shared = try sharedEnvironment(folder, url, schedule.location)
        try startDatabase(postgres)
        defer { stop(postgres) }
        if isStopped(&signals) { return }
        try migrate(url, isPrivate: postgres != nil)
        if isStopped(&signals) { return }
        let time = try FleetTime(url, environment: environment)
        if let warning = time.warning { say("warning: \(warning)") }
        for warning in look.warnings(at: time.clock.now()) {
            say("warning: \(schedule.location): \(warning)")
        }
        if isDemo, !schedule.isGiven {
            try ScheduleCommand.rebase(
                from: installation.demoSchedule,
                to: schedule.location,
                now: time.clock.now(),
                secondsOfDay: nil
            )
        }

        if isStopped(&signals) { return }
        defer { supervisor.stop() }
        let ready = try startOwnServer()
        defer { ready.task.cancel() }
        let admin = try FirstAdmin(settings, environment: environment, folder) {
            email,
            password throws(OperationError) in
            try FirstAdmin.standing(of: email, password: password, in: url)
        }
        let upstreams = try startServices(installation, folder, shared, admin, postgres)
        let gateway = Gateway(
            routes: routes,
            upstreams: upstreams.mapValues { .addresses($0) },
            site: .local(bind: bind, port: port, supervisor: "127.0.0.1:\(ready.port)"),
            isAlsoPublished: site != nil
        )
        try startGateway(gateway, folder, site?.environment ?? [:])
        guard try waitUntilReady(folder, &signals) else { return }
        board.set("up", notReady: nil)
        let address = GatewayAddress(bind: bind, port: port)
        announce(folder, address.shownURL, admin)
        if let site { say("the public reaches it as \(site.address), port \(site.httpsPort)") }
        if let riders {
            try supervisor.add(
                riders.program(
                    schedule: schedule.location,
                    url: address.url,
                    clockOffset: time.offsetSeconds
                )
            )
            say(riders.announcement)
        }
        var watch = postgres.map { DatabaseWatch($0, say: say) }
        while !isStopped(&signals, within: Self.tickMilliseconds) {
            supervisor.tick()
            watch?.tick()
        }
        ready.task.cancel()
    }

    /// Whether a signal has come, and says so.
    private func isStopped(_ signals: inout SignalWait, within milliseconds: Int = 0) -> Bool {
        guard signals.wait(milliseconds: milliseconds) != nil else { return false }
        say("\nstopping: gateway, services, database")
        return true
    }

    // MARK: - Database

    private func startDatabase(_ postgres: PrivatePostgres?) throws(OperationError) {
        guard let postgres else { return }
        let wasRunning = try postgres.start()
        if wasRunning { say("adopted the private PostgreSQL of an earlier run") }
        do throws(OperationError) {
            try postgres.makeDatabase()
        } catch {
            try? postgres.stop()
            throw error
        }
    }

    private func stop(_ postgres: PrivatePostgres?) {
        guard let postgres else { return }
        do throws(OperationError) {
            try postgres.stop()
        } catch {
            logger.error("the private database does not stop", ["error": .text("\(error)")])
        }
    }

    private func migrate(_ url: String, isPrivate: Bool) throws(OperationError) {
        let applied = try wait {
            let applied = try await Fleet.migrate(url)
            if isPrivate { try await Logins.local.allow(in: url) }
            return applied
        }
        if !applied.isEmpty { say("database prepared: \(applied.count) migrations") }
    }

    // MARK: - Programs

    private func startOwnServer() throws(OperationError) -> (port: Int, task: Task<Void, Never>) {
        board.set("up", notReady: "starting")
        do {
            let server = try HTTPServer(
                endpoints: [board.endpoint],
                configuration: HTTPServerConfiguration(host: "127.0.0.1", port: 0),
                logger: logger
            )
            let port = try server.start()
            let board = board
            // The task holds the server: it answers as long as the task runs.
            let task = Task {
                await board.run()
                await server.shutdown(within: .zero)
            }
            return (port, task)
        } catch {
            throw OperationError("cannot answer /ready: \(error)")
        }
    }

    private func sharedEnvironment(
        _ folder: DataFolder,
        _ url: String,
        _ schedule: String
    ) throws(OperationError) -> [String: String] {
        var shared = environment
        shared["PORT"] = nil
        shared["DATABASE_URL"] = url
        shared["GTFS_STATIC_URL"] = schedule
        shared["TRUST_PROXY_HEADERS"] = "true"
        for key in FirstAdmin.keys { shared[key] = nil }
        if settings[UpSettings.jwtSecret] == nil {
            shared["JWT_SECRET_FILE"] = try folder.secret("jwt-secret").path
        }
        let prefix = settings[UpSettings.busPrefix] ?? ""
        if prefix.isEmpty {
            let sockets = PrivateFolder.sockets(of: folder.path)
            try PrivateFolder.make(sockets, owner: geteuid(), group: getegid())
            // A killed process leaves its sockets behind; no process of ours is alive at this point.
            PrivateFolder.empty(sockets)
            shared["BUS_URL_PREFIX"] = "ipc://\(sockets)/"
        } else if prefix.hasPrefix("tcp://"), settings[UpSettings.busPublicKey] == nil {
            let keys = try BusKeys.kept(in: folder)
            shared["BUS_CURVE_PUBLIC_KEY"] = keys.publicKey
            shared["BUS_CURVE_SECRET_KEY"] = keys.secretKey
        }
        if isDemo, shared["RIDER_REGISTRATION_LIMIT"] == nil {
            // Ten simulated riders come from one address at once.
            shared["RIDER_REGISTRATION_LIMIT"] = "60"
        }
        if isDemo, shared["RIDER_WITNESS_CHECKS"] == nil {
            // They are one script, which is what the checks are there to find.
            shared["RIDER_WITNESS_CHECKS"] = "count"
        }
        return shared
    }

    private func secret(_ folder: DataFolder) throws(OperationError) -> Secret {
        if let secret = settings[UpSettings.jwtSecret] { return secret }
        return Secret(try folder.secret("jwt-secret").value)
    }

    private func startServices(
        _ installation: Installation,
        _ folder: DataFolder,
        _ shared: [String: String],
        _ admin: FirstAdmin,
        _ postgres: PrivatePostgres?
    ) throws(OperationError) -> [String: [String]] {
        var upstreams: [String: [String]] = [:]
        // Asked for at once: a port that was given back may be given out again.
        let instances = Fleet.definitions.reduce(0) { $0 + Fleet.count(of: $1.name, settings) }
        var free = try LoopbackPort.free(2 * instances)[...]
        let keys = ServiceKeys(settings, secret: try secret(folder))
        for definition in Fleet.definitions {
            for number in 1...Fleet.count(of: definition.name, settings) {
                let name = "\(definition.name)-\(number)"
                let ports = Array(free.prefix(2))
                free = free.dropFirst(2)
                var environment = keys.environment(shared, for: definition)
                postgres?.logIn(definition, with: &environment)
                environment["INSTANCE_ID"] = name
                environment["INTERNAL_PORT"] = String(ports[0])
                if definition.name == Auth.definition.name {
                    environment.merge(admin.environment) { _, admin in admin }
                }
                if definition.publicPort != nil {
                    environment["HOST"] = "127.0.0.1"
                    environment["PORT"] = String(ports[1])
                    upstreams[definition.name, default: []].append("127.0.0.1:\(ports[1])")
                }
                try supervisor.add(
                    ManagedProgram(
                        name: name,
                        executable: try installation.program(definition.name),
                        arguments: [],
                        environment: environment,
                        logPath: "\(folder.logs)/\(name).log",
                        stage: .services
                    )
                )
                if definition.isBuilt { board.watch(name, port: ports[0]) }
            }
        }
        return upstreams
    }

    private func startGateway(
        _ gateway: Gateway,
        _ folder: DataFolder,
        _ site: [String: String]
    ) throws(OperationError) {
        let caddy = "/usr/bin/caddy"
        guard access(caddy, X_OK) == 0 else {
            throw OperationError("the gateway \(caddy) is not installed; run scripts/bootstrap")
        }
        let file = folder.gateway + "/Caddyfile"
        try DataFolder.write(gateway.caddyfile, to: file, mode: 0o644)
        try supervisor.add(
            ManagedProgram(
                name: Self.gatewayName,
                executable: caddy,
                arguments: ["run", "--config", file, "--adapter", "caddyfile"],
                environment: [
                    "HOME": folder.gateway, "XDG_DATA_HOME": folder.gateway,
                    "XDG_CONFIG_HOME": folder.gateway, "PATH": "/usr/bin:/bin",
                ].merging(site) { own, _ in own },
                logPath: "\(folder.logs)/gateway.log",
                stage: .gateway
            )
        )
    }

    // MARK: - Waiting

    /// Waits until everything that is built says it is ready.
    ///
    /// - Returns: false when a signal came first.
    /// - Throws: ``OperationError`` with the last line of a part that cannot start.
    private func waitUntilReady(
        _ folder: DataFolder,
        _ signals: inout SignalWait
    ) throws(OperationError) -> Bool {
        let deadline = Supervisor.monotonicSeconds() + Self.startLimitSeconds
        while true {
            guard !isStopped(&signals, within: Self.tickMilliseconds) else { return false }
            supervisor.tick()
            let reasons = board.reasons.filter { $0.key != "up" }
            let port = settings[UpSettings.port]
            if reasons.isEmpty, LoopbackPort.isAnswering(port, on: settings[UpSettings.bind]) {
                return true
            }
            let failure = supervisor.failures.first { name, failure in
                (reasons[name] != nil || name == Self.gatewayName)
                    && failure.count >= Self.startAttempts
            }
            if let (name, failure) = failure {
                throw OperationError(
                    "\(name) ended with code \(failure.code): "
                        + Self.lastLine(of: "\(folder.logs)/\(name).log")
                )
            }
            guard Supervisor.monotonicSeconds() < deadline else {
                let waiting = reasons.sorted { $0.key < $1.key }
                    .map { "\($0.key) (\($0.value))" }.joined(separator: ", ")
                throw OperationError("not ready in time: \(waiting); logs are in \(folder.logs)")
            }
        }
    }

    private static func lastLine(of path: String) -> String {
        guard let text = DataFolder.text(of: path) else { return "see \(path)" }
        return text.split(separator: "\n").last.map(String.init) ?? "see \(path)"
    }

    private func announce(_ folder: DataFolder, _ base: String, _ admin: FirstAdmin) {
        say(
            """

            Alongside is up on \(base)
              vehicle positions  \(base)/gtfs-rt/vehicle-positions            (protobuf)
                                 \(base)/gtfs-rt/vehicle-positions?format=json
              readiness          \(base)/ready
              first admin        \(admin.announcement)
              data and logs      \(folder.path)
            Ctrl-C stops everything; the data stays.
            """
        )
    }

    /// Runs asynchronous work to its end on this thread, which owns the children and may wait.
    private func wait<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) throws(OperationError) -> Value {
        switch BlockingWait.run(work) {
        case .success(let value): return value
        case .failure(let error): throw error as? OperationError ?? OperationError("\(error)")
        }
    }
}
