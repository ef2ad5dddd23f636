public import Database
internal import Glibc
internal import Synchronization
internal import Telemetry

/// A PostgreSQL server of the test process's own, on a Unix socket in a temporary folder.
///
/// PostgreSQL refuses to run as root, so under root it runs as the user `postgres`. A watchdog
/// process holds the other end of a socket: when the test process ends, however it ends, the server
/// is stopped and its folder removed.
public final class ThrowawayPostgres: Sendable {
    /// The cluster that all suites of a test run share; it starts with the first database.
    public static let shared = ThrowawayPostgres()

    /// What a template database holds, made once per cluster.
    public struct Template: Sendable {
        let name: String
        let prepare: @Sendable (Connection) throws(DatabaseError) -> Void

        /// Names a template.
        ///
        /// - Parameters:
        ///   - name: Unique within the test run, letters and underscores.
        ///   - prepare: Fills the new database, usually by migrating it.
        public init(
            _ name: String,
            prepare: @escaping @Sendable (Connection) throws(DatabaseError) -> Void
        ) {
            self.name = name
            self.prepare = prepare
        }
    }

    private struct State {
        var folder: String?
        var watchdog: Int32 = -1
        var templates: Set<String> = []
        var counter = 0
    }

    private let settings: [String]
    private let queue = SerialThread()
    private let state = Mutex(State())

    /// Names a cluster that starts with its first use.
    ///
    /// - Parameter settings: Settings for `postgres -c`, such as `fsync=off`.
    public init(settings: [String] = []) { self.settings = settings }

    deinit {
        let watchdog = state.withLock { $0.watchdog }
        if watchdog >= 0 { close(watchdog) }
    }

    /// A started cluster of a test's own, which it may stop and start.
    ///
    /// - Parameter settings: Settings for `postgres -c`, such as `fsync=off`.
    /// - Returns: The cluster; it is removed when the last reference goes.
    /// - Throws: ``ThrowawayPostgresError`` with what the failing command said.
    public static func fresh(settings: [String] = []) async throws -> ThrowawayPostgres {
        let postgres = ThrowawayPostgres(settings: settings)
        _ = try await postgres.folder()
        return postgres
    }

    /// Makes a database of the caller's own, in about 0.1 s.
    ///
    /// - Parameter template: What the database begins with; nothing by default.
    /// - Returns: Where it is.
    /// - Throws: ``ThrowawayPostgresError`` or the error of the template.
    public func database(_ template: Template? = nil) async throws -> TestDatabase {
        try await queue.run {
            let folder = try self.started()
            let name = self.state.withLock { state in
                state.counter += 1
                return "test_\(state.counter)"
            }
            if let template { try self.make(template, folder) }
            try self.administer(
                folder,
                "CREATE DATABASE \(name) TEMPLATE \(template?.name ?? "template0")"
            )
            return TestDatabase(url: Self.url(folder, name), name: name, folder: folder)
        }
    }

    /// Stops the server at once, as a crash would: sessions are cut, committed data stays.
    public func stop() async throws {
        let folder = try await folder()
        try await queue.run { try self.control(folder, ["stop", "-m", "immediate"]) }
    }

    /// Starts the server again on the same folder and socket.
    public func start() async throws {
        let folder = try await folder()
        try await queue.run { try self.launch(folder) }
    }

    /// Stops the server and starts it again.
    public func restart() async throws {
        try await stop()
        try await start()
    }

    /// Where the server's socket lies; its data is in `data` below.
    ///
    /// - Returns: The folder's path.
    /// - Throws: ``ThrowawayPostgresError`` when the cluster cannot be started.
    public func folder() async throws -> String { try await queue.run { try self.started() } }

    // MARK: - Details

    private static func url(_ folder: String, _ name: String) -> String {
        "postgresql:///\(name)?host=\(folder)&user=postgres"
    }

