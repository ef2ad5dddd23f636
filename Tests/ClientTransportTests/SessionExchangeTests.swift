import ClientTransport
import CompanionKit
import Foundation
import Testing
import VehiclePositionsKit

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What carries the calls of both kits, over real sockets.
@Suite struct SessionExchangeTests {
    /// A kit's own way to call a server on a developer's machine.
    enum Kit: CaseIterable {
        case rider, companion

        func get(_ path: String, _ server: URL) async throws -> (status: Int, body: Data) {
            switch self {
            case .rider:
                let request = RiderRequest(method: "GET", path: path, bearerToken: "secret")
                let transport = URLSessionRideTransport.insecureForDevelopment()
                let answer = try await transport.send(request, baseURL: server)
                return (answer.status, answer.body)
            case .companion:
                let request = CompanionRequest(method: "GET", path: path, bearerToken: "secret")
                let transport = URLSessionCompanionTransport.insecureForDevelopment()
                let answer = try await transport.send(request, serverURL: server)
                return (answer.status, answer.body)
            }
        }
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

    @Test(.timeLimit(.minutes(1)), arguments: Kit.allCases)
    func `carries a call and refuses to be led away`(kit: Kit) async throws {
        let other = try LoopbackServer { _ in "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}" }
        let elsewhere = "http://127.0.0.1:\(other.port)/stolen"
        let server = try LoopbackServer { head in
            if head.hasPrefix("GET /away") {
                return "HTTP/1.1 302 Found\r\nLocation: \(elsewhere)\r\nContent-Length: 0\r\n\r\n"
            }
            if head.hasPrefix("GET /near") {
                return "HTTP/1.1 302 Found\r\nLocation: /here\r\nContent-Length: 0\r\n\r\n"
            }
            return "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes"
        }
        let base = try #require(URL(string: "http://127.0.0.1:\(server.port)"))
        #expect(try await kit.get("/plain", base).body == Data("yes".utf8))
        #expect(server.heads.contains { $0.contains("Authorization: Bearer secret") })
        #expect(try await kit.get("/near", base).body == Data("yes".utf8))
        let refused = try? await kit.get("/away", base).status
        #expect(refused == nil || refused == 302)
        #expect(other.heads.isEmpty)
    }

    @Test(.timeLimit(.minutes(1)), arguments: [(1 << 16, true), (1 << 16 + 1, false)])
    func `takes an answer up to its limit`(length: Int, isTaken: Bool) async throws {
        let server = try LoopbackServer { _ in
            let body = String(repeating: "x", count: length)
            return "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n\(body)"
        }
        let exchange = SessionExchange(bodyLimitBytes: 1 << 16)
        let session = exchange.makeSession(timeoutSeconds: 10)
        defer { session.invalidateAndCancel() }
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
        let answer = try? await exchange.run(URLRequest(url: url), on: session)
        #expect((answer?.0.count == length) == isTaken)
    }

    @Test(.timeLimit(.minutes(1)), arguments: Kit.allCases)
    func `gives up when its task is cancelled`(kit: Kit) async throws {
        let server = try LoopbackServer { _ in "" }
        let base = try #require(URL(string: "http://127.0.0.1:\(server.port)"))
        let call = Task { try await kit.get("/", base) }
        call.cancel()
        await #expect(throws: (any Error).self) { try await call.value }
    }

    @Test(.timeLimit(.minutes(1)), arguments: [0, 1, 50])
    func `gives up however early or late its task is cancelled`(yields: Int) async throws {
        let server = try LoopbackServer { _ in "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}" }
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/"))
        let exchange = SessionExchange(bodyLimitBytes: 1 << 16)
        let session = exchange.makeSession(timeoutSeconds: 10)
        for _ in 0..<200 {
            let call = Task { try await exchange.run(URLRequest(url: url), on: session) }
            for _ in 0..<yields { await Task.yield() }
            call.cancel()
            let answer = try? await call.value
            #expect(answer.map { $0.0 == Data("{}".utf8) } ?? true)
        }
        session.invalidateAndCancel()
    }
}
