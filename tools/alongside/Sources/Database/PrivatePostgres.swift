internal import CLinux
internal import FoundationEssentials
internal import Glibc

/// The PostgreSQL that `alongside up` runs for itself when `DATABASE_URL` is not set.
///
/// It listens on a Unix socket only, in a folder that nobody else may enter, and runs as the user
/// `postgres` when we are root, because PostgreSQL refuses to run as root. It outlives a crash of
/// `up` and is adopted by the next one.
struct PrivatePostgres {
    /// The major version whose programs and data folders we use.
    static let majorVersion = "15"

    let dataPath: String
    let socketFolder: String
    let logPath: String
    private let folderPath: String
    private let user: SystemUser?
    private let programs: String

    /// Finds PostgreSQL's programs and chooses the folders.
    ///
    /// - Parameter folder: Where `up` keeps its data.
    /// - Throws: ``OperationError`` when PostgreSQL or its user is missing.
    init(in folder: DataFolder) throws(OperationError) {
        programs = "/usr/lib/postgresql/\(Self.majorVersion)/bin"
        guard access(programs + "/pg_ctl", X_OK) == 0 else {
            throw OperationError(
                "PostgreSQL \(Self.majorVersion) is not installed; run scripts/bootstrap, or set "
                    + "DATABASE_URL to a database of your own"
            )
        }
        if geteuid() == 0 {
            guard let postgres = SystemUser(named: "postgres") else {
                throw OperationError(
                    "there is no user postgres to run the private database as; run scripts/bootstrap"
                )
            }
            user = postgres
        } else {
            user = nil
        }
        folderPath = folder.path
        let identity = Self.fingerprint(folder.path)
        let inside = folder.path + "/postgres"
        // A clone under a folder that only root may enter is out of the database user's reach.
        if user == nil || Self.isReachable(folder.path) {
            dataPath = inside
        } else {
            dataPath = "/var/lib/alongside-\(identity)/postgres"
        }
        socketFolder = "/tmp/alongside-\(identity)"
        logPath = Self.parent(of: dataPath) + "/postgres.log"
    }

    /// How the owner of the database reaches it.
    var url: String { url(as: user == nil ? Self.ownName : "postgres") }

    /// How a role reaches it.
    func url(as role: String) -> String {
        "postgresql:///alongside?host=\(socketFolder)&user=\(role)"
    }

    /// Starts the server, making the cluster and the database when they are missing.
    ///
    /// - Returns: True when a server of an earlier run was found running and adopted.
    /// - Throws: ``OperationError`` when it does not start, or the data is of another version.
    func start() throws(OperationError) -> Bool {
        try prepareFolders()
        if !hasData { try initialise() }
        let version = DataFolder.text(of: dataPath + "/PG_VERSION") ?? ""
        guard version == Self.majorVersion else {
            throw OperationError(
                "\(dataPath) belongs to PostgreSQL \(version), this program runs \(Self.majorVersion); "
                    + "upgrade it with pg_upgrade or set ALONGSIDE_DATA to a new folder"
            )
        }
        if try run("pg_ctl", ["status", "-D", dataPath]) == 0 { return true }
        guard try run("pg_ctl", startArguments) == 0 else {
            throw OperationError(
                "the private database does not start; its log is \(logPath)"
            )
        }
        return false
    }

    /// Begins to start a server that had ended, over the data that it had.
    ///
    /// Never makes a cluster: an empty one in the place of data that is away for a moment would be
    /// taken for the real one.
    ///
    /// - Returns: A program that ends with 0 when the server takes connections.
    /// - Throws: ``OperationError`` when the data has gone.
    func startAgain() throws(OperationError) -> ChildProcess {
        guard hasData else {
            throw OperationError(
                "its data in \(dataPath) has gone; put that folder back, or stop this and restore a backup (alongside restore)"
            )
        }
        try prepareSurroundings()
        return try ChildProcess.start(
            programs + "/pg_ctl",
            arguments: startArguments,
            environment: Self.environment,
            logPath: logPath,
            user: user
        )
    }

    /// Whether a cluster has been made.
    var hasData: Bool { FileManager.default.fileExists(atPath: dataPath + "/PG_VERSION") }

    private var startArguments: [String] {
        // A terse log: the detail of a refused row is somebody's handle or address, which an erasure
        // would not find there.
        let options =
            "-c listen_addresses='' -c unix_socket_directories='\(socketFolder)' "
            + "-c max_connections=200 -c log_error_verbosity=terse"
        return ["start", "-w", "-t", "60", "-D", dataPath, "-l", logPath, "-o", options]
    }

