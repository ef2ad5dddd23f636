import Foundation
import TestKit
import Testing
import Web

@testable import Operations

/// The gateway's half of the hardening table: what a service cannot see behind its HTTP library.
///
/// A real Caddy runs on the configuration that `alongside up` writes; behind it one server says
/// what reached it.
@Suite(.timeLimit(.minutes(1)))
struct GatewayTests {
    struct Probe: Sendable, CustomTestStringConvertible {
        let name: String
        let request: String
        let status: Int
        var testDescription: String { name }

        init(_ name: String, _ request: String, _ status: Int) {
            self.name = name
            self.request = request
            self.status = status
        }
    }

    private static let end = "Host: t\r\nConnection: close\r\n\r\n"

    static let probes = [
        Probe("NUL in a value", "GET /api/health HTTP/1.1\r\nX-A: a\0b\r\n\(end)", 400),
        Probe("control byte in a name", "GET /api/health HTTP/1.1\r\nX\u{1}A: b\r\n\(end)", 400),
        Probe("space before the colon", "GET /api/health HTTP/1.1\r\nX-A : b\r\n\(end)", 400),
        Probe("no Host", "GET /api/health HTTP/1.1\r\nConnection: close\r\n\r\n", 400),
        Probe("two Host", "GET /api/health HTTP/1.1\r\nHost: u\r\n\(end)", 400),
        Probe(
            "two Content-Length",
            "POST /api/health HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\(end)abcd",
            400
        ),
        Probe(
            "-1 as Content-Length",
            "POST /api/health HTTP/1.1\r\nContent-Length: -1\r\n\(end)",
            400
        ),
        Probe(
            "unknown transfer coding",
            "POST /api/health HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\(end)0\r\n\r\n",
            501
        ),
        Probe(
            "64 kB header",
            "GET /api/health HTTP/1.1\r\nX-A: \(String(repeating: "a", count: 65_536))\r\n\(end)",
            431
        ),
        Probe(
            "2 MB announced",
            "POST /api/health HTTP/1.1\r\nContent-Length: 2097152\r\n\(end)",
            413
        ),
        Probe("a climb", "GET /api/v1/auth/trips/..%2F../status HTTP/1.1\r\n\(end)", 404),
        Probe("a path nobody answers", "GET /nowhere HTTP/1.1\r\n\(end)", 404),
        Probe("users are auth's", "GET /api/v1/admin/users/7 HTTP/1.1\r\n\(end)", 404),
        Probe(
            "users' vehicles are the feed's",
            "GET /api/v1/admin/users/7/vehicles HTTP/1.1\r\n\(end)",
            503
        ),
        Probe(
            "each of users' vehicles is the feed's",
            "DELETE /api/v1/admin/users/7/vehicles/bus HTTP/1.1\r\n\(end)",
            503
        ),
        Probe("a service that is down", "GET /gtfs-rt/vehicle-positions HTTP/1.1\r\n\(end)", 503),
    ]

    @Test(arguments: probes)
    func `refuses what no service should see`(probe: Probe) async throws {
        try await withGateway { port, seen in
            let socket = try await RawSocket(port: port)
            try await socket.send(probe.request)
            #expect(try await socket.response().status == probe.status)
            #expect(seen.requests.isEmpty)
        }
    }

    private static func chunked(_ body: String) -> String {
        "POST /api/health HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\(end)\(body)"
    }

    private static func announced(_ count: Int, _ path: String = "/api/health") -> String {
        "POST \(path) HTTP/1.1\r\nContent-Length: \(count)\r\n\(end)"
            + String(repeating: "a", count: count)
    }

    /// A phone that is told 503 sends the same again for ever.
    static let bodies = [
        Probe("66 kB", announced(66_000), 413), Probe("1 MB", announced(1_000_000), 413),
        Probe("1 MiB", announced(1 << 20), 413), Probe("over 1 MiB", announced(1 << 20 + 1), 413),
        Probe(
            "20 MB announced",
            "POST /api/health HTTP/1.1\r\nContent-Length: 20000000\r\n\(end)",
            413
        ),
        Probe("1 MB from who may not", announced(1_000_000, "/api/v1/auth/locked"), 403),
        Probe(
            "1 MB in chunks",
            chunked("F4240\r\n\(String(repeating: "a", count: 1_000_000))\r\n0\r\n\r\n"),
            413
        ),
        Probe(
            "2 MB in chunks",
            chunked("1E8480\r\n\(String(repeating: "a", count: 2_000_000))\r\n0\r\n\r\n"),
            413
        ),
        Probe("a chunk of size zz", chunked("zz\r\nabc\r\n0\r\n\r\n"), 400),
        Probe("a chunk of size -1", chunked("-1\r\nabc\r\n0\r\n\r\n"), 400),
        Probe("an endless chunk size", chunked("FFFFFFFFFFFFFFFFF\r\nabc\r\n"), 400),
        Probe(
            "2,000 headers",
            "GET /api/health HTTP/1.1\r\n"
                + (0..<2000).map { "h\($0): b\r\n" }.joined() + end,
            431
        ),
    ]

