import Foundation
import TestKit
import Testing

@testable import Operations
@testable import ServiceKit

/// What `docker compose up` would start.
@Suite(.timeLimit(.minutes(1))) struct ComposeTests {
    private let parts: [String: ComposeFile.Part]

    init() throws { parts = try ComposeFile().parts }

    private func part(_ name: String) throws -> ComposeFile.Part {
        try #require(parts[name], "\(name)")
    }

    @Test func `runs every service, each from its own target`() throws {
        for service in Fleet.definitions {
            #expect(try part(service.name).build?.target == service.name)
        }
        #expect(parts.values.filter { $0.profiles == nil }.count == Fleet.definitions.count + 4)
    }

    @Test func `shows nothing but the gateway to other machines`() throws {
        let open = parts.filter {
            !($0.value.ports ?? []).allSatisfy { $0.hasPrefix("127.0.0.1:") }
        }
        #expect(open.keys.sorted() == ["gateway"])
    }

    @Test func `everything has limits and comes back after a crash`() throws {
        for (name, part) in parts {
            #expect(part.deploy != nil, "\(name)")
            let isStep = ["secrets", "prepare", "operations"].contains(name)
            #expect(part.restart == (isStep ? "no" : "unless-stopped"), "\(name)")
            #expect(part.securityOpt == ["no-new-privileges:true"], "\(name)")
            guard name != "postgres" else { continue }
            #expect(part.readOnly == true, "\(name)")
            #expect(part.capDrop == ["ALL"], "\(name)")
            // Root without it opens no folder of another owner's.
            let opensSecrets = ["secrets", "prepare"].contains(name)
            #expect(part.capAdd == (opensSecrets ? ["DAC_OVERRIDE"] : nil), "\(name)")
        }
    }

    @Test func `each service sees its own secrets alone`() throws {
        for service in Fleet.definitions {
            let mounts = (try part(service.name).volumes ?? []).filter { $0.contains("secrets") }
            #expect(mounts == ["./secrets/\(service.name):/run/secrets:ro"])
        }
    }

    @Test func `starts from the inside out, each when the one before is healthy`() throws {
        let database = try #require(try part("postgres").dependsOn)
        #expect(database["secrets"]?.condition == "service_completed_successfully")
        for service in Fleet.definitions {
            let needs = try #require(try part(service.name).dependsOn)
            #expect(needs["postgres"]?.condition == "service_healthy")
            #expect(needs["prepare"]?.condition == "service_completed_successfully")
            let gateway = try #require(try part("gateway").dependsOn)
            #expect(gateway[service.name]?.condition == "service_healthy")
        }
    }

    @Test(arguments: ["verifier", "rider-ingest", "relay", "feed", "auth", "groups"])
    func `any number of a service can run`(name: String) throws {
        // A name or a port of the host is there once.
        #expect(try part(name).containerName == nil)
        #expect(try part(name).ports == nil)
    }

    @Test func `a file against the specification is noticed`() throws {
        let file = NSTemporaryDirectory() + "/compose-\(UInt32.random(in: 0 ... .max)).yml"
        defer { try? FileManager.default.removeItem(atPath: file) }
        let broken = try text(of: "deploy/docker-compose.yml")
            .replacing("networks: [inside]", with: "networks: [nowhere]")
        try broken.write(toFile: file, atomically: true, encoding: .utf8)
        #expect(throws: ComposeFile.Invalid.self) { try ComposeFile(file) }
    }

    @Test func `every setting that is suggested exists`() throws {
        let known = try text(of: "docs/reference/settings.md")
        for file in ["deploy/settings.env", "deploy/demo.env"] {
            for line in try text(of: file).split(separator: "\n") where !line.hasPrefix("#") {
                let key = line.prefix { $0 != "=" }
                #expect(key == "SITE_ADDRESS" || known.contains("| `\(key)` |"), "\(file): \(key)")
            }
        }
    }
}
