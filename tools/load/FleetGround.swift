internal import Bus
internal import Database
internal import FoundationEssentials
internal import ServiceKit
internal import TestKit
internal import Web

/// What the processes of a fleet stand on: one folder for sockets and logs, one database, one
/// secret.
final class FleetGround: Sendable {
    static let secret = "load-secret-of-thirty-two-bytes-and-more"

    let folder: String
    let client = HTTPClient()
    private let programs: String
    private let databaseURL: String

    /// Makes the folder, which goes with this value.
    ///
    /// - Parameters:
    ///   - name: Tells its folder from others'.
    ///   - programs: The folder of the executables.
    ///   - databaseURL: The services' database.
    init(_ name: String, programs: String, databaseURL: String) throws {
        self.programs = programs
        self.databaseURL = databaseURL
        folder = "/tmp/alongside-\(name)-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// A database with these schemas and the bus's.
    static func template(_ name: String, _ schemas: [ServiceSchema]) -> ThrowawayPostgres.Template {
        ThrowawayPostgres.Template(name) { connection throws(DatabaseError) in
            let bus = ServiceSchema(BusMigrations.schema, migrations: BusMigrations.all)
            for schema in [bus] + schemas {
                try Migrator.migrate(
                    schema: schema.name,
                    role: schema.role,
                    migrations: schema.migrations,
                    on: connection
                )
            }
        }
    }

    /// Starts a service, which may not be ready yet.
    func start(
        _ service: String,
        _ instance: String,
        _ settings: [String: String] = [:]
    ) throws -> LoadProcess {
        let ports = try LoadPorts.free(2)
        var environment = [
            "PATH": "/usr/bin:/bin",
            "DATABASE_URL": databaseURL,
            "BUS_URL_PREFIX": "ipc://\(folder)/",
            "INSTANCE_ID": instance,
            "PORT": "\(ports[0])",
            "INTERNAL_PORT": "\(ports[1])",
            "JWT_SECRET": Self.secret,
            "LOG_LEVEL": "warning",
        ]
        environment.merge(settings) { $1 }
        return try LoadProcess(
            path: "\(programs)/\(service)",
            instance: instance,
            environment: environment,
            log: "\(folder)/\(instance).log",
            port: ports[0],
            internalPort: ports[1]
        )
    }

    /// Waits until a process says that it can do its job.
    ///
    /// - Throws: `Late` with its log when it does not within 30 s.
    func waitUntilReady(_ process: LoadProcess) async throws {
        let url = "http://127.0.0.1:\(process.internalPort)/ready"
        try await eventually("\(process.instance) is ready: \(process.log)") {
            (try? await client.get(url))?.status == 200
        }
    }
}
