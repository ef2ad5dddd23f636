import Database
import Foundation
import LoadKit
import TestKit
import Web

/// A deployment on hosts of its own: what `docker compose up --scale` starts, with a network that a drill can break.
///
/// The secrets, the logins and the start script of the images are the real ones; the bus is TCP with CURVE.
final class NetworkFleet: @unchecked Sendable {
    // Sendable: `hosts` changes only while one drill replaces a host.

    /// Where each host is: the last number of its address, and the service that runs there.
    static let places: [(name: String, number: Int, service: String)] = [
        ("gateway", 10, "gateway"), ("auth-1", 11, "auth"),
        ("ingest-1", 21, "rider-ingest"), ("ingest-2", 22, "rider-ingest"),
        ("verifier-1", 31, "verifier"), ("verifier-2", 32, "verifier"),
        ("verifier-3", 33, "verifier"), ("feed-1", 41, "feed"), ("feed-2", 42, "feed"),
        ("groups-1", 51, "groups"), ("groups-2", 52, "groups"), ("relay-1", 61, "relay"),
        ("relay-2", 62, "relay"),
    ]
    /// The service's metrics by service.
    private static let internalPorts = [
        "auth": 9101, "rider-ingest": 9102, "verifier": 9103, "feed": 9104, "groups": 9105,
        "relay": 9106,
    ]
    static let gatewayPort = 8080
    /// The host that reaches the database through the relay that delays.
    private static let delayed = "verifier-3"
    private static let relayPort = 15_432

    let schedule: LoadSchedule
    let databaseURL: String
    let postgres: ThrowawayPostgres
    private(set) var hosts: [String: NetworkHost] = [:]
    private let network: NetworkSwitch
    private let folder: String
    private let relay = Process()
    private let relayInput = Pipe()
    private let client = HTTPClient()