    @Test(arguments: bodies)
    func `answers what is too much or broken the same each time`(probe: Probe) async throws {
        try await withGateway { port, _ in
            for _ in 0..<4 {
                let socket = try await RawSocket(port: port)
                try await socket.send(probe.request)
                let response = try await socket.response()
                #expect(response.status == probe.status)
                #expect(response.headers.first("Content-Type") == "application/json")
                #expect(response.body.contains("\"code\":"))
                #expect(response.headers.first("Retry-After") == nil)
            }
        }
    }

    @Test func `rewrites folded headers and bare line feeds cleanly`() async throws {
        try await withGateway { port, seen in
            for request in [
                "GET /api/health HTTP/1.1\r\nX-A: a\r\n b\r\n\(Self.end)",
                "GET /api/health HTTP/1.1\nX-A: a b\nHost: t\nConnection: close\n\n",
            ] {
                let socket = try await RawSocket(port: port)
                try await socket.send(request)
                #expect(try await socket.response().status == 200)
            }
            #expect(seen.requests.map(\.mark) == ["a b", "a b"])
        }
    }

    @Test func `reads a request once, whatever its length is said to be`() async throws {
        try await withGateway { port, seen in
            let hidden = "GET /api/health HTTP/1.1\r\nX-A: smuggled\r\n\(Self.end)"
            let socket = try await RawSocket(port: port)
            try await socket.send(
                "POST /api/health HTTP/1.1\r\nHost: t\r\nX-A: outer\r\n"
                    + "Content-Length: \(hidden.utf8.count + 5)\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "0\r\n\r\n" + hidden
            )
            _ = try? await socket.isClosedByPeer()
            // Whoever believed the length would have the second request as the first one's body.
            #expect(seen.requests.allSatisfy { $0.mark != "outer" || $0.body.isEmpty })
        }
    }

    @Test(arguments: [
        ("a%2Fb%20c", "a/b c"), ("a%252Fb", "a%2Fb"), ("%C3%A9", "é"), ("a+b", "a+b"),
    ])
    func `hands an encoded path on as it was sent`(segment: String, identifier: String) async throws
    {
        try await withGateway { port, seen in
            let socket = try await RawSocket(port: port)
            try await socket.send(
                "GET /api/v1/auth/trips/\(segment)/status HTTP/1.1\r\n\(Self.end)"
            )
            #expect(try await socket.response().status == 200)
            #expect(seen.requests.map(\.trip) == [identifier])
        }
    }

    @Test func `tells services the caller's own address, not what the caller claims`() async throws
    {
        try await withGateway { port, seen in
            let socket = try await RawSocket(port: port)
            try await socket.send(
                "GET /api/health HTTP/1.1\r\nX-Forwarded-For: 203.0.113.9\r\n\(Self.end)"
            )
            #expect(try await socket.response().status == 200)
            #expect(seen.requests.map(\.address) == ["127.0.0.1"])
        }
    }

    // MARK: - Surroundings

    private func withGateway(_ body: (Int, SeenRequests) async throws -> Void) async throws {
        let seen = SeenRequests()
        var configuration = HTTPServerConfiguration()
        configuration.trustsProxyHeaders = true
        let server = try HTTPServer(endpoints: seen.endpoints, configuration: configuration)
        let behind = try server.start()
        let port = try TestPort.free(1)[0]
        let down = try LoopbackListener(listens: false)
        let gateway = Gateway(
            routes: try RouteTable(file: ProjectPaths.root + "/deploy/routes.json"),
            upstreams: [
                "auth": .addresses(["127.0.0.1:\(behind)"]),
                "feed": .addresses(["127.0.0.1:\(down.port)"]),
            ],
            site: .local(
                bind: "127.0.0.1",
                port: port,
                supervisor: "127.0.0.1:\(behind)"
            ),
            retryDuration: "200ms"
        )
        let caddy = try RunningCaddy(gateway.caddyfile)
        defer { caddy.stop() }
        try await caddy.waitUntilListening(on: port)
        seen.forget()
        try await body(port, seen)
        withExtendedLifetime(down) {}
        await server.shutdown(within: .zero)
    }
}
