import Foundation
import Synchronization
import Testing

@testable import VehiclePositionsKit

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite struct URLSessionRideTransportTests {
    /// What reached the session.
    final class Wire: Sendable {
        let requests = Mutex<[URLRequest]>([])

        func transport(allowsInsecure: Bool) -> URLSessionRideTransport {
            URLSessionRideTransport(allowsInsecure: allowsInsecure) { request in
                self.requests.withLock { $0.append(request) }
                guard let url = request.url,
                    let answer = HTTPURLResponse(
                        url: url,
                        statusCode: 429,
                        httpVersion: nil,
                        headerFields: ["Retry-After": "7"]
                    )
                else {
                    throw URLError(.badURL)
                }
                return (Data("{}".utf8), answer)
            }
        }
    }

    let wire = Wire()

    @Test(arguments: ["http://bus.example", "ftp://bus.example", "bus.example", "file:///tmp"])
    func `never lets an insecure URL reach the session`(url: String) async throws {
        let transport = wire.transport(allowsInsecure: false)
        await #expect(throws: RideError.self) {
            let request = RiderRequest(method: "GET", path: "/a")
            _ = try await transport.send(request, baseURL: URL(string: url)!)
        }
        #expect(wire.requests.withLock { $0.isEmpty })
    }

    @Test func `reaches an insecure server only in development`() async throws {
        let transport = wire.transport(allowsInsecure: true)
        let request = RiderRequest(method: "GET", path: "/a")
        let base = URL(string: "http://localhost:8080")!
        let answer = try await transport.send(request, baseURL: base)
        #expect(answer.status == 429)
        #expect(answer.retryAfter == .seconds(7))
        await #expect(throws: RideError.self) {
            _ = try await transport.send(request, baseURL: URL(string: "ftp://localhost")!)
        }
    }

    @Test func `keeps the path as it is escaped and sorts the query`() async throws {
        let request = RiderRequest(
            method: "POST",
            path: "/trips/a%2Fb%20c/status",
            query: ["z": "1", "a": "x&y +"],
            body: Data("{}".utf8),
            bearerToken: "secret"
        )
        let transport = wire.transport(allowsInsecure: false)
        let base = URL(string: "https://bus.example:8443/city/?drop=me#too")!
        _ = try await transport.send(request, baseURL: base)
        let sent = try #require(wire.requests.withLock { $0.first })
        #expect(
            sent.url?.absoluteString
                == "https://bus.example:8443/city/trips/a%2Fb%20c/status?a=x%26y%20%2B&z=1"
        )
        #expect(sent.httpMethod == "POST")
        #expect(sent.httpBody == Data("{}".utf8))
        #expect(sent.value(forHTTPHeaderField: "Authorization") == "Bearer secret")
        #expect(sent.value(forHTTPHeaderField: "Content-Type") == "application/json")
        #expect(sent.timeoutInterval == 10)
    }

    @Test(
        arguments: [
            ("https://a.example/x", "https://a.example/y", true),
            ("https://a.example/x", "https://A.example:443/y", true),
            ("http://localhost:8080/x", "http://localhost:8080/y", true),
            ("https://a.example/x", "http://a.example/x", false),
            ("https://a.example/x", "https://b.example/x", false),
            ("https://a.example/x", "https://a.example:8443/x", false),
            ("https://a.example/x", nil, false),
            (nil, "https://a.example/x", false),
        ] as [(String?, String?, Bool)]
    )
    func `follows a redirect only within one origin`(from: String?, to: String?, follows: Bool) {
        let first = from.flatMap { URL(string: $0) }
        let second = to.flatMap { URL(string: $0) }
        #expect(RedirectPolicy.isSameOrigin(first, second) == follows)
    }

    @Test(arguments: [
        ("gzip", true), ("br, GZIP;q=0.5", true), ("gzip ; q=1", true), ("identity", false),
        ("gzip;q=0", false), ("gzip;q=x", false), ("gzipped", false), ("", false),
    ])
    func `reads which codings a server takes`(list: String, accepts: Bool) {
        #expect(URLSessionRideTransport.namesGzip(list) == accepts)
    }

    @Test func `says how a body is packed`() async throws {
        let request = RiderRequest(
            method: "POST",
            path: "/a",
            body: Data([1]),
            contentEncoding: "gzip"
        )
        let transport = wire.transport(allowsInsecure: false)
        let answer = try await transport.send(request, baseURL: URL(string: "https://a.example")!)
        let sent = try #require(wire.requests.withLock { $0.first })
        #expect(sent.value(forHTTPHeaderField: "Content-Encoding") == "gzip")
        #expect(answer.acceptsGzip == false)
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            // A redirect to itself, for ever.
            "HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 302 Found\r\nLocation: //127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n",
            "HTTP/1.1 302 Found\r\nLocation: \u{0}\r\nContent-Length: 0\r\n\r\n",
            // Less than was promised, and more.
            "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nfew",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFF\r\nx",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20000\r\n"
                + String(repeating: "x", count: 0x20000) + "\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nX-Huge: " + String(repeating: "x", count: 2 << 20) + "\r\n\r\n",
            // No HTTP, or nothing.
            "SSH-2.0-OpenSSH_9.2p1\r\n", "\u{0}\u{0}\u{0}", "",
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
        ]
    )
    func `makes an error of an answer that is none`(answer: String) async throws {
        let server = try LoopbackServer { _ in answer }
        let exchange = SessionExchange(bodyLimitBytes: 1 << 16)
        let session = exchange.makeSession(timeoutSeconds: 2)
        let request = URLRequest(
            url: try #require(URL(string: "http://127.0.0.1:\(server.port)/")),
            timeoutInterval: 2
        )
        do {
            let (body, response) = try await exchange.run(request, on: session)
            // A redirect that is not followed is an answer like others.
            #expect((response as? HTTPURLResponse)?.statusCode == 302)
            #expect(body.isEmpty)
        } catch {}
        session.invalidateAndCancel()
    }

    @Test(.timeLimit(.minutes(1)))
    func `gives up on a server that drips`() async throws {
        let server = try DrippingServer()
        defer { server.stop() }
        let exchange = SessionExchange(bodyLimitBytes: 1 << 16)
        let session = exchange.makeSession(timeoutSeconds: 1)
        var request = URLRequest(
            url: try #require(URL(string: "http://127.0.0.1:\(server.port)/")),
            timeoutInterval: 1
        )
        request.httpMethod = "GET"
        let begun = ContinuousClock.now
        await #expect(throws: (any Error).self) { try await exchange.run(request, on: session) }
        // It would drip for a minute.
        #expect(ContinuousClock.now - begun < .seconds(30))
        session.invalidateAndCancel()
    }

    @Test(.timeLimit(.minutes(1)))
    func `carries a call over a real socket and refuses to be led away`() async throws {
        let other = try LoopbackServer { _ in "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}" }
        let elsewhere = "http://127.0.0.1:\(other.port)/stolen"
        let server = try LoopbackServer { head in
            if head.hasPrefix("GET /away") {
                return "HTTP/1.1 302 Found\r\nLocation: \(elsewhere)\r\nContent-Length: 0\r\n\r\n"
            }
            if head.hasPrefix("GET /near") {
                return "HTTP/1.1 302 Found\r\nLocation: /here\r\nContent-Length: 0\r\n\r\n"
            }
            if head.hasPrefix("GET /huge") {
                let body = String(repeating: "x", count: (1 << 20) + 1)
                return "HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n\(body)"
            }
            return "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes"
        }
        let transport = URLSessionRideTransport.insecureForDevelopment()
        let base = try #require(URL(string: "http://127.0.0.1:\(server.port)"))
        func get(_ path: String) async throws -> RiderResponse {
            let request = RiderRequest(method: "GET", path: path, bearerToken: "secret")
            return try await transport.send(request, baseURL: base)
        }
        #expect(try await get("/plain").body == Data("yes".utf8))
        #expect(server.heads.contains { $0.contains("Authorization: Bearer secret") })
        #expect(try await get("/near").body == Data("yes".utf8))
        let refused = try? await get("/away").status
        #expect(refused == nil || refused == 302)
        #expect(other.heads.isEmpty)
        await #expect(throws: (any Error).self) { try await get("/huge") }
    }

    @Test(.timeLimit(.minutes(1)))
    func `gives up when its task is cancelled`() async throws {
        let server = try LoopbackServer { _ in "" }
        let base = try #require(URL(string: "http://127.0.0.1:\(server.port)"))
        let transport = URLSessionRideTransport.insecureForDevelopment()
        let call = Task {
            try await transport.send(RiderRequest(method: "GET", path: "/"), baseURL: base)
        }
        call.cancel()
        await #expect(throws: (any Error).self) { try await call.value }
    }
}
