import Telemetry
import TestKit
import Testing

@testable import Web

@Suite(.timeLimit(.minutes(1)))
struct RequestRulesTests {
    private struct TokenAuthorizer: Authorizer {
        func authorize(_ request: HTTPRequest, access: Access) throws(HTTPError) -> Principal? {
            #expect(request.body.isEmpty)
            guard let token = request.headers.first("authorization") else {
                throw HTTPError(
                    status: 401,
                    code: "token.missing",
                    message: "missing or invalid authorization header"
                )
            }
            return Principal(subject: token, role: .rider)
        }
    }

    private let endpoints = [
        Endpoint(
            .post,
            "/ride",
            access: .roles([.rider]),
            bodyLimit: 100,
            inline: { request in
                .text((request.principal?.subject ?? "") + " " + request.clientAddress)
            }
        )
    ]

    @Test func `asks the authorizer before the body`() async throws {
        try await withServer(endpoints, authorizer: TokenAuthorizer()) { port, _ in
            let socket = try await RawSocket(port: port)
            try await socket.send(
                "POST /ride HTTP/1.1\r\nHost: t\r\nContent-Length: 900000\r\n\r\n"
            )
            let refused = try await socket.response()
            #expect(refused.status == 401)
            #expect(refused.headers.values("WWW-Authenticate") == [#"Bearer realm="alongside""#])
            let admitted = try await fetch(port, post("/ride", "{}", "Authorization: me\r\n"))
            #expect(admitted.body == "me 127.0.0.1")
        }
    }

    @Test func `refuses everybody without an authorizer`() async throws {
        try await withServer(endpoints) { port, _ in
            let response = try await fetch(port, post("/ride", "{}"))
            #expect(response.status == 403)
        }
    }

    @Test(arguments: [
        ("X-Forwarded-For: 9.9.9.9, 1.2.3.4\r\n", "1.2.3.4"),
        ("X-Forwarded-For: 9.9.9.9\r\nX-Forwarded-For: 2001:DB8::1\r\n", "2001:db8::1"),
        ("X-Forwarded-For: [2001:db8::2]:80\r\n", "2001:db8::2"),
        ("X-Forwarded-For: 1.2.3.4:5678\r\n", "1.2.3.4"),
        ("X-Forwarded-For: ::ffff:1.2.3.4\r\n", "1.2.3.4"),
        ("X-Forwarded-For: 1.2.3.4, somebody\r\n", "127.0.0.1"), ("", "127.0.0.1"),
    ])
    func `takes the last hop from a trusted proxy`(headers: String, address: String) async throws {
        var configuration = HTTPServerConfiguration()
        configuration.trustsProxyHeaders = true
        let headers = headers + "Authorization: me\r\n"
        try await withServer(endpoints, configuration, authorizer: TokenAuthorizer()) { port, _ in
            let response = try await fetch(port, post("/ride", "{}", headers))
            #expect(response.body == "me \(address)")
        }
        try await withServer(endpoints, authorizer: TokenAuthorizer()) { port, _ in
            let response = try await fetch(port, post("/ride", "{}", headers))
            #expect(response.body == "me 127.0.0.1")
        }
    }

    @Test(arguments: [
        (HTTPMethod.post, [("Sec-Fetch-Site", "cross-site")], true),
        (.post, [("Sec-Fetch-Site", "same-site")], true),
        (.post, [("Sec-Fetch-Site", "same-origin"), ("Origin", "http://evil")], false),
        (.post, [("Sec-Fetch-Site", "none")], false),
        (.get, [("Sec-Fetch-Site", "cross-site")], false),
        (.delete, [("Origin", "https://evil.example"), ("Host", "us.example")], true),
        (.post, [("Origin", "https://us.example:8080"), ("Host", "US.example:8080")], false),
        (.post, [("Origin", "https://us.example"), ("Host", "us.example:8080")], true),
        (.put, [("Origin", "null"), ("Host", "us.example")], true),
        (.patch, [("Host", "us.example")], false),
    ])
    func `refuses what a browser sends for another site`(
        method: HTTPMethod,
        headers: [(String, String)],
        isRefused: Bool
    ) {
        #expect(CrossOrigin.refuses(method, HTTPHeaders(headers)) == isRefused)
    }

    @Test func `answers 403 across origins`() async throws {
        try await withServer(endpoints, authorizer: TokenAuthorizer()) { port, _ in
            let headers = "Authorization: me\r\nSec-Fetch-Site: cross-site\r\n"
            let response = try await fetch(port, post("/ride", "{}", headers))
            #expect(response.status == 403)
        }
    }

    @Test func `listens on IPv6`() async throws {
        let configuration = HTTPServerConfiguration(host: "::1")
        let server = try HTTPServer(endpoints: endpoints, configuration: configuration)
        #expect(try server.start() > 0)
        await server.shutdown(within: .seconds(1))
        for host in ["localhost", "1.2.3", ""] {
            let bad = try HTTPServer(
                endpoints: [],
                configuration: HTTPServerConfiguration(host: host)
            )
            #expect(throws: HTTPServerError.self) { try bad.start() }
        }
    }

    @Test func `logs the pattern and counts by pattern and status`() async throws {
        let lines = LineCollector()
        let metrics = Metrics()
        let server = try HTTPServer(
            endpoints: [
                Endpoint(
                    .get,
                    "/trips/{id}",
                    access: .anyone,
                    inline: { .text($0.trace.description) }
                )
            ],
            logger: Logger(sink: { _, line in lines.append(line) }),
            metrics: metrics
        )
        let port = try server.start()
        let trace = "0af7651916cd43dd8448eb211c80319c"
        let request =
            "GET /trips/secret-id HTTP/1.1\r\nHost: t\r\n"
            + "traceparent: 00-\(trace)-b7ad6b7169203331-01\r\n\r\n"
        #expect(try await fetch(port, request).body == trace)
        #expect(try await fetch(port, get("/other")).status == 404)
        await server.shutdown(within: .seconds(5))
        let line = try #require(lines.all.first { $0.contains(trace) })
        #expect(line.contains(#""method":"GET","path":"/trips/{id}","status":200,"duration_ms":"#))
        #expect(lines.all.contains { $0.contains(#""path":"unmatched","status":404"#) })
        #expect(!lines.all.contains { $0.contains("secret-id") })
        let text = metrics.rendered()
        #expect(
            text.contains(
                #"http_requests_total{pattern="/trips/{id}",method="GET",status="2xx"} 1"#
            )
        )
        #expect(
            text.contains(#"http_requests_total{pattern="unmatched",method="any",status="4xx"} 1"#)
        )
        #expect(text.contains("http_open_connections 0.0"))
    }
}
