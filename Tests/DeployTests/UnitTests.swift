import Foundation
import TestKit
import Testing

/// `deploy/systemd`, for those without containers.
@Suite struct UnitTests {
    private static let analyzer = "/usr/bin/systemd-analyze"

    @Test(
        .enabled(if: FileManager.default.isExecutableFile(atPath: analyzer)),
        arguments: ["alongside.service", "alongside@.service", "alongside-gateway.service"]
    )
    func `systemd has nothing to say against a unit`(name: String) throws {
        // The guide has operators put our executables and deploy/ there; what a unit starts must be among them.
        let unit = try text(of: "deploy/systemd/" + name)
            .replacing("/opt/alongside/bin/", with: Self.programs + "/")
            .replacing("/opt/alongside/deploy/", with: ProjectPaths.root + "/deploy/")
            .replacing("User=alongside", with: "User=daemon")
        #expect(try verdict(unit, name) == "")
        let broken = unit.replacing("RestartSec=", with: "RestartSecs=")
        #expect(try verdict(broken, name).contains("RestartSecs"))
        let lost = unit.replacing(#/ExecStart=\S+/#, with: "ExecStart=\(Self.programs)/nothing")
        #expect(try verdict(lost, name).contains("nothing is not executable"))
    }

    @Test func `files that units name are there`() throws {
        for name in ["alongside.service", "alongside@.service", "alongside-gateway.service"] {
            let unit = try text(of: "deploy/systemd/" + name)
            for path in unit.matches(of: #/\/opt\/alongside\/(deploy\/\S+)/#) {
                let file = "\(ProjectPaths.root)/\(path.1)"
                #expect(FileManager.default.fileExists(atPath: file), "\(path.0)")
            }
        }
    }

    @Test func `the guide has the libraries of the images installed`() throws {
        func libraries(_ text: Substring) -> Set<Substring> {
            Set(text.matches(of: #/(lib|zlib)[a-z0-9.-]+/#).map { $0.0 })
        }
        let guide = try text(of: "docs/guides/operators.md")
        let line = try #require(guide.firstMatch(of: #/\napt-get install lib[^\n]+/#)).0
        let images = try text(of: "deploy/Dockerfile")
        let runtime = try #require(images.firstMatch(of: #/ AS runtime\n(?s:.)*? rm -rf/#)).0
        #expect(libraries(line) == libraries(runtime))
        #expect(libraries(line).count >= 9)
    }

    @Test func `the metrics of services on machines of their own are within reach`() throws {
        let unit = try text(of: "deploy/systemd/alongside@.service")
        #expect(unit.contains(#/\nEnvironment=.* INTERNAL_HOST=0\.0\.0\.0 /#))
    }

    @Test(arguments: ["alongside.service", "alongside-gateway.service"])
    func `the public's ports are open to a unit that is not root`(name: String) throws {
        let unit = try text(of: "deploy/systemd/" + name)
        #expect(unit.contains("\nAmbientCapabilities=CAP_NET_BIND_SERVICE\n"))
        #expect(unit.contains("\nCapabilityBoundingSet=CAP_NET_BIND_SERVICE\n"))
    }

    @Test func `the database of a unit is where the operator's commands find it`() throws {
        let unit = try text(of: "deploy/systemd/alongside.service")
        #expect(!unit.contains("\nPrivateTmp="))
        #expect(unit.contains("\nReadWritePaths=/tmp\n"))
    }

    /// Our executables, beside the tests.
    private static let programs = URL(fileURLWithPath: "/proc/self/exe")
        .resolvingSymlinksInPath().deletingLastPathComponent().path

    private func verdict(_ unit: String, _ name: String) throws -> String {
        let folder = "/tmp/alongside-units-\(UInt32.random(in: 0 ... .max))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try unit.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
        let run = try FinishedProgram([Self.analyzer, "verify", "--man=no", "\(folder)/\(name)"])
        return run.output
    }
}
