import Foundation
import ServiceKit
import TestKit
import Testing

@testable import AuthService
@testable import Operations

@Suite struct RouteTableTests {
    private static let table = RouteTable([
        .init(prefix: "/a", service: "one"), .init(prefix: "/a/b/", service: "two"),
        .init(prefix: "/a/b/c", service: "three"), .init(prefix: "/z/", service: "four"),
    ])

    @Test(arguments: [
        ("/a", "one"), ("/a/", "one"), ("/a/x", "one"), ("/ab", nil), ("/a/b", "one"),
        ("/a/b/", "two"), ("/a/b/x", "two"), ("/a/b/c", "three"), ("/a/b/c/d", "three"),
        ("/a/b/cd", "two"), ("/z", nil), ("/z/", "four"), ("/", nil), ("", nil), ("a", nil),
    ])
    func `the longest prefix wins, at whole parts of the path`(path: String, service: String?) {
        #expect(Self.table.service(for: path) == service)
    }

    @Test func `the table of this repository knows only services that are run`() throws {
        let table = try RouteTable(file: ProjectPaths.root + "/deploy/routes.json")
        try table.check(against: Fleet.definitions.map(\.name))
        #expect(table.service(for: "/api/v1/rider/register") == "auth")
        #expect(table.service(for: "/api/v1/rider/rides") == "rider-ingest")
    }

    @Test(arguments: ["login", "session", "register"])
    func `whoever waits for a password has connections of their own`(name: String) throws {
        let table = try RouteTable(file: ProjectPaths.root + "/deploy/routes.json")
        let route = try #require(table.routes.first { $0.prefix == "/api/v1/auth/" + name })
        // More than auth lets in, so that those whom it refuses pass by those who wait in it.
        #expect(try #require(route.connections) > PasswordWorker.callerLimit)
        #expect(table.routes.first { $0.prefix == "/api/v1/auth/" }?.connections == nil)
    }

    @Test func `a route to a service that nobody runs is refused`() {
        #expect {
            try Self.table.check(against: ["one", "two", "three"])
        } throws: { error in
            "\(error)" == #"deploy/routes.json sends /z/ to "four", which is no service"#
        }
    }

    @Test(arguments: [
        (nil, "is missing"), ("{", "is not a route table"), ("{\"routes\":[{}]}", "is not a route"),
    ])
    func `a file that is no table is named`(content: String?, sentence: String) throws {
        let folder = try OwnFolder()
        let file = folder.path + "/routes.json"
        try content?.write(toFile: file, atomically: true, encoding: .utf8)
        let error = #expect(throws: OperationError.self) { try RouteTable(file: file) }
        #expect(error?.description.contains("\(file) \(sentence)") == true)
    }
}
