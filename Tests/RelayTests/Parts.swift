import Foundation
import ServiceKit
import Synchronization
import TestKit
import Testing

/// A running service of a test's fleet.
protocol Part: Sendable {
    /// Its name in the fleet.
    var name: String { get }
    /// The port of clients; 0 until it listens.
    var port: Int { get }
    /// The port of /ready and /metrics; 0 until it listens.
    var internalPort: Int { get }

    /// Stops it as SIGTERM does.
    func stop() async
}

/// A service as its executable runs it, in this process and on free ports.
final class RunningPart: Part {
    let name: String
    private let state = Mutex((output: "", ports: (0, 0)))
    private let stops = AsyncStream<Int32>.makeStream()
    private let task = Mutex<Task<Int32, Never>?>(nil)

    init(_ definition: ServiceDefinition, _ name: String, _ environment: [String: String]) {
        self.name = name
        var all = environment
        all["INSTANCE_ID"] = name
        all["LOG_LEVEL"] = "debug"
        let running = Task { [all] in
            await ServiceRunner.run(
                definition,
                arguments: [],
                environment: all,
                stops: stops.stream,
                output: RunnerOutput { text in self.state.withLock { $0.output += text } }
            )
        }
        task.withLock { $0 = running }
    }

    var output: String { state.withLock { $0.output } }
    var port: Int { loggedPort("http", in: output) }
    var internalPort: Int { loggedPort("internal-http", in: output) }

    func stop() async {
        stops.continuation.yield(15)
        let code = await task.withLock { $0 }?.value
        #expect(code == 0, "\(name): \(output.suffix(2000))")
    }
}

/// A service as a process of its own, which can be killed and started again on the same ports.
final class PartProcess: Part {
    private struct State {
        var process: Process?
        var ended: AsyncStream<Void>?
        var ports: (http: Int, internal: Int) = (0, 0)
    }

    let name: String
    private let program: String
    private let environment: [String: String]
    private let logPath: String
    private let state = Mutex(State())

    /// Starts it.
    ///
    /// - Parameters:
    ///   - program: The executable's name; it lies beside the tests.
    ///   - name: Its name in the fleet.
    ///   - environment: Its settings, and nothing else.
    ///   - folder: Where its log is written.
    /// - Throws: When there is no such program.
    init(
        _ program: String,
        _ name: String,
        _ environment: [String: String],
        folder: String
    ) throws {
        self.name = name
        self.program =
            URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
            .deletingLastPathComponent().appendingPathComponent(program).path
        self.environment = environment
        logPath = "\(folder)/\(name).log"
        try Data().write(to: URL(fileURLWithPath: logPath))
        try start()
    }

    deinit { state.withLock { $0.process }.map { _ = Glibc.kill($0.processIdentifier, SIGKILL) } }

    var port: Int { ports.http }
    var internalPort: Int { ports.internal }
    /// What it has logged.
    var output: String { (try? String(contentsOfFile: logPath, encoding: .utf8)) ?? "" }
    var isRunning: Bool { state.withLock { $0.process != nil } }

    /// Where it listens; the first start's ports are those of the others.
    private var ports: (http: Int, internal: Int) {
        let known = state.withLock { $0.ports }
        guard known.http == 0 else { return known }
        let text = output
        guard text.contains("\"message\":\"started\"") else { return (0, 0) }
        let found = (loggedPort("http", in: text), loggedPort("internal-http", in: text))
        state.withLock { $0.ports = found }
        return found
    }

    /// Starts it after a ``kill()``.
    func start() throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        let (http, `internal`) = state.withLock { $0.ports }
        process.environment = environment.merging(
            [
                "INSTANCE_ID": name, "LOG_LEVEL": "info", "PORT": "\(http)",
                "INTERNAL_PORT": "\(`internal`)", "PATH": "/usr/bin:/bin",
            ]
        ) { _, own in own }
        let log = try FileHandle(forWritingTo: URL(fileURLWithPath: logPath))
        try log.seekToEnd()
        process.standardOutput = log
        process.standardError = log
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        process.terminationHandler = { _ in continuation.finish() }
        try process.run()
        state.withLock { state in
            state.process = process
            state.ended = stream
        }
    }

    /// Ends it as a crash does.
    func kill() async { await end(SIGKILL) }

    func stop() async { await end(SIGTERM) }

    private func end(_ signal: Int32) async {
        let (process, ended) = state.withLock { state in
            defer { (state.process, state.ended) = (nil, nil) }
            return (state.process, state.ended)
        }
        guard let process, let ended else { return }
        _ = Glibc.kill(process.processIdentifier, signal)
        for await _ in ended {}
        if signal == SIGTERM {
            #expect(process.terminationStatus == 0, "\(name): \(output.suffix(2000))")
        }
    }
}

/// Where a server listens, as the log says; 0 while it does not.
private func loggedPort(_ server: String, in output: String) -> Int {
    let line = output.split(separator: "\n").first {
        $0.contains("\"server.name\":\"\(server)\"")
    }
    guard let line, let match = line.firstMatch(of: #/"server\.port":(\d+)/#) else { return 0 }
    return Int(match.1) ?? 0
}
