import Foundation
import TestKit
import Testing

/// `deploy/systemd`, for those without containers.
@Suite struct UnitTests {
    private static let analyzer = "/usr/bin/systemd-analyze"

    @Test(
        .enabled(if: FileManager.default.isExecutableFile(atPath: analyzer)),
        arguments: ["alongside.service", "alongside@.service"]
    )
    func `systemd has nothing to say against a unit`(name: String) throws {
        // What an operator puts there is not on this machine.
        let unit = try text(of: "deploy/systemd/" + name)
            .replacing(#/\/opt\/alongside\/bin\/(alongside|start)/#, with: "/bin/true")
            .replacing("User=alongside", with: "User=daemon")
        #expect(try verdict(unit, name) == "")
        let broken = unit.replacing("RestartSec=", with: "RestartSecs=")
        #expect(try verdict(broken, name).contains("RestartSecs"))
    }

    @Test func `the database of a unit is where the operator's commands find it`() throws {
        let unit = try text(of: "deploy/systemd/alongside.service")
        #expect(!unit.contains("\nPrivateTmp="))
        #expect(unit.contains("\nReadWritePaths=/tmp\n"))
    }

    private func verdict(_ unit: String, _ name: String) throws -> String {
        let folder = "/tmp/alongside-units-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try unit.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
        let run = try FinishedProgram([Self.analyzer, "verify", "--man=no", "\(folder)/\(name)"])
        return run.output
    }
}
