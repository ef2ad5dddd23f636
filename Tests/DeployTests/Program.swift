import Foundation
import TestKit

/// A program that is run to its end.
struct Program {
    let status: Int32
    /// What it wrote to both its outputs.
    let output: String

    /// The Python with the tests' pinned tools.
    static let python = ProjectPaths.root + "/.venv/bin/python"

    /// Runs it; blocks.
    init(_ command: String..., environment: [String: String] = [:]) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = command
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.currentDirectoryURL = URL(fileURLWithPath: ProjectPaths.root)
        let pipe = Pipe()
        process.standardOutput = pipe
        process.standardError = pipe
        process.standardInput = FileHandle.nullDevice
        try process.run()
        try pipe.fileHandleForWriting.close()
        let data = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        status = process.terminationStatus
        output = String(decoding: data, as: UTF8.self)
    }
}

/// A file of the repository.
func text(of path: String) throws -> String {
    try String(contentsOfFile: ProjectPaths.root + "/" + path, encoding: .utf8)
}
