import Foundation
import TestKit
import Testing
import Web

@testable import Operations
@testable import ServiceKit

/// `deploy/Dockerfile` and the scripts in its images; that the images work is `scripts/check-images`' to show.
@Suite struct DockerfileTests {
    private let stages: [String: [String]]

    init() throws {
        var stages: [String: [String]] = [:]
        var name = ""
        for line in try text(of: "deploy/Dockerfile").split(separator: "\n") {
            if line.hasPrefix("FROM ") {
                name = line.split(separator: " ").last.map(String.init) ?? ""
            }
            stages[name, default: []].append(String(line))
        }
        self.stages = stages
    }

    @Test func `each service has an image with its ports and a health check`() throws {
        for service in Fleet.definitions {
            let lines = try #require(stages[service.name], "\(service.name)")
            #expect(lines.first == "FROM runtime AS \(service.name)")
            #expect(lines.contains("CMD [\"\(service.name)\"]"))
            let health = lines.first { $0.hasPrefix("HEALTHCHECK") } ?? ""
            #expect(health.hasSuffix("[\"/usr/local/bin/health\", \"\(service.internalPort)\"]"))
            let exposed = lines.first { $0.hasPrefix("EXPOSE") }
            #expect(exposed == service.publicPort.map { "EXPOSE \($0)" })
        }
    }

    @Test func `nothing runs as root, and the proxy's word counts`() throws {
        for stage in ["runtime", "gateway"] {
            #expect(stages[stage]?.contains("USER 10001:10001") == true, "\(stage)")
        }
        let runtime = try #require(stages["runtime"])
        let variables = runtime.first { $0.hasPrefix("ENV ") } ?? ""
        #expect(variables.contains("TRUST_PROXY_HEADERS=true"))
        // A later stage that becomes root again would be noticed.
        for (name, lines) in stages where name != "runtime" && name != "gateway" {
            #expect(!lines.contains { $0.hasPrefix("USER") }, "\(name)")
        }
    }

    @Test func `builds the products that it copies`() throws {
        let build = try #require(stages["build"]).joined(separator: " ")
        for lines in stages.values {
            for line in lines where line.hasPrefix("COPY --from=build /out/") {
                let product = line.split(separator: " ")[2].split(separator: "/").last ?? ""
                #expect(build.contains(" \(product) "), "\(product)")
            }
        }
    }

    @Test func `has each C library that is linked, and its headers where that is done`() throws {
        func words(_ stage: String) throws -> Set<Substring> {
            Set(try #require(stages[stage]).joined(separator: " ").split(separator: " "))
        }
        let headers = try text(of: "Package.swift").matches(of: #/apt: "([a-z0-9.-]+)"/#)
            .map { String($0.1) }
        #expect(headers.count >= 9)
        for package in headers {
            #expect(try words("build").contains(Substring(package)), "\(package)")
            let needs = try FinishedProgram(["dpkg-query", "-W", "-f=${Depends}", package])
            // A library is of the very version of its headers.
            let library = try #require(
                needs.output.firstMatch(of: #/(lib|zlib)[a-z0-9.-]+(?= \(= )/#)
            )
            #expect(try words("runtime").contains(library.0), "\(library.0)")
        }
    }

    @Test(arguments: ["start", "health", "prepare", "site"])
    func `the scripts of the images parse`(name: String) throws {
        let path = "deploy/image/\(name)"
        let shell = try text(of: path).hasPrefix("#!/bin/bash") ? "bash" : "sh"
        #expect(try FinishedProgram([shell, "-n", path]).status == 0)
        #expect(FileManager.default.isExecutableFile(atPath: ProjectPaths.root + "/" + path))
    }

    @Test(arguments: [(200, Int32(0)), (503, Int32(1))])
    func `a container is healthy when it says so`(status: Int, code: Int32) async throws {
        let server = try HTTPServer(
            endpoints: [
                Endpoint(.get, "/health", access: .anyone) { _ in HTTPResponse(status: status) }
            ],
            configuration: HTTPServerConfiguration()
        )
        let port = try server.start()
        #expect(try FinishedProgram(["deploy/image/health", "\(port)"]).status == code)
        await server.shutdown(within: .zero)
        // Nobody there.
        #expect(try FinishedProgram(["deploy/image/health", "\(port)"]).status == 1)
    }

    @Test func `a service is told the files of its own secrets, and where it is`() throws {
        let folder = "/tmp/alongside-start-\(UInt32.random(in: 0 ... .max))"
        let files = FileManager.default
        try files.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? files.removeItem(atPath: folder) }
        try "#!/bin/sh\nenv\n".write(
            toFile: folder + "/rider-ingest",
            atomically: true,
            encoding: .utf8
        )
        try files.setAttributes(
            [.posixPermissions: 0o755],
            ofItemAtPath: folder + "/rider-ingest"
        )
        for name in ["database-url", "jwt-key-rider", "bus-secret-key"] {
            _ = files.createFile(atPath: "\(folder)/secrets_\(name)", contents: Data("x".utf8))
        }
        let run = try FinishedProgram(
            ["deploy/image/start", "rider-ingest"],
            environment: [
                "PATH": "\(folder):/usr/bin:/bin", "SECRETS_FOLDER": folder,
                "BUS_ADVERTISE_HOST": "10.1.2.3", "ADMIN_BOOTSTRAP_EMAIL": "a@example.org",
            ]
        )
        let lines = Set(run.output.split(separator: "\n").map(String.init))
        let told = lines.filter {
            $0.contains("=\(folder)/secrets_") || $0.hasPrefix("BUS_ADVERTISE_HOST")
        }
        #expect(
            told == [
                "RIDER_INGEST_DATABASE_URL_FILE=\(folder)/secrets_database-url",
                "JWT_KEY_RIDER_FILE=\(folder)/secrets_jwt-key-rider",
                "BUS_CURVE_SECRET_KEY_FILE=\(folder)/secrets_bus-secret-key",
                "BUS_ADVERTISE_HOST=10.1.2.3",
            ],
            "\(run.output)"
        )
    }
}
