import Foundation
import Synchronization
import Telemetry
import TestKit
import Testing
import Web

@testable import AuthService
@testable import Operations

/// Who waits for a password hash, or sends a log-in drop by drop, takes nobody else's way to auth.
@Suite(.timeLimit(.minutes(1))) struct GatewayQueueTests {
    private static let connections = 4
    private static let end = "Host: t\r\nContent-Length: 0\r\n\r\n"

    @Test func `log-ins beyond the route's connections wait in the gateway, a refresh does not`()
        async throws
    {
        let arrived = Atomic<Int>(0)
        let isOpen = Atomic<Bool>(false)
        var configuration = HTTPServerConfiguration()
        configuration.requestDeadline = .seconds(40)
        let endpoints = [
            Endpoint(.post, "/api/v1/auth/login", access: .anyone) { _ in
                arrived.wrappingAdd(1, ordering: .relaxed)
                try await eventually("log-ins go on") { isOpen.load(ordering: .relaxed) }
                return .empty(204)
            },
            Endpoint(.post, "/api/v1/auth/refresh", access: .anyone, inline: { _ in .empty(204) }),
        ]
        let server = try HTTPServer(endpoints: endpoints, configuration: configuration)
        let behind = try server.start()
        let port = try TestPort.free(1)[0]
        let caddy = try RunningCaddy(caddyfile(port, behind))
        defer { caddy.stop() }
        try await caddy.waitUntilListening(on: port)

        var waiting: [RawSocket] = []
        for _ in 0..<3 * Self.connections {
            let socket = try await RawSocket(port: port)
            try await socket.send("POST /api/v1/auth/login HTTP/1.1\r\n\(Self.end)")
            waiting.append(socket)
        }
        try await eventually("the route is full") {
            arrived.load(ordering: .relaxed) == Self.connections
        }
        for _ in 0..<20 {
            let socket = try await RawSocket(port: port)
            try await socket.send("POST /api/v1/auth/refresh HTTP/1.1\r\n\(Self.end)")
            #expect(try await socket.response().status == 204)
        }
        #expect(arrived.load(ordering: .relaxed) == Self.connections)

        isOpen.store(true, ordering: .relaxed)
        for socket in waiting { #expect(try await socket.response().status == 204) }
        #expect(arrived.load(ordering: .relaxed) == waiting.count)
        await server.shutdown(within: .zero)
    }

    @Test func `log-ins that come drop by drop let others through`() async throws {
        var configuration = HTTPServerConfiguration()
        configuration.trustsProxyHeaders = true
        configuration.maximumUnfinishedBodies = Self.connections - 1
        let endpoints = [
            Endpoint(.post, "/api/v1/auth/login", access: .anyone, inline: { _ in .empty(204) })
        ]
        let metrics = Metrics()
        let server = try HTTPServer(
            endpoints: endpoints,
            configuration: configuration,
            metrics: metrics
        )
        let behind = try server.start()
        let port = try TestPort.free(1)[0]
        let caddy = try RunningCaddy(caddyfile(port, behind))
        defer { caddy.stop() }
        try await caddy.waitUntilListening(on: port)

        let head = "POST /api/v1/auth/login HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n\r\n"
        var slow: [RawSocket] = []
        for _ in 0..<10 * Self.connections {
            let socket = try await RawSocket(port: port)
            try await socket.send(head + "{")
            slow.append(socket)
        }
        // Each gets its answer although the bodies before it are not whole.
        for _ in 0..<20 {
            let socket = try await RawSocket(port: port)
            try await socket.send(head + "{}")
            #expect(try await socket.response().status == 204)
        }
        // All made room but as many as are waited for, none was left to the gateway's own cut after 15 s.
        let ended = slow.count - Self.connections
        try await eventually("the slow ones make room") {
            let lines = metrics.rendered().split(separator: "\n")
            let cut = lines.first { $0.hasPrefix("http_cut_connections_total ") }
            return cut.flatMap { $0.split(separator: " ").last }.flatMap { Int($0) } ?? 0 >= ended
        }
        await server.shutdown(within: .zero)
    }

    @Test func `auth leaves the gateway connections for log-ins`() throws {
        let held = Auth.maximumUnfinishedBodies + PasswordWorker.callerLimit
        for route in try RouteTable(file: ProjectPaths.root + "/deploy/routes.json").routes
        where route.service == "auth" {
            if let connections = route.connections {
                #expect(connections >= held, "\(route.prefix)")
            }
        }
    }

    private func caddyfile(_ port: Int, _ behind: Int) -> String {
        let routes = RouteTable([
            .init(prefix: "/api/v1/auth/", service: "auth"),
            .init(
                prefix: "/api/v1/auth/login",
                service: "auth",
                connections: Self.connections
            ),
        ])
        return Gateway(
            routes: routes,
            upstreams: ["auth": .addresses(["127.0.0.1:\(behind)"])],
            site: .local(bind: "127.0.0.1", port: port, supervisor: "127.0.0.1:\(behind)")
        ).caddyfile
    }
}
