import ClientTransport
import Foundation
import Testing

/// Where tokens may go.
@Suite struct ServerSecurityTests {
    @Test(arguments: [
        ("https://a.example", "https://a.example/p"),
        ("https://me:secret@a.example:8443/town//?x=1#y", "https://a.example:8443/town/p"),
        ("http://a.example", nil), ("a.example", nil), ("https:", nil), ("https:///p", nil),
        ("file:///tmp", nil),
    ])
    func `only an https server with a host is called`(server: String, url: String?) throws {
        let server = try #require(URL(string: server))
        let found = try? ServerSecurity.httpsOnly.url(server, path: "/p")
        #expect(found?.absoluteString == url)
    }

    @Test(arguments: [("http://localhost:8080", true), ("ftp://localhost", false)])
    func `a developer's machine is called over http, too`(server: String, isCalled: Bool) throws {
        let server = try #require(URL(string: server))
        let found = try? ServerSecurity.anyForDevelopment.url(server, path: "/p")
        #expect((found != nil) == isCalled)
    }

    @Test(
        arguments: [
            ("https://a.example/x", "https://a.example/y", true),
            ("https://a.example/x", "https://A.example:443/y", true),
            ("http://localhost:8080/x", "http://localhost:8080/y", true),
            ("wss://a.example/x", "wss://a.example:443/y", true),
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
        #expect(ServerSecurity.isSameOrigin(first, second) == follows)
    }
}
