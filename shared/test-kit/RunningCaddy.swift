internal import FoundationEssentials
internal import Glibc

/// The real gateway on a configuration of its own.
public final class RunningCaddy {
    private let process: pid_t
    private let folder: String

    /// Starts Caddy.
    ///
    /// - Parameters:
    ///   - caddyfile: The configuration.
    ///   - site: What `SITE_ADDRESS` says, where the configuration asks for it.
    /// - Throws: When the program cannot be started.
    public init(_ caddyfile: String, site: String = "") throws {
        folder = "/tmp/alongside-caddy-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let file = folder + "/Caddyfile"
        try Data(caddyfile.utf8).write(to: URL(filePath: file))
        let output = open(folder + "/output", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(output) }
        process = try spawn(
            [
                "/usr/bin/env", "-i", "HOME=\(folder)", "XDG_DATA_HOME=\(folder)",
                "XDG_CONFIG_HOME=\(folder)", "PATH=/usr/bin:/bin", "SITE_ADDRESS=\(site)",
                "/usr/bin/caddy", "run", "--config", file, "--adapter", "caddyfile",
            ],
            output: output
        )
    }

    /// The certificate of the authority that it is for itself (`tls internal`).
    public var authority: String { folder + "/caddy/pki/authorities/local/root.crt" }

    /// Waits until it takes connections.
    ///
    /// - Parameter port: One of the ports that the configuration names.
    /// - Throws: ``CaddyHasEnded``, or ``Late`` when it does not listen within 20 s.
    public func waitUntilListening(on port: Int) async throws {
        try await eventually("Caddy listens on \(port)", within: .seconds(20)) {
            if (try? await RawSocket(port: port)) != nil { return true }
            guard !hasEnded else { throw CaddyHasEnded(output: output) }
            return false
        }
    }

    private var output: String {
        let bytes = FileManager.default.contents(atPath: folder + "/output") ?? Data()
        return String(decoding: bytes.suffix(2000), as: UTF8.self)
    }

    /// Whether the process has ended; it is not reaped, or its id could be another's before
    /// ``stop()``.
    private var hasEnded: Bool {
        var ended = siginfo_t()
        let failure = waitid(P_PID, id_t(process), &ended, WEXITED | WNOHANG | WNOWAIT)
        return failure != 0 || ended.si_signo != 0
    }

    /// Ends it and removes what it has written.
    public func stop() {
        kill(process, SIGTERM)
        waitpid(process, nil, 0)
        try? FileManager.default.removeItem(atPath: folder)
    }
}

/// Caddy would not run.
public struct CaddyHasEnded: Error {
    /// The end of what it said.
    public let output: String
}
