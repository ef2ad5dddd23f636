import Foundation
import Synchronization
import TestKit
import Testing
import Web

@testable import Operations

/// Who waits for a password hash takes nobody else's way to auth.
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
