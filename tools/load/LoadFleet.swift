internal import AuthService
internal import Bus
internal import Database
internal import FeedService
internal import Glibc
internal import ServiceKit
internal import Telemetry
internal import TestKit
internal import Transit
internal import VerifierService
internal import Web

/// The services as processes of their own over a throwaway PostgreSQL, for load and for drills: any of them
/// can be killed, frozen and started again.
public final class LoadFleet: Sendable {
    private static let secret = "load-secret-of-thirty-two-bytes-and-more"
    private static let template = ThrowawayPostgres.Template("load") {
        connection throws(DatabaseError) in
        let bus = ServiceSchema(BusMigrations.schema, migrations: BusMigrations.all)
        for schema in [bus, Auth.schema, Verifier.schema, Feed.schema] {
            try Migrator.migrate(
                schema: schema.name,
                role: schema.role,
                migrations: schema.migrations,
                on: connection
            )
        }
    }

    /// The schedule that all trips run on.
    public let schedule: LoadSchedule
    /// The owner's URL of the database.
    public let databaseURL: String
    /// A second database of the same schema, for a peer that writes without us.
    public let peerURL: String
    private let postgres: ThrowawayPostgres
    private let programs: String
    private let folder: String
    private let client = HTTPClient()

    /// Makes the database and the schedule; starts nothing else.
    ///
    /// - Parameters:
    ///   - programs: The folder of the executables.
    ///   - trips: How many trips the schedule has.
    /// - Throws: When PostgreSQL cannot be started.
    public init(programs: String, trips: Int) async throws {
        self.programs = programs
        schedule = LoadSchedule(trips: trips, now: Timestamps.nowMilliseconds() / 1000)
        postgres = ThrowawayPostgres(settings: ["shared_buffers=256MB", "max_wal_size=4GB"])
        databaseURL = try await postgres.database(Self.template).url
        peerURL = try await postgres.database(Self.template).url
        folder = "/tmp/alongside-load-\(UInt32.random(in: 0 ... .max))"
        guard mkdir(folder, 0o700) == 0 else { throw LoadFailure("\(folder) cannot be made") }
        try write(try schedule.zip(), to: folder + "/gtfs.zip")
    }

    deinit {
        for name in ["gtfs.zip"] { unlink(folder + "/" + name) }
        if let directory = opendir(folder) {
            while let entry = readdir(directory) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) {
                    $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                if name != ".", name != ".." { unlink(folder + "/" + name) }
            }
            closedir(directory)
        }
        rmdir(folder)
    }

    /// Starts a service.
    ///
    /// - Parameters:
    ///   - service: The executable's name.
    ///   - instance: The process's name in the fleet.
    ///   - settings: Variables beside the fleet's own.
    /// - Returns: The process; it may not be ready yet.
    /// - Throws: When there is no free port or the program does not start.
    public func start(
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
            "GTFS_STATIC_URL": folder + "/gtfs.zip",
            "LOG_LEVEL": "warning",
            // Simulated riders are no independent witnesses, which is not what is measured here.
            "RIDER_WITNESS_CHECKS": "off",
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
    /// - Throws: ``LoadFailure`` with its log when it does not within 30 s.
    public func waitUntilReady(_ process: LoadProcess) async throws {
        let deadline = LoadRunner.now + 30
        while LoadRunner.now < deadline {
            if let answer = try? await get(process.internalPort, "/ready"), answer.0 == 200 {
                return
            }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw LoadFailure("\(process.instance) is not ready: \(process.log)")
    }

    /// Fetches something over HTTP from this machine.
    ///
    /// - Returns: The status and the body.
    public func get(_ port: Int, _ path: String) async throws -> (Int, [UInt8]) {
        let answer = try await client.get("http://127.0.0.1:\(port)\(path)")
        return (answer.status, answer.body)
    }

    /// Riders with tokens, spread over the trips.
    ///
    /// - Parameters:
    ///   - count: How many.
    ///   - age: Seconds before now at which their first point is measured.
    /// - Returns: The riders, none of whom rides yet.
    public func riders(_ count: Int, firstPointAge age: Int64) -> [LoadRider] {
        Self.riders(count, on: schedule, signedWith: Self.secret, firstPointAge: age)
    }

    /// Riders of a fleet that was started otherwise.
    ///
    /// - Parameters:
    ///   - count: How many.
    ///   - schedule: What their trips run on.
    ///   - secret: The fleet's `JWT_SECRET`.
    ///   - age: Seconds before now at which their first point is measured.
    /// - Returns: The riders, none of whom rides yet.
    public static func riders(
        _ count: Int,
        on schedule: LoadSchedule,
        signedWith secret: String,
        firstPointAge age: Int64
    ) -> [LoadRider] {
        let now = Timestamps.nowMilliseconds() / 1000
        let ring = KeyRing(secret: Secret(secret), families: [.rider], generation: 1)
        let signer = TokenSigner(ring)
        return (0..<count).map { index in
            let id = UniqueID.random()
            let claims = TokenClaims(
                subject: id.description,
                role: .rider,
                issuedAt: now,
                lifetime: .seconds(86_400)
            )
            return LoadRider(
                id: id,
                token: signer.sign(claims),
                trip: schedule.trips[index % schedule.trips.count],
                firstPoint: now - age
            )
        }
    }

    private func write(_ bytes: [UInt8], to path: String) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw LoadFailure("\(path) cannot be made") }
        defer { close(file) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            guard count > 0 else { throw LoadFailure("\(path) cannot be written") }
            rest = rest.dropFirst(count)
        }
    }
}

/// Why a load cannot be made.
public struct LoadFailure: Error, CustomStringConvertible {
    /// The reason.
    public let description: String

    /// Makes a failure.
    public init(_ description: String) { self.description = description }
}
