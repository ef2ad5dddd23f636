internal import AuthService
internal import Bus
internal import Database
internal import Glibc
internal import GroupsService
internal import RelayService
internal import ServiceKit
internal import Telemetry
internal import TestKit
internal import Transit
internal import Web

/// Groups and relays as processes of their own over a throwaway PostgreSQL, with riders in convoys.
public final class LiveFleet: Sendable {
    private static let secret = "load-secret-of-thirty-two-bytes-and-more"
    private static let template = ThrowawayPostgres.Template("live") {
        connection throws(DatabaseError) in
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

    private let postgres: ThrowawayPostgres
    private let database: TestDatabase
    private let programs: String
    private let folder: String
    private let client = HTTPClient()

    /// Makes the database; starts nothing else.
    ///
    /// - Parameter programs: The folder of the executables.
    /// - Throws: When PostgreSQL cannot be started.
    public init(programs: String) async throws {
        self.programs = programs
        postgres = ThrowawayPostgres(settings: ["fsync=off"])
        database = try await postgres.database(Self.template)
        folder = "/tmp/alongside-live-\(UInt32.random(in: 0 ... .max))"
        guard mkdir(folder, 0o700) == 0 else { throw LoadFailure("\(folder) cannot be made") }
    }

    /// Starts a service and waits until it can do its job.
    ///
    /// - Parameters:
    ///   - service: The executable's name.
    ///   - instance: The process's name in the fleet.
    /// - Returns: The process.
    /// - Throws: ``LoadFailure`` with its log when it is not ready within 30 s.
    public func start(_ service: String, _ instance: String) async throws -> LoadProcess {
        let ports = try LoadPorts.free(2)
        let environment = [
            "PATH": "/usr/bin:/bin",
            "DATABASE_URL": database.url,
            "BUS_URL_PREFIX": "ipc://\(folder)/",
            "INSTANCE_ID": instance,
            "PORT": "\(ports[0])",
            "INTERNAL_PORT": "\(ports[1])",
            "JWT_SECRET": Self.secret,
            "LOG_LEVEL": "warning",
        ]
        let process = try LoadProcess(
            path: "\(programs)/\(service)",
            instance: instance,
            environment: environment,
            log: "\(folder)/\(instance).log",
            port: ports[0],
            internalPort: ports[1]
        )
        let deadline = LoadRunner.now + 30
        while LoadRunner.now < deadline {
            let url = "http://127.0.0.1:\(process.internalPort)/ready"
            if let answer = try? await client.get(url), answer.status == 200 { return process }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw LoadFailure("\(instance) is not ready: \(process.log)")
    }

    /// Makes convoys.
    ///
    /// - Parameters:
    ///   - count: How many convoys.
    ///   - size: Members of each.
    /// - Returns: The members' tokens, convoy after convoy.
    /// - Throws: When the database refuses the rows.
    public func convoys(_ count: Int, of size: Int) async throws -> [String] {
        let now = Timestamps.nowMilliseconds() / 1000
        let signer = TokenSigner(
            KeyRing(secret: Secret(Self.secret), families: [.member], generation: 1)
        )
        var tokens: [String] = []
        var accounts: [UniqueID] = []
        for index in 0..<(count * size) {
            let id = UniqueID.random()
            accounts.append(id)
            tokens.append(
                signer.sign(
                    TokenClaims(
                        subject: id.description,
                        role: .member,
                        issuedAt: now,
                        lifetime: .seconds(86_400),
                        handle: "rider\(index)"
                    )
                )
            )
        }
        let groups = (0..<count).map { _ in UniqueID.random() }
        let ids = accounts
        let owner = database.open(connections: 1)
        try await owner.transaction { connection throws(DatabaseError) in
            try connection.execute(
                """
                INSERT INTO groups.accounts (id, handle, seen_at)
                SELECT id, 'rider' || left(id::text, 8), $2 FROM unnest($1::uuid[]) AS id
                """,
                [.uuidArray(ids), .timestamp(now)]
            )
            for (index, group) in groups.enumerated() {
                let members = Array(ids[(index * size)..<((index + 1) * size)])
                try connection.execute(
                    """
                    INSERT INTO groups.groups
                        (id, kind, name, owner_id, created_at, turn, version, event_seq)
                    VALUES ($1, 'Convoy', 'Load', $2, $3, nextval('groups.turn'), 1, 0)
                    """,
                    [.uuid(group), .uuid(members[0]), .timestamp(now)]
                )
                try connection.execute(
                    """
                    INSERT INTO groups.members
                        (group_id, account_id, status, is_sharing, sharing_since_ms, joined_at, turn)
                    SELECT $1, id, 'Accepted', true, 0, $3, nextval('groups.turn')
                    FROM unnest($2::uuid[]) AS id
                    """,
                    [.uuid(group), .uuidArray(members), .timestamp(now)]
                )
            }
        }
        await owner.close()
        return tokens
    }

    /// Starts nginx with nchan, one worker.
    ///
    /// - Returns: The worker's process and the port; nil where the module is not installed.
    public func startPeer() async throws -> (master: LoadProcess, port: Int)? {
        let (nginx, module) = ("/usr/sbin/nginx", "/usr/lib/nginx/modules/ngx_nchan_module.so")
        guard access(nginx, X_OK) == 0, access(module, R_OK) == 0 else { return nil }
        let port = try LoadPorts.free(1)[0]
        let configuration = """
            load_module \(module);
            daemon off;
            master_process off;
            pid \(folder)/nginx.pid;
            error_log \(folder)/nginx.log warn;
            worker_rlimit_nofile 20000;
            events { worker_connections 19000; }
            http {
                access_log off;
                client_body_temp_path \(folder)/b; proxy_temp_path \(folder)/p;
                fastcgi_temp_path \(folder)/f; uwsgi_temp_path \(folder)/u; scgi_temp_path \(folder)/s;
                nchan_max_reserved_memory 256M;
                server {
                    listen 127.0.0.1:\(port) backlog=4096;
                    location ~ ^/live/(\\w+)$ {
                        nchan_pubsub websocket;
                        nchan_channel_id $1;
                        nchan_message_buffer_length 0;
                        nchan_store_messages off;
                        nchan_subscriber_first_message newest;
                    }
                }
            }

            """
        let path = folder + "/nginx.conf"
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw LoadFailure("\(path) cannot be made") }
        _ = Array(configuration.utf8).withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
        close(file)
        let process = try LoadProcess(
            path: nginx,
            arguments: ["-c", path, "-p", folder],
            instance: "nchan",
            environment: ["PATH": "/usr/bin:/bin"],
            log: folder + "/nchan.log",
            port: port,
            internalPort: 0
        )
        let deadline = LoadRunner.now + 10
        while LoadRunner.now < deadline {
            if (try? await client.get("http://127.0.0.1:\(port)/")) != nil {
                return (process, port)
            }
            try await Task.sleep(for: .milliseconds(50))
        }
        throw LoadFailure("nginx does not answer: \(process.log)")
    }
}
