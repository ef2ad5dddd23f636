internal import Glibc

/// nginx that serves a folder of files: the peer that we are measured against, and a fake agency.
public final class StaticServer: Sendable {
    private static let program = "/usr/sbin/nginx"

    /// The process; one without workers, so that its CPU is all there is.
    public let process: LoadProcess
    private let folder: String

    /// Starts it on a free port.
    ///
    /// - Throws: ``LoadFailure`` when nginx is not installed or does not start.
    public init() throws {
        guard access(Self.program, X_OK) == 0 else {
            throw LoadFailure("nginx is missing: run scripts/bootstrap --tests")
        }
        let folder = "/tmp/alongside-static-\(UInt32.random(in: 0 ... .max))"
        self.folder = folder
        for path in [folder, folder + "/www"] {
            guard mkdir(path, 0o755) == 0 else { throw LoadFailure("\(path) cannot be made") }
        }
        let port = try LoadPorts.free(1)[0]
        let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(folder)/\($0);" }
        let settings = """
            daemon off; master_process off; pid \(folder)/pid; error_log \(folder)/log;
            events { worker_connections 4096; }
            http {
                access_log off; sendfile on; tcp_nopush on; etag on;
                keepalive_requests 1000000000; \(paths.joined(separator: " "))
                types { application/x-protobuf pb; application/json json; }
                server { listen 127.0.0.1:\(port); root \(folder)/www; }
            }
            """
        try Self.write(Array(settings.utf8), to: folder + "/conf")
        process = try LoadProcess(
            path: Self.program,
            arguments: ["-c", folder + "/conf", "-e", folder + "/log"],
            instance: "nginx",
            environment: ["PATH": "/usr/bin:/bin"],
            log: folder + "/log",
            port: port,
            internalPort: port
        )
    }

    deinit {
        process.terminate()
        Self.remove(folder)
    }

    /// Where a file is served.
    public func url(_ name: String) -> String { "http://127.0.0.1:\(process.port)/\(name)" }

    /// Puts a file there, or another in its place without a moment in which there is half of one.
    public func put(_ bytes: [UInt8], as name: String) throws {
        let path = "\(folder)/www/\(name)"
        try Self.write(bytes, to: path + ".new")
        guard rename(path + ".new", path) == 0 else { throw LoadFailure("\(path) stays as it is") }
    }

    private static func write(_ bytes: [UInt8], to path: String) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw LoadFailure("\(path) cannot be made") }
        defer { close(file) }
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            guard count > 0 else { throw LoadFailure("\(path) cannot be written") }
            rest = rest.dropFirst(count)
        }
    }

    private static func remove(_ path: String) {
        guard let directory = opendir(path) else {
            unlink(path)
            return
        }
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { remove(path + "/" + name) }
        }
        closedir(directory)
        rmdir(path)
    }
}
