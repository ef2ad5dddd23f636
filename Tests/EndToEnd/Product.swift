import Database
import Foundation
import Schedule
import Telemetry
import TestKit
import Testing
import Transit
import Web

@testable import Operations

/// A whole Alongside under `alongside up`, as a newcomer starts it, on a port and a folder of its own.
final class Product: @unchecked Sendable {
    // Sendable: set up before it is shared, then only read; `Process` is asked for its state alone.
    private let process: Process
    let port: Int
    let folder: String
    let logPath: String
    let schedule: String
    let client = HTTPClient()

    /// Beside the tests, or where `ALONGSIDE_PROGRAMS` says: scripts/check-images has those of the images there.
    static let programs =
        ProcessInfo.processInfo.environment["ALONGSIDE_PROGRAMS"]
        ?? URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().path

    /// Starts it on the demo's schedule, moved so that many trips run now.
    ///
    /// - Parameters:
    ///   - arguments: What follows `up`.
    ///   - environment: What is set beside port, folder and schedule; an empty value unsets.
    ///   - folder: A data folder of an earlier run, else a new one.
    /// - Throws: When the schedule cannot be made or the program not be started.
    init(
        arguments: [String] = [],
        environment: [String: String] = [:],
        folder: String? = nil
    ) throws {
        self.folder = try folder ?? Self.newFolder()
        port = try Self.freePort()
        logPath = self.folder + "-up-\(port).log"
        schedule = self.folder + "-schedule.zip"
        if !FileManager.default.fileExists(atPath: schedule) {
            let recorded = try #require(
                FileManager.default.contents(
                    atPath: ProjectPaths.root + "/deploy/demo/raba.gtfs.zip"
                )
            )
            let moved = try ScheduleRebase.rebase(zip: Array(recorded), now: TestRider.now)
            try Data(moved).write(to: URL(fileURLWithPath: schedule))
        }
        _ = FileManager.default.createFile(atPath: logPath, contents: nil)
        process = Process()
        process.executableURL = URL(fileURLWithPath: Self.programs + "/alongside")
        process.arguments = ["up"] + arguments
        var variables = ProcessInfo.processInfo.environment
        variables["PORT"] = String(port)
        variables["ALONGSIDE_DATA"] = self.folder
        variables["GTFS_STATIC_URL"] = schedule
        variables["ALONGSIDE_HOME"] = ProjectPaths.root
        variables["RIDER_REGISTRATION_LIMIT"] = "1000"
        // The riders of these tests are scripts.
        variables["RIDER_WITNESS_CHECKS"] = "count"
        for (key, value) in environment { variables[key] = value.isEmpty ? nil : value }
        process.environment = variables
        let log = try FileHandle(forWritingTo: URL(fileURLWithPath: logPath))
        process.standardOutput = log
        process.standardError = log
        process.standardInput = FileHandle.nullDevice
        try process.run()
    }

    // A test that failed half way leaves nothing running.
    deinit {
        if process.isRunning { process.terminate() }
    }

    /// Starts it and waits until it is ready.
    static func ready(
        arguments: [String] = [],
        environment: [String: String] = [:],
        folder: String? = nil
    ) async throws -> Product {
        let product = try Product(arguments: arguments, environment: environment, folder: folder)
        try await product.waitUntilReady()
        return product
    }

    // MARK: - State

    var url: String { "http://127.0.0.1:\(port)" }
    var log: String { (try? String(contentsOfFile: logPath, encoding: .utf8)) ?? "" }
    var isRunning: Bool { process.isRunning }
    var processID: Int32 { process.processIdentifier }

    func waitUntilReady() async throws {
        try await eventually("ready; log: \(log)", within: .seconds(60)) {
            guard self.isRunning else { throw ProductFailure("up ended: \(self.log)") }
            return (try? await self.get("/ready").status) == 200
        }
    }

    /// Asks it to stop and waits for its end.
    ///
    /// - Returns: The exit code.
    @discardableResult
    func stop(_ signal: Int32 = SIGTERM) async throws -> Int32 {
        if process.isRunning { kill(process.processIdentifier, signal) }
        try await eventually("stopped", within: .seconds(40)) { !self.process.isRunning }
        return process.terminationStatus
    }

    /// Stops it and removes what it left.
    func remove() async throws {
        try await stop()
        for path in [folder, logPath, schedule] {
            try? FileManager.default.removeItem(atPath: path)
        }
    }

    /// The process of one of our executables, such as `verifier`.
    func child(_ name: String) -> Int32? {
        let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        for entry in entries {
            guard let id = Int32(entry),
                let status = try? String(contentsOfFile: "/proc/\(id)/stat", encoding: .utf8),
                let close = status.lastIndex(of: ")")
            else { continue }
            let fields = status[status.index(after: close)...].split(separator: " ")
            guard fields.count > 1, Int32(fields[1]) == processID, fields[0] != "Z" else {
                continue
            }
            let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(id)/exe")
            if path?.split(separator: "/").last.map(String.init) == name { return id }
        }
        return nil
    }

    /// The private database, asked as its owner.
    func database() throws -> Database {
        let file = try String(contentsOfFile: folder + "/postgres/postmaster.pid", encoding: .utf8)
        let lines = file.split(separator: "\n", omittingEmptySubsequences: false)
        let owner = geteuid() == 0 ? "postgres" : NSUserName()
        return Database(
            DatabaseConfiguration(
                url: "postgresql:///alongside?host=\(lines[4])&user=\(owner)",
                connections: 1
            )
        )
    }

    // MARK: - HTTP

    func get(_ path: String, token: String? = nil) async throws -> HTTPClientResponse {
        let headers = token.map { [("Authorization", "Bearer \($0)")] } ?? []
        return try await client.get(url + path, headers: headers)
    }

    func post(
        _ path: String,
        _ json: String,
        token: String? = nil
    ) async throws
        -> HTTPClientResponse
    {
        var headers = [("Content-Type", "application/json")]
        if let token { headers.append(("Authorization", "Bearer \(token)")) }
        return try await client.send(.post, url + path, headers: headers, body: Array(json.utf8))
    }

    // MARK: - Places

    static func newFolder() throws -> String {
        let path = "/tmp/alongside-e2e-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o755]
        )
        return path
    }

    static func freePort() throws -> Int { try TestPort.free(1)[0] }
}

struct ProductFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
