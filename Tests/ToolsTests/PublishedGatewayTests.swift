import Foundation
import TestKit
import Testing
import Web

@testable import Operations

/// The gateway of a deployment: TLS under the operator's name, services found by theirs.
@Suite(.timeLimit(.minutes(1))) struct PublishedGatewayTests {
    @Test func `speaks TLS and hands calls on to whoever has the service's name`() async throws {
        try await withGateway { port, seen in
            let answer = try curl("https://localhost:\(port)/api/health", "-D", "-")
            #expect(answer.output.contains("HTTP/2 200"), "\(answer.output)")
            #expect(answer.output.contains("strict-transport-security: max-age=31536000"))
            #expect(seen.requests.count == 1)
            // Through one proxy, whose word about the caller counts.
            #expect(seen.requests.map(\.address) == ["127.0.0.1"])
        }
    }

    @Test func `answers itself what no service has, is down or is too large`() async throws {
        try await withGateway { port, seen in
            let base = "https://localhost:\(port)"
            let unknown = try curl(base + "/nowhere")
            #expect(unknown.output.contains("path.unknown"), "\(unknown.output)")
            let down = try curl(base + "/gtfs-rt/vehicle-positions", "-D", "-")
            #expect(down.output.contains("service.unavailable"), "\(down.output)")
            #expect(down.output.contains("retry-after: 2"))
            let large = String(repeating: "a", count: 1 << 20 + 1)
            let file = NSTemporaryDirectory() + "/large-\(UInt32.random(in: 0 ... .max))"
            try large.write(toFile: file, atomically: true, encoding: .utf8)
            defer { try? FileManager.default.removeItem(atPath: file) }
            let refused = try curl(base + "/api/health", "-D", "-", "--data-binary", "@" + file)
            // Not the body: curl often reads no further when the refusal comes before all is sent.
            #expect(refused.output.contains("HTTP/2 413"), "\(refused.output)")
            #expect(seen.requests.isEmpty)
        }
    }

    private func curl(_ arguments: String...) throws -> FinishedProgram {
        try FinishedProgram(["curl", "-4sk", "-m", "20"] + arguments)
    }

    /// The real text, but for the ports, which other tests may use.
    private func withGateway(_ body: (Int, SeenRequests) async throws -> Void) async throws {
        let seen = SeenRequests()
        var configuration = HTTPServerConfiguration()
        configuration.trustsProxyHeaders = true
        let server = try HTTPServer(endpoints: seen.endpoints, configuration: configuration)
        let behind = try server.start()
        let ports = try TestPort.free(4)
        let gateway = Gateway(
            routes: try RouteTable(file: ProjectPaths.root + "/deploy/routes.json"),
            upstreams: [
                "auth": .name("127.0.0.1", port: behind),
                "feed": .name("127.0.0.1", port: ports[3]),
            ],
            site: .published,
            retryDuration: "200ms"
        )
        let text = gateway.caddyfile.replacing("{$HTTP_PORT:8080}", with: "\(ports[1])")
            .replacing("\(Gateway.healthPort)", with: "\(ports[2])")
        let caddy = try RunningCaddy(text, site: "https://localhost:\(ports[0])")
        defer { caddy.stop() }
        try await caddy.waitUntilListening(on: ports[0])
        seen.forget()
        try await body(ports[0], seen)
        await server.shutdown(within: .zero)
    }
}
