internal import Foundation

/// The real gateway on a configuration of its own.
public final class RunningCaddy {
    private let process = Process()
    private let folder: String

    /// Starts Caddy.
    ///
    /// - Parameters:
    ///   - caddyfile: The configuration.
    ///   - site: What `SITE_ADDRESS` says, where the configuration asks for it.
    /// - Throws: When the program cannot be started.
    public init(_ caddyfile: String, site: String = "") throws {
        folder = NSTemporaryDirectory() + "/alongside-caddy-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        let file = folder + "/Caddyfile"
        try Data(caddyfile.utf8).write(to: URL(fileURLWithPath: file))
        process.executableURL = URL(fileURLWithPath: "/usr/bin/caddy")
        process.arguments = ["run", "--config", file, "--adapter", "caddyfile"]
        process.environment = [
            "HOME": folder, "XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder,
            "PATH": "/usr/bin:/bin", "SITE_ADDRESS": site,
        ]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    /// The certificate of the authority that it is for itself (`tls internal`).
    public var authority: String { folder + "/caddy/pki/authorities/local/root.crt" }

    /// Waits until it takes connections.
    ///
    /// - Parameter port: One of the ports that the configuration names.
    /// - Throws: `RawSocketError` when it has ended or does not listen within 20 s.
    public func waitUntilListening(on port: Int) async throws {
        let deadline = ContinuousClock.now + .seconds(20)
        while true {
            if (try? await RawSocket(port: port)) != nil { return }
            guard process.isRunning, ContinuousClock.now < deadline else {
                throw RawSocketError.refused
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Ends it and removes what it has written.
    public func stop() {
        process.terminate()
        process.waitUntilExit()
        try? FileManager.default.removeItem(atPath: folder)
    }
}