    init(trips: Int) async throws {
        network = try NetworkSwitch()
        folder = "/tmp/alongside-hosts-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: false
        )
        schedule = LoadSchedule(trips: trips, now: Int64(Date().timeIntervalSince1970))
        try Data(try schedule.zip()).write(to: URL(fileURLWithPath: folder + "/gtfs.zip"))
        postgres = try await ThrowawayPostgres.fresh(settings: [
            "listen_addresses='\(network.address)'", "max_connections=200",
        ])
        databaseURL = try await Self.database(postgres, open: network)
        try prepareSecrets()
        try writeHosts()
        try startRelay()
        for place in Self.places { try plugIn(place.name) }
        for place in Self.places { try await waitUntilReady(place.name) }
    }

    deinit {
        for host in hosts.values { host.pullPlug() }
        if relay.isRunning { relay.terminate() }
        try? FileManager.default.removeItem(atPath: folder)
    }

    // MARK: - Preparing

    /// The database of the deployment, reached over TCP with passwords.
    private static func database(
        _ postgres: ThrowawayPostgres,
        open network: NetworkSwitch
    ) async throws -> String {
        let any = try await postgres.database().url
        let file = URL(fileURLWithPath: try await postgres.folder() + "/data/pg_hba.conf")
        let rules = try String(contentsOf: file, encoding: .utf8)
        let own = "host all all \(network.prefix).0/24 scram-sha-256\n"
        try Data((rules + own).utf8).write(to: file, options: [])
        let pool = Database(DatabaseConfiguration(url: any, connections: 1))
        try await pool.withConnection { connection throws(DatabaseError) in
            _ = try connection.query("SELECT pg_reload_conf()")
            try connection.script("CREATE DATABASE alongside")
        }
        await pool.close()
        let folder = try await postgres.folder()
        return "postgresql:///alongside?host=\(folder)&user=postgres"
    }

    private func prepareSecrets() throws {
        let alongside = programs + "/alongside"
        let secrets = folder + "/secrets"
        try Preparation.succeed([alongside, "secrets", secrets, "--database", network.address])
        try Preparation.succeed(
            [alongside, "migrate", "--logins", secrets],
            ["DATABASE_URL": databaseURL]
        )
        // One verifier has a longer way to the database.
        let far = folder + "/secrets-" + Self.delayed
        try FileManager.default.copyItem(atPath: secrets + "/verifier", toPath: far)
        let file = far + "/database-url"
        let url = try String(contentsOfFile: file, encoding: .utf8)
            .replacing("@\(network.address)/", with: "@\(network.address):\(Self.relayPort)/")
        try FileManager.default.removeItem(atPath: file)
        try url.write(toFile: file, atomically: true, encoding: .utf8)
    }

    /// What the name service of a deployment answers: each host by its name, each service by all its hosts.
    private func writeHosts() throws {
        var text = "127.0.0.1 localhost\n"
        for place in Self.places {
            let names = place.name == place.service ? place.name : "\(place.name) \(place.service)"
            text += "\(network.prefix).\(place.number) \(names)\n"
        }
        try text.write(toFile: folder + "/hosts", atomically: true, encoding: .utf8)
    }

    private func startRelay() throws {
        relay.executableURL = URL(fileURLWithPath: ProjectPaths.root + "/.venv/bin/python")
        relay.arguments = [
            ProjectPaths.root + "/Tests/FleetDrills/relay.py", network.address,
            "\(Self.relayPort)", network.address, "5432",
        ]
        relay.standardInput = relayInput
        _ = fcntl(relayInput.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        try relay.run()
    }

    // MARK: - Running

    /// The secret that riders' tokens are signed with.
    var signingSecret: String {
        get throws {
            try String(contentsOfFile: folder + "/secrets/auth/jwt-secret", encoding: .utf8)
                .trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }

    /// Makes a host, in the place of one of its name, and starts what runs there.
    func plugIn(_ name: String) throws {
        guard let place = Self.places.first(where: { $0.name == name }) else {
            throw LoadFailure("there is no host \(name)")
        }
        hosts[name]?.pullPlug()
        let own = name == Self.delayed ? "secrets-" + name : "secrets/" + place.service
        let host = try NetworkHost(
            name,
            network,
            place.number,
            folder: folder,
            secrets: place.service == "gateway" ? nil : "\(folder)/\(own)"
        )
        hosts[name] = host
        if place.service == "gateway" {
            try host.start(
                ["caddy", "run", "--config", ProjectPaths.root + "/deploy/gateway/Caddyfile"]
                    + ["--adapter", "caddyfile"],
                [
                    "PATH": "/usr/bin", "HOME": folder,
                    // Under any name, without TLS.
                    "SITE_ADDRESS": ":\(Self.gatewayPort)",
                ]
            )
        } else {
            try host.start(
                [ProjectPaths.root + "/deploy/image/start", place.service],
                environment(of: name)
            )
        }
    }

    /// As the images have it, and little else.
    private func environment(of name: String) -> [String: String] {
        [
            "PATH": "\(programs):/usr/sbin:/usr/bin:/sbin:/bin", "INSTANCE_ID": name,
            "HOST": "0.0.0.0", "INTERNAL_HOST": "0.0.0.0", "BUS_URL_PREFIX": "tcp://0.0.0.0:",
            "TRUST_PROXY_HEADERS": "true", "GTFS_STATIC_URL": folder + "/gtfs.zip",
            "LOG_LEVEL": "warning", "RIDER_WITNESS_CHECKS": "off",
        ]
    }

    func waitUntilReady(_ name: String) async throws {
        let host = try host(name)
        let service = Self.places.first { $0.name == name }?.service ?? ""
        // A debug build beside other work takes its time.
        try await eventually("\(name) is ready: \(host.log.suffix(800))", within: .seconds(90)) {
            guard let port = Self.internalPorts[service] else {
                return (try? await self.get("/api/health"))?.status == 200
            }
            let url = "http://\(host.address):\(port)/ready"
            return (try? await self.client.get(url))?.status == 200
        }
    }

    func host(_ name: String) throws -> NetworkHost {
        guard let host = hosts[name] else { throw LoadFailure("there is no host \(name)") }
        return host
    }

    /// Asks through the gateway.
    func get(_ path: String) async throws -> HTTPClientResponse {
        try await client.get("http://\(gatewayAddress):\(Self.gatewayPort)\(path)")
    }

    func post(_ path: String, _ json: String) async throws -> HTTPClientResponse {
        try await client.send(
            .post,
            "http://\(gatewayAddress):\(Self.gatewayPort)\(path)",
            headers: [("Content-Type", "application/json")],
            body: Array(json.utf8)
        )
    }

    var gatewayAddress: String { network.prefix + ".10" }

    /// Which instance builds the feed, by the lock in the database.
    func builder() async throws -> String {
        let pool = Database(DatabaseConfiguration(url: databaseURL, connections: 1))
        let name = try await pool.withConnection { connection throws(DatabaseError) in
            try connection.query(
                """
                SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a USING (pid)
                WHERE l.locktype = 'advisory' AND l.granted AND a.usename = 'alongside_feed' LIMIT 1
                """
            ).one().text(0)
        }
        await pool.close()
        return name
    }

    /// How far the delayed host is from the database from now on, each way.
    func delay(milliseconds: Int) throws {
        try relayInput.fileHandleForWriting.write(contentsOf: Data("\(milliseconds)\n".utf8))
    }
}

/// Programs that prepare a fleet.
enum Preparation {
    static func succeed(_ command: [String], _ environment: [String: String] = [:]) throws {
        let run = try FinishedProgram(command, environment: environment)
        guard run.status == 0 else { throw LoadFailure("\(command): \(run.output)") }
    }
}
