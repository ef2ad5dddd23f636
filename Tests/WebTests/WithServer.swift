import TestKit

@testable import Web

/// Starts a server for one test, hands its port over and stops it.
func withServer<Value>(
    _ endpoints: [Endpoint],
    _ configuration: HTTPServerConfiguration = HTTPServerConfiguration(),
    authorizer: any Authorizer = NoAuthorizer(),
    _ body: (Int, HTTPServer) async throws -> Value
) async throws -> Value {
    let server = try HTTPServer(
        endpoints: endpoints,
        configuration: configuration,
        authorizer: authorizer
    )
    let port = try server.start()
    do {
        let value = try await body(port, server)
        await server.shutdown(within: .seconds(5))
        return value
    } catch {
        await server.shutdown(within: .zero)
        throw error
    }
}

/// One request over a connection of its own.
func fetch(_ port: Int, _ request: String) async throws -> RawResponse {
    let socket = try await RawSocket(port: port)
    try await socket.send(request)
    return try await socket.response(hasBody: !request.hasPrefix("HEAD"))
}

/// A GET with nothing but a Host.
func get(_ path: String) -> String { "GET \(path) HTTP/1.1\r\nHost: t\r\n\r\n" }

/// A POST of JSON.
func post(_ path: String, _ body: String, _ headers: String = "") -> String {
    "POST \(path) HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n\(headers)"
        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
}
