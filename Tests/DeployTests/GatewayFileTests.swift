import Foundation
import TestKit
import Testing

@testable import Operations

/// `deploy/gateway/Caddyfile`, made from `deploy/routes.json`; written anew under `WRITE_REFERENCE=1`.
@Suite(.timeLimit(.minutes(1))) struct GatewayFileTests {
    private static let path = "deploy/gateway/Caddyfile"

    private func made() throws -> String {
        let routes = try RouteTable(file: ProjectPaths.root + "/deploy/routes.json")
        return """
            # Made from deploy/routes.json by `WRITE_REFERENCE=1 swift test --filter DeployTests`; do not edit by hand.

            """ + Gateway.published(routes).caddyfile
    }

    @Test func `the file is what the routes say`() throws {
        if ProcessInfo.processInfo.environment["WRITE_REFERENCE"] != nil {
            let file = ProjectPaths.root + "/" + Self.path
            try made().write(toFile: file, atomically: true, encoding: .utf8)
        }
        #expect(try text(of: Self.path) == made())
    }

    @Test(arguments: ["localhost", "transit.example.org", "localhost, http://gateway"])
    func `the real gateway takes it under any name`(site: String) throws {
        let home = NSTemporaryDirectory() + "/alongside-caddy-\(UInt32.random(in: 0 ... .max))"
        defer { try? FileManager.default.removeItem(atPath: home) }
        let check = try FinishedProgram(
            ["caddy", "validate", "--config", Self.path, "--adapter", "caddyfile"],
            environment: ["SITE_ADDRESS": site, "HOME": home, "XDG_DATA_HOME": home]
        )
        #expect(check.status == 0, "\(check.output)")
    }
}
