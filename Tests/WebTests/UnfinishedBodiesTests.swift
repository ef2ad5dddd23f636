import Telemetry
import TestKit
import Testing

@testable import Web

/// Callers who send drop by drop make room for others; addresses are those that a proxy names.
@Suite(.timeLimit(.minutes(1)))
struct UnfinishedBodiesTests {
    private static let endpoints = [
        Endpoint(
            .post,
            "/echo",
            access: .anyone,
            inline: { request in .text(String(decoding: request.body, as: UTF8.self)) }
        )
    ]

    private var configuration: HTTPServerConfiguration {
        var configuration = HTTPServerConfiguration()
        configuration.trustsProxyHeaders = true
        configuration.maximumUnfinishedBodies = 4
        return configuration
    }

    @Test func `the oldest of too many unfinished bodies are answered 503 and closed`() async throws
    {
        try await withServer(Self.endpoints, configuration) { port, _ in
            var slow: [RawSocket] = []
            for _ in 0..<5 { slow.append(try await begin(port, from: "192.0.2.1")) }
            // A quarter of the five, rounded up.
            for socket in slow[..<2] {
                let answer = try await socket.response()
                #expect(answer.status == 503)
                #expect(answer.headers.first("Retry-After") == "1")
                #expect(answer.body.contains("server.busy"))
                #expect(try await socket.isClosedByPeer())
            }
            for socket in slow[2...] { #expect(try await finish(socket) == "ab") }
        }
    }

    @Test func `as many as are admitted are waited for`() async throws {
        try await withServer(Self.endpoints, configuration) { port, _ in
            for _ in 0..<3 {
                var slow: [RawSocket] = []
                for _ in 0..<4 { slow.append(try await begin(port, from: "192.0.2.1")) }
                for socket in slow { #expect(try await finish(socket) == "ab") }
            }
        }
    }

    @Test(arguments: [
        ["192.0.2.1", "192.0.2.1", "192.0.2.1"],
        ["2001:db8::1", "2001:db8:0:0:9::1", "2001:db8::2"],
    ])
    func `the network that has most makes room, and nobody older`(crowd: [String]) async throws {
        try await withServer(Self.endpoints, configuration) { port, _ in
            let patient = try await begin(port, from: "192.0.2.77")
            var slow: [RawSocket] = []
            for address in crowd { slow.append(try await begin(port, from: address)) }
            let whole = try await fetch(
                port,
                post("/echo", "whole", "X-Forwarded-For: 192.0.2.88\r\n")
            )
            #expect(whole.status == 200)
            #expect(whole.body == "whole")
            #expect(try await slow[0].response().status == 503)
            #expect(try await finish(slow[1]) == "ab")
            #expect(try await finish(slow[2]) == "ab")
            #expect(try await finish(patient) == "ab")
        }
    }

    @Test func `a body that is thrown away counts, too`() async throws {
        try await withServer(Self.endpoints, configuration) { port, _ in
            var slow: [RawSocket] = []
            for _ in 0..<5 {
                slow.append(try await begin(port, from: "192.0.2.1", path: "/nothing"))
            }
            #expect(try await slow[0].response().status == 503)
            try await slow[4].send("b")
            #expect(try await slow[4].response().status == 404)
        }
    }

    @Test func `who has left makes no room a second time`() async throws {
        let metrics = Metrics()
        let server = try HTTPServer(
            endpoints: Self.endpoints,
            configuration: configuration,
            metrics: metrics
        )
        let port = try server.start()
        for _ in 0..<4 { _ = try await begin(port, from: "192.0.2.1") }
        try await eventually("the server has seen them leave") {
            metrics.rendered().contains("http_abandoned_requests_total 4")
        }
        var slow: [RawSocket] = []
        for _ in 0..<4 { slow.append(try await begin(port, from: "192.0.2.1")) }
        for socket in slow { #expect(try await finish(socket) == "ab") }
        await server.shutdown(within: .zero)
    }

    /// Sends a head and the first of two bytes, and waits until the server has read the head.
    private func begin(
        _ port: Int,
        from address: String,
        path: String = "/echo"
    ) async throws -> RawSocket {
        let socket = try await RawSocket(port: port)
        try await socket.send(
            "POST \(path) HTTP/1.1\r\nHost: t\r\nX-Forwarded-For: \(address)\r\nContent-Length: 2\r\n\r\na"
        )
        // Answered by the same loop, so what was sent before is read.
        _ = try await fetch(port, get("/"))
        return socket
    }

    private func finish(_ socket: RawSocket) async throws -> String {
        try await socket.send("b")
        return try await socket.response().body
    }
}
