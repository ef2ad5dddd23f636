import Foundation
import Testing

@testable import CompanionKit

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite struct TransportTests {
    static func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    @Test(arguments: ["http://a.example", "ftp://a.example", "a.example", "file:///tmp", "https:"])
    func `refuses what is not https`(text: String) async throws {
        let server = try Self.url(text)
        await #expect(throws: CompanionError.self) {
            try await URLSessionCompanionTransport()
                .send(CompanionRequest(method: "GET", path: "/api/me"), serverURL: server)
        }
        #expect(throws: RelayError.self) {
            try URLSessionRelaySocket(serverURL: server).upgrade(bearer: "secret")
        }
    }

    @Test func `reaches an insecure server only in development`() async throws {
        let server = try Self.url("http://localhost:8080")
        let request = try URLSessionCompanionTransport.insecureForDevelopment()
            .urlRequest(for: CompanionRequest(method: "GET", path: "/api/me"), serverURL: server)
        #expect(request.url?.absoluteString == "http://localhost:8080/api/me")
        await #expect(throws: CompanionError.self) {
            try await URLSessionCompanionTransport()
                .send(CompanionRequest(method: "GET", path: "/"), serverURL: server)
        }
    }

    @Test func `keeps a path prefix and drops what is not part of a server`() throws {
        let server = try Self.url("https://me:secret@a.example:8443/town/?x=1#y")
        let call = try URLSessionCompanionTransport()
            .urlRequest(
                for: CompanionRequest(
                    method: "GET",
                    path: "/api/circles",
                    query: ["since": "0", "after": "7"]
                ),
                serverURL: server
            )
        #expect(
            call.url?.absoluteString == "https://a.example:8443/town/api/circles?after=7&since=0"
        )
        let request = try URLSessionRelaySocket(serverURL: server).upgrade(bearer: "t")
        #expect(request.url?.absoluteString == "wss://a.example:8443/town/api/live")
        #expect(request.value(forHTTPHeaderField: "Authorization") == "Bearer t")
    }

    @Test func `builds a request with token and type`() throws {
        let server = try Self.url("https://a.example")
        let request = try URLSessionCompanionTransport().urlRequest(
            for: CompanionRequest(
                method: "PUT",
                path: "/api/x",
                body: Data("{}".utf8),
                bearerToken: "t"
            ),
            serverURL: server
        )
        #expect(request.httpMethod == "PUT" && request.httpBody == Data("{}".utf8))
        #expect(request.value(forHTTPHeaderField: "Authorization") == "Bearer t")
        #expect(request.value(forHTTPHeaderField: "Content-Type") == "application/json")
    }
}

@Suite struct StoreTests {
    @Test func `keeps data in files of a folder of its own`() throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("companion-\(UUID())", isDirectory: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try FileCompanionStore(folder: folder)
        #expect(store.data(for: "a") == nil)
        store.set(Data([1]), for: "a")
        store.set(Data([2]), for: "a")
        store.set(Data([3]), for: "b")
        let again = try FileCompanionStore(folder: folder)
        #expect(again.data(for: "a") == Data([2]))
        again.set(nil, for: "a")
        #expect(again.data(for: "a") == nil && again.data(for: "b") == Data([3]))
        let mode = try FileManager.default.attributesOfItem(atPath: folder.path)
        #expect((mode[.posixPermissions] as? NSNumber)?.intValue == 0o700)
    }

    @Test func `takes what it cannot read for nothing`() {
        let store = InMemoryCompanionStore()
        store.set(Data("nonsense".utf8), for: "x")
        #expect(store.value(CircleMemory.self, for: "x") == nil)
    }
}
