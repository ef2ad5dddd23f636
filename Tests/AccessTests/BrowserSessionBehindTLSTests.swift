import AuthService
import Foundation
import ServiceKit
import TestKit
import Testing
import Web

@testable import Operations

/// The cookie of staff as a browser gets it in a deployment: auth behind the published gateway.
@Suite(.timeLimit(.minutes(2))) struct BrowserSessionBehindTLSTests {
    private static let session = "/api/v1/auth/session"

    @Test func `is Secure, hidden from scripts, kept from other sites, and works`() async throws {
        try await withPublishedAuth { base, jar in
            let credentials =
                #"{"email":"root@example.org","password":"\#(AccountClient.password)"}"#
            let open = { (more: [String]) in
                let json = ["-H", "Content-Type: application/json", "--data", credentials]
                return try curl(base + Self.session, json + more)
            }
            // What the caller says about the scheme is not what the gateway says.
            for more in [[], ["-H", "X-Forwarded-Proto: http"]] {
                let answer = try open(more + ["-c", jar])
                #expect(answer.contains("HTTP/2 204"), "\(answer)")
                let cookies = answer.split(separator: "\r\n").filter {
                    $0.hasPrefix("set-cookie: vp_session=")
                }
                #expect(cookies.count == 1)
                #expect(
                    cookies.first?.hasSuffix(
                        "; Path=/; Max-Age=86400; HttpOnly; SameSite=Lax; Secure"
                    ) == true
                )
            }
            let users = base + "/api/v1/admin/users"
            let list = try curl(users, ["-b", jar])
            #expect(list.contains("HTTP/2 200"), "\(list)")
            #expect(list.contains("root@example.org"))

            // The gateway hands on where a browser says that a call comes from, and our own name.
            let own = try open(["-H", "Origin: " + base])
            #expect(own.contains("HTTP/2 204"), "\(own)")
            let end = ["-b", jar, "-X", "DELETE"]
            for foreign in ["Origin: https://evil.example", "Sec-Fetch-Site: cross-site"] {
                let refused = try open(["-H", foreign])
                #expect(refused.contains("HTTP/2 403"), "\(refused)")
                #expect(!refused.contains("set-cookie"))
                let kept = try curl(base + Self.session, end + ["-H", foreign])
                #expect(kept.contains("HTTP/2 403"), "\(kept)")
            }
            let ended = try curl(base + Self.session, end)
            #expect(ended.contains("HTTP/2 204"), "\(ended)")
            #expect(
                ended.contains(
                    "set-cookie: vp_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax; Secure\r\n"
                )
            )
            #expect(try curl(users, ["-b", jar]).contains("HTTP/2 401"))
        }
    }

    /// An auth with what the images set, the real gateway's text with other ports, and a cookie jar.
    private func withPublishedAuth(
        _ body: (_ base: String, _ jar: String) async throws -> Void
    ) async throws {
        let fleet = try await TestFleet()
        try await AccountClient.addStaff(.admin, "root@example.org", in: fleet)
        let (auth, port) = try await RunningService.start(
            Auth.definition,
            in: fleet,
            environment: AccountClient.environment.merging(["TRUST_PROXY_HEADERS": "true"]) { $1 },
            replacesHandlers: false
        )
        let ports = try TestPort.free(3)
        let gateway = Gateway(
            routes: try RouteTable(file: ProjectPaths.root + "/deploy/routes.json"),
            upstreams: ["auth": .name("127.0.0.1", port: port)],
            site: .published,
            retryDuration: "200ms"
        )
        let text = gateway.caddyfile.replacing("{$HTTP_PORT:8080}", with: "\(ports[1])")
            .replacing("\(Gateway.healthPort)", with: "\(ports[2])")
        let base = "https://localhost:\(ports[0])"
        let caddy = try RunningCaddy(text, site: base)
        defer { caddy.stop() }
        try await caddy.waitUntilListening(on: ports[0])
        try await waitForCertificate(base)
        let jar = NSTemporaryDirectory() + "/jar-\(UInt32.random(in: 0 ... .max))"
        defer { try? FileManager.default.removeItem(atPath: jar) }
        try await body(base, jar)
        await auth.stop()
    }

    /// The gateway listens before it has signed its certificate.
    private func waitForCertificate(_ base: String) async throws {
        let deadline = ContinuousClock.now + .seconds(20)
        while try !curl(base + "/api/health", []).contains("HTTP/2 200") {
            try #require(.now < deadline, "no certificate")
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// The answer with its headers.
    private func curl(_ url: String, _ arguments: [String]) throws -> String {
        try FinishedProgram(["curl", "-4sk", "-m", "20", "-D", "-", url] + arguments).output
    }
}
