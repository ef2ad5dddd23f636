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
}
