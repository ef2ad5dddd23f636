internal import AuthService
internal import Database
internal import FoundationEssentials
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
    private static let template = FleetGround.template(
        "live",
        [Auth.schema, Groups.schema, Relay.schema]
    )

    private let postgres: ThrowawayPostgres
    private let database: TestDatabase
    private let ground: FleetGround

    /// Makes the database; starts nothing else.
    ///
    /// - Parameter programs: The folder of the executables.
    /// - Throws: When PostgreSQL cannot be started.
    public init(programs: String) async throws {
        postgres = ThrowawayPostgres(settings: ["fsync=off"])
        database = try await postgres.database(Self.template)
        ground = try FleetGround("live", programs: programs, databaseURL: database.url)
    }

    /// Starts a service and waits until it can do its job.
    ///
    /// - Parameters:
    ///   - service: The executable's name.
    ///   - instance: The process's name in the fleet.
    /// - Returns: The process.
    /// - Throws: `Late` with its log when it is not ready within 30 s.
    public func start(_ service: String, _ instance: String) async throws -> LoadProcess {
        let process = try ground.start(service, instance)
        try await ground.waitUntilReady(process)
        return process
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
            KeyRing(secret: Secret(FleetGround.secret), families: [.member], generation: 1)
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
        let folder = ground.folder
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
        try Data(configuration.utf8).write(to: URL(filePath: path))
        let process = try LoadProcess(
            path: nginx,
            arguments: ["-c", path, "-p", folder],
            instance: "nchan",
            environment: ["PATH": "/usr/bin:/bin"],
            log: folder + "/nchan.log",
            port: port,
            internalPort: 0
        )
        try await eventually("nginx answers: \(process.log)", within: .seconds(10)) {
            (try? await ground.client.get("http://127.0.0.1:\(port)/")) != nil
        }
        return (process, port)
    }
}
