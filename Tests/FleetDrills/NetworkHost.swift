import Foundation
import LoadKit
import TestKit

/// What hosts of a drill are plugged into: a bridge of this machine, with an address of its own.
final class NetworkSwitch: Sendable {
    let bridge: String
    /// The first three numbers of every address.
    let prefix: String

    /// Where this process and the database are.
    var address: String { prefix + ".1" }

    init() throws {
        let number = UInt16.random(in: 0 ... .max)
        bridge = "as" + String(number, radix: 16)
        prefix = "10.\(200 + number % 50).\(number / 256)"
        try network("ip", "link", "add", bridge, "type", "bridge")
        try network("ip", "address", "add", address + "/24", "dev", bridge)
        try network("ip", "link", "set", bridge, "up")
    }

    deinit { try? network("ip", "link", "delete", bridge) }
}

/// Runs a command that must succeed.
func network(_ command: String...) throws {
    let run = try FinishedProgram(command)
    guard run.status == 0 else {
        throw LoadFailure("\(command.joined(separator: " ")): \(run.output)")
    }
}

/// A host of the fleet on this machine: its own network, process table, name and secrets.
///
/// A process keeps it there; when that ends, the network is gone and whatever ran with it, as when a plug is pulled.
final class NetworkHost: @unchecked Sendable {
    // Sendable: a drill uses one host from one task at a time.
    let name: String
    let address: String
    private let bridge: String
    private let number: Int
    private let folder: String
    private let secrets: String?
    private let keeper = Process()
    private let plug = Pipe()
    private var id: Int32 = 0

    /// Makes the host.
    ///
    /// - Parameters:
    ///   - name: Its name, which the file of hosts resolves to its address.
    ///   - network: What it is plugged into.
    ///   - number: The last number of its address.
    ///   - folder: With the file `hosts` that all share, and its log.
    ///   - secrets: The folder that is `/run/secrets` there.
    /// - Throws: ``LoadFailure`` with what the system says.
    init(
        _ name: String,
        _ network: NetworkSwitch,
        _ number: Int,
        folder: String,
        secrets: String?
    ) throws {
        self.name = name
        self.number = number
        self.folder = folder
        self.secrets = secrets
        bridge = network.bridge
        address = "\(network.prefix).\(number)"
        try plugIn()
    }

    deinit { pullPlug() }

    private func plugIn() throws {
        let mounts = secrets.map { "mount --bind \($0) /run/secrets; " } ?? ""
        keeper.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
        keeper.arguments = [
            "--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc", "sh",
            "-c",
            "hostname \(name); mount --bind \(folder)/hosts /etc/hosts; mount -t tmpfs tmpfs /run; "
                + "mkdir /run/secrets; \(mounts)ip link set lo up; touch \(folder)/\(name).up; exec cat",
        ]
        keeper.standardInput = plug
        keeper.standardOutput = FileHandle.nullDevice
        keeper.standardError = FileHandle.nullDevice
        // Nobody else may hold the plug, or the host would outlive this process.
        _ = fcntl(plug.fileHandleForWriting.fileDescriptor, F_SETFD, FD_CLOEXEC)
        try keeper.run()
        id = try child()
        let veth = "\(bridge)n\(number)"
        try network(
            "ip",
            "link",
            "add",
            veth,
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            "\(id)"
        )
        try network("ip", "link", "set", veth, "master", bridge, "up")
        try inside("ip", "address", "add", address + "/24", "dev", "eth0")
        try inside("ip", "link", "set", "eth0", "up")
    }

    /// The process that is number 1 in the host, once the host is made.
    private func child() throws -> Int32 {
        let deadline = ContinuousClock.now + .seconds(10)
        let path = "/proc/\(keeper.processIdentifier)/task/\(keeper.processIdentifier)/children"
        while ContinuousClock.now < deadline {
            let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
            if let id = Int32(text.trimmingCharacters(in: .whitespaces)),
                FileManager.default.fileExists(atPath: "\(folder)/\(name).up")
            {
                return id
            }
            usleep(10_000)
        }
        throw LoadFailure("the host \(name) cannot be made")
    }

    /// Runs a command on the host's network.
    func inside(_ command: String...) throws {
        let run = try FinishedProgram(["nsenter", "-t", "\(id)", "-n"] + command)
        guard run.status == 0 else {
            throw LoadFailure("\(name): \(command.joined(separator: " ")): \(run.output)")
        }
    }

    /// Starts a program there; it ends with the host.
    func start(_ command: [String], _ environment: [String: String]) throws {
        let log = "\(folder)/\(name).log"
        _ = FileManager.default.createFile(atPath: log, contents: nil)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/nsenter")
        // On its own feet: nsenter stops with what it started, and would not go on when that does.
        process.arguments =
            ["-t", "\(id)", "-n", "-m", "-u", "-p", "setsid", "--fork"] + command
        process.environment = environment
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = file
        process.standardError = file
        try process.run()
    }

    /// What its program has logged.
    var log: String {
        (try? String(contentsOfFile: "\(folder)/\(name).log", encoding: .utf8)) ?? ""
    }

    // MARK: - Faults

    /// Ends the host with everything on it at once, without a word to anybody.
    func pullPlug() {
        guard id > 0 else { return }
        kill(id, SIGKILL)
        try? plug.fileHandleForWriting.close()
        // Not by waiting for the keeper: Foundation does that on a run loop, which no thread here has.
        let deadline = ContinuousClock.now + .seconds(10)
        while FileManager.default.fileExists(atPath: "/proc/\(id)"), ContinuousClock.now < deadline
        {
            usleep(5000)
        }
        id = 0
        try? FileManager.default.removeItem(atPath: "\(folder)/\(name).up")
    }

    /// Stops every process there.
    func freeze() throws { try signal("STOP") }

    /// Lets them go on.
    func thaw() throws { try signal("CONT") }

    private func signal(_ name: String) throws {
        try network("nsenter", "-t", "\(id)", "-m", "-p", "kill", "-\(name)", "--", "-1")
    }

    /// Nothing comes in or goes out; connections hear nothing of it.
    func cut() throws { try inside("ip", "link", "set", "eth0", "down") }

    func heal() throws { try inside("ip", "link", "set", "eth0", "up") }

    /// Loses a share of the packets that come in.
    func lose(percent: Int) throws {
        try inside(
            "nft",
            "add table inet drill; add chain inet drill input { type filter hook input priority 0; }; "
                + "add rule inet drill input numgen random mod 100 < \(percent) drop"
        )
    }

    func loseNothing() throws { try inside("nft", "flush", "ruleset") }

    /// Sends no faster than this.
    func slow(kilobitsPerSecond rate: Int) throws {
        try inside(
            "tc",
            "qdisc",
            "add",
            "dev",
            "eth0",
            "root",
            "tbf",
            "rate",
            "\(rate)kbit",
            "burst",
            "16kb",
            "latency",
            "400ms"
        )
    }

    func speedUp() throws { try inside("tc", "qdisc", "delete", "dev", "eth0", "root") }
}