    /// Whether the server's first process lives.
    var isRunning: Bool {
        guard let file = DataFolder.text(of: dataPath + "/postmaster.pid"),
            let id = file.split(separator: "\n").first.flatMap({ pid_t($0) })
        else { return false }
        return kill(id, 0) == 0 || alongside_errno() == EPERM
    }

    /// Makes the database when it is missing; the server must be running.
    func makeDatabase() throws(OperationError) {
        let connection = ["-h", socketFolder, "-U", user == nil ? Self.ownName : "postgres"]
        let exists = try run(
            "psql",
            connection + ["-d", "alongside", "-qAtc", "SELECT 1"]
        )
        guard exists != 0 else { return }
        guard try run("createdb", connection + ["-E", "UTF8", "-T", "template0", "alongside"]) == 0
        else { throw OperationError("cannot make the database; its log is \(logPath)") }
    }

    /// Stops the server after its open transactions have ended.
    func stop() throws(OperationError) {
        _ = try run("pg_ctl", ["stop", "-w", "-t", "30", "-m", "fast", "-D", dataPath])
    }

    private func prepareFolders() throws(OperationError) {
        let parent = Self.parent(of: dataPath)
        if parent != folderPath {
            // Who clears the folder finds what lies elsewhere.
            try DataFolder.write(parent + "\n", to: folderPath + "/database-folder", mode: 0o644)
        }
        try DataFolder.makeFolder(parent, mode: 0o755)
        try makeOwnFolder(dataPath)
        try prepareSurroundings()
    }

    /// Makes what the server needs beside its data: a start of the machine empties `/tmp`.
    private func prepareSurroundings() throws(OperationError) {
        try makeOwnFolder(socketFolder)
        let log = open(logPath, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o640)
        guard log >= 0 else { throw OperationError("cannot write \(logPath): \(lastErrorText())") }
        if let user { fchown(log, user.userID, user.groupID) }
        close(log)
    }

    /// Makes the cluster beside its place and moves it there when it is whole.
    ///
    /// A kill in the middle leaves nothing that the next start takes for a cluster.
    private func initialise() throws(OperationError) {
        let unfinished = dataPath + ".unfinished"
        try? FileManager.default.removeItem(atPath: unfinished)
        try makeOwnFolder(unfinished)
        let made = try run(
            "initdb",
            [
                "-D", unfinished, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8", "-U",
                user == nil ? Self.ownName : "postgres",
            ]
        )
        guard made == 0, rename(unfinished, dataPath) == 0 else {
            throw OperationError("cannot make a database cluster in \(dataPath); see \(logPath)")
        }
    }

    private func makeOwnFolder(_ path: String) throws(OperationError) {
        try PrivateFolder.make(
            path,
            owner: user?.userID ?? geteuid(),
            group: user?.groupID ?? getegid()
        )
    }

    private static let environment = ["PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": "/tmp"]

    private func run(_ program: String, _ arguments: [String]) throws(OperationError) -> Int32 {
        try ChildProcess.run(
            programs + "/" + program,
            arguments: arguments,
            environment: Self.environment,
            logPath: logPath,
            user: user
        )
    }

    private static var ownName: String {
        getpwuid(geteuid()).map { String(cString: $0.pointee.pw_name) } ?? "postgres"
    }

    /// Whether another user can walk down to a folder.
    private static func isReachable(_ path: String) -> Bool {
        var current = ""
        for part in path.split(separator: "/") {
            current += "/" + part
            var information = stat()
            guard stat(current, &information) == 0, information.st_mode & 0o001 != 0 else {
                return false
            }
        }
        return true
    }

    /// The folder that holds a path's last part.
    private static func parent(of path: String) -> String {
        path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
            .joined(separator: "/")
    }

    /// 8 hexadecimal digits that tell data folders apart (FNV-1a, 32 bits).
    ///
    /// They name the place of databases that exist: another hash would lose them.
    static func fingerprint(_ path: String) -> String {
        var hash: UInt32 = 2_166_136_261
        for byte in path.utf8 { hash = (hash ^ UInt32(byte)) &* 16_777_619 }
        let digits = String(hash, radix: 16)
        return String(repeating: "0", count: 8 - digits.count) + digits
    }
}
