import Synchronization
import Testing

@testable import Web

@Suite(.timeLimit(.minutes(1)))
struct HTTPClientTests {
    private let gate = Gate()
    private let content = ConditionalContent(
        Array(String(repeating: "position ", count: 1000).utf8),
        contentType: "text/plain",
        lastModified: 784_111_777
    )

    private var endpoints: [Endpoint] {
        [
            Endpoint(.get, "/content", access: .anyone, inline: { content.response(to: $0) }),
            Endpoint(
                .get,
                "/wait",
                access: .anyone,
                handler: { [gate] _ in
                    await gate.pass()
                    return .text("late")
                }
            ),
            Endpoint(
                .get,
                "/hop/{count}",
                access: .anyone,
                inline: { request in
                    guard let count = Int(request.parameter("count")), count > 0 else {
                        return .text("there")
                    }
                    return HTTPResponse(status: 302, headers: [("Location", "\(count - 1)")])
                }
            ),
            Endpoint(
                .get,
                "/file",
                access: .anyone,
                inline: { _ in
                    HTTPResponse(status: 302, headers: [("Location", "file:///etc/hostname")])
                }
            ),
            Endpoint(.put, "/echo", access: .anyone, inline: Self.echo),
            Endpoint(.post, "/echo", access: .anyone, inline: Self.echo),
            Endpoint(.delete, "/echo", access: .anyone, inline: Self.echo),
        ]
    }

    private static let echo: @Sendable (HTTPRequest) throws -> HTTPResponse = { request in
        var response = HTTPResponse(body: .bytes(request.body))
        response.headers.append(("X-Method", request.method.rawValue))
        response.headers.append(("X-Kind", request.headers.first("X-Kind") ?? "none"))
        return response
    }

    private func withClient(
        _ body: (HTTPClient, String) async throws -> Void
    ) async throws {
        try await withServer(endpoints) { port, _ in
            let client = HTTPClient()
            try await body(client, "http://127.0.0.1:\(port)")
            client.close()
        }
    }

    @Test func `fetches once and then asks whether it changed`() async throws {
        try await withClient { client, base in
            let first = try await client.get(base + "/content")
            #expect(first.status == 200)
            #expect(first.body.count == 9000)
            #expect(first.headers.first("content-encoding") == "gzip")
            let tag = try #require(first.headers.first("etag"))
            let second = try await client.get(base + "/content", headers: [("If-None-Match", tag)])
            #expect(second.status == 304)
            #expect(second.body.isEmpty)
        }
    }

    @Test(arguments: [HTTPMethod.post, .put, .delete])
    func `sends a body`(method: HTTPMethod) async throws {
        try await withClient { client, base in
            for size in [0, 5, 60_000] {
                let response = try await client.send(
                    method,
                    base + "/echo",
                    headers: [("X-Kind", "test")],
                    body: [UInt8](repeating: 0x61, count: size)
                )
                #expect(response.status == 200)
                #expect(response.body.count == size)
                #expect(response.headers.first("x-method") == method.rawValue)
                #expect(response.headers.first("x-kind") == "test")
            }
        }
    }

    @Test func `holds the size limit on both sides, counted after inflating`() async throws {
        try await withClient { client, base in
            let enough = HTTPClientLimits(bodyBytes: 9000)
            let whole = try await client.get(base + "/content", limits: enough)
            #expect(whole.body.count == 9000)
            await #expect(throws: HTTPClientError.tooLarge(limit: 8999)) {
                try await client.get(base + "/content", limits: HTTPClientLimits(bodyBytes: 8999))
            }
        }
    }

    @Test func `follows redirects only when told, and only over HTTP`() async throws {
        try await withClient { client, base in
            let hop = try await client.get(base + "/hop/2")
            #expect(hop.status == 302)
            let two = HTTPClientLimits(redirects: 2)
            let end = try await client.get(base + "/hop/2", limits: two)
            #expect(end.body == Array("there".utf8))
            await #expect(throws: HTTPClientError.tooManyRedirects) {
                try await client.get(base + "/hop/3", limits: two)
            }
            await #expect(throws: HTTPClientError.self) {
                try await client.get(base + "/file", limits: two)
            }
        }
    }

    @Test func `gives up in time`() async throws {
        try await withClient { client, base in
            await #expect(throws: HTTPClientError.timedOut) {
                let limits = HTTPClientLimits(time: .milliseconds(100))
                _ = try await client.get(base + "/wait", limits: limits)
            }
            gate.open()
        }
    }

    @Test func `ends with the task that asked and with the client`() async throws {
        try await withClient { client, base in
            let task = Task { try await client.get(base + "/wait") }
            await gate.arrivals(1)
            task.cancel()
            await #expect(throws: HTTPClientError.cancelled) { try await task.value }
            let other = Task { try await client.get(base + "/wait") }
            await gate.arrivals(2)
            client.close()
            await #expect(throws: HTTPClientError.closed) { try await other.value }
            await #expect(throws: HTTPClientError.closed) { try await client.get(base) }
            gate.open()
        }
    }

    @Test(arguments: ["file:///etc/hostname", "ftp://127.0.0.1/", "nonsense://x", "", "http://"])
    func `speaks HTTP alone`(url: String) async {
        let client = HTTPClient()
        await #expect(throws: HTTPClientError.invalidURL) { try await client.get(url) }
    }

    @Test func `refuses a header with a line break`() async {
        let client = HTTPClient()
        await #expect(throws: HTTPClientError.invalidURL) {
            try await client.get("http://127.0.0.1:1/", headers: [("X-A", "1\r\nX-B: 2")])
        }
    }

    @Test func `says that nobody listens`() async {
        // Never handed out by the system, as a port that another test just gave back is.
        let client = HTTPClient()
        let error = await #expect(throws: HTTPClientError.self) {
            try await client.get("http://127.0.0.1:1/")
        }
        guard case .cannotConnect = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test func `keeps connections and runs many requests at once`() async throws {
        try await withClient { client, base in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<200 {
                    group.addTask { try await client.get(base + "/content").status }
                }
                for try await status in group { #expect(status == 200) }
            }
        }
    }
}