    private func started() throws -> String {
        if let folder = state.withLock({ $0.folder }) { return folder }
        // Always below /tmp: a socket's path has at most 107 bytes and its parents must be
        // open to the server's user.
        var template = Array("/tmp/alongside-pg-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else {
            throw ThrowawayPostgresError(reason: "no folder can be made in /tmp")
        }
        let folder = String(decoding: template.dropLast().map(UInt8.init), as: UTF8.self)
        if geteuid() == 0 {
            guard let user = getpwnam("postgres"),
                chown(folder, user.pointee.pw_uid, user.pointee.pw_gid) == 0
            else { throw ThrowawayPostgresError(reason: "there is no user postgres") }
        }
        let watchdog = try watch(folder)
        try asServerUser([
            Self.binaries + "/initdb", "--pgdata=" + folder + "/data", "--username=postgres",
            "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync",
            "--no-instructions",
        ])
        try launch(folder)
        state.withLock { state in
            state.folder = folder
            state.watchdog = watchdog
        }
        return folder
    }

    private func launch(_ folder: String) throws {
        var options = [
            "listen_addresses=''", "unix_socket_directories='\(folder)'", "max_connections=500",
            "shared_buffers=32MB", "log_min_messages=warning",
        ]
        options += settings
        try control(
            folder,
            ["start", "-t", "30", "-l", folder + "/log", "-o"]
                + [options.map { "-c \($0)" }.joined(separator: " ")]
        )
    }

    private func control(_ folder: String, _ arguments: [String]) throws {
        try asServerUser(
            [Self.binaries + "/pg_ctl", "--pgdata=" + folder + "/data", "--wait", "--silent"]
                + arguments
        )
    }

    private func make(_ template: Template, _ folder: String) throws {
        guard !state.withLock({ $0.templates.contains(template.name) }) else { return }
        try administer(folder, "CREATE DATABASE \(template.name) TEMPLATE template0")
        let configuration = DatabaseConfiguration(url: Self.url(folder, template.name))
        try Connection.open(configuration, template.prepare)
        state.withLock { _ = $0.templates.insert(template.name) }
    }

    private func administer(_ folder: String, _ sql: String) throws {
        let configuration = DatabaseConfiguration(
            url: Self.url(folder, "postgres"),
            // Copying a database waits for the disk, which several test runs may share.
            statementTimeout: .seconds(60)
        )
        try Connection.open(configuration) { connection throws(DatabaseError) in
            _ = try connection.execute(sql)
        }
    }

    private static let binaries = "/usr/lib/postgresql/15/bin"

    private func asServerUser(_ command: [String]) throws {
        let prefix =
            geteuid() == 0
            ? ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups"] : []
        try runCommand(prefix + command)
    }

    /// Starts the watchdog.
    ///
    /// - Returns: The socket whose closing, by us or by our end, stops and removes everything.
    private func watch(_ folder: String) throws -> Int32 {
        var ends: [Int32] = [-1, -1]
        // A socket pair, as it is made close-on-exec in one step: no other child may hold our end.
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            throw ThrowawayPostgresError(reason: "no socket pair can be made")
        }
        // Immediate shutdown (QUIT) also frees shared memory; KILL is for a server that is stuck.
        let script = """
            cd /
            read -r nothing
            pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
            if [ -n "$pid" ]; then
                kill -CONT "$pid" 2>/dev/null
                kill -QUIT "$pid" 2>/dev/null
                tries=0
                while kill -0 "$pid" 2>/dev/null && [ "$tries" -lt 50 ]; do
                    sleep 0.1
                    tries=$((tries + 1))
                done
                kill -KILL "$pid" 2>/dev/null
            fi
            rm -rf "$1"
            """
        _ = try spawn(
            ["/bin/sh", "-c", script, "alongside-pg-watchdog", folder],
            input: ends[0],
            ownSession: true
        )
        close(ends[0])
        return ends[1]
    }
}

/// A database of a suite's own.
public struct TestDatabase: Sendable {
    /// A libpq URL that logs in as the cluster's superuser.
    public let url: String
    /// The database's name.
    public let name: String
    /// Where the server's socket lies.
    public let folder: String

    /// Opens a pool on it.
    ///
    /// - Parameters:
    ///   - connections: The connections of the pool.
    ///   - role: The role to work as.
    /// - Returns: A pool that the caller closes.
    public func open(connections: Int = 2, role: String? = nil) -> Database {
        Database(DatabaseConfiguration(url: url, role: role, connections: connections))
    }
}

/// Why a throwaway server could not be had.
public struct ThrowawayPostgresError: Error, CustomStringConvertible {
    /// One sentence, with the failing command where there was one.
    public let reason: String

    /// The reason.
    public var description: String { reason }
}
