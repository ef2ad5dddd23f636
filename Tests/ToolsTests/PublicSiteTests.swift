import ServiceKit
import TestKit
import Testing

@testable import Operations

/// The gateway of `alongside up` for the public.
@Suite struct PublicSiteTests {
    private func site(_ environment: [String: String]) throws -> PublicSite? {
        PublicSite(try UpSettings.table.read(environment: environment, options: [:]))
    }

    @Test(arguments: [["HTTPS_PORT": "8443"], ["SITE_ADDRESS": ""]])
    func `nothing is for the public without a name`(environment: [String: String]) throws {
        #expect(try site(environment) == nil)
    }

    @Test func `has the ports that issuers of certificates ask on, unless others are set`() throws {
        let site = try #require(try site(["SITE_ADDRESS": "a.example.org"]))
        #expect(
            site.environment == [
                "SITE_ADDRESS": "a.example.org", "HTTP_PORT": "80", "HTTPS_PORT": "443",
            ]
        )
    }

    @Test(arguments: ["HTTP_PORT", "HTTPS_PORT"])
    func `says which setting names a port that is taken`(setting: String) throws {
        let taken = try LoopbackListener()
        var environment = ["SITE_ADDRESS": "localhost"]
        for name in ["HTTP_PORT", "HTTPS_PORT"] {
            environment[name] = String(try TestPort.free(1)[0])
        }
        #expect(try site(environment)?.obstacle(beside: 1) == nil)
        environment[setting] = String(taken.port)
        let sentence =
            "port \(taken.port) on 0.0.0.0 is in use; stop what uses it or set \(setting) to another port"
        #expect(try site(environment)?.obstacle(beside: 1) == sentence)
    }

    @Test func `no two of the gateway's ports are one`() throws {
        let free = try TestPort.free(2)
        let both = ["SITE_ADDRESS": "a", "HTTP_PORT": "\(free[0])", "HTTPS_PORT": "\(free[0])"]
        #expect(
            try site(both)?.obstacle(beside: 1)
                == "HTTP_PORT and HTTPS_PORT are both \(free[0]); set one of them to another port"
        )
        let own = ["SITE_ADDRESS": "a", "HTTP_PORT": "\(free[0])", "HTTPS_PORT": "\(free[1])"]
        #expect(
            try site(own)?.obstacle(beside: free[1])
                == "PORT and HTTPS_PORT are both \(free[1]); set one of them to another port"
        )
    }

    @Test(arguments: [
        "localhost", "transit.example.org", "localhost, http://gateway",
        "https://a.example.org,b.example.org", "*.example.org", "[2001:db8::1]", "192.0.2.7",
    ])
    func `takes names`(address: String) throws {
        #expect(try site(["SITE_ADDRESS": address])?.address == address)
    }

    @Test(arguments: [
        "localhost:8443", ":80", "http://gateway:8080", "[2001:db8::1]:443", "2001:db8::1",
        "a.example.org, b.example.org:443", "a b {", "a}", "{$HOME}", "a/b", "https://", "[]", ",",
        "a\"b", "münchen.example",
    ])
    func `refuses what has a port or is no name`(address: String) {
        #expect(throws: SettingsError.self) { try site(["SITE_ADDRESS": address]) }
    }
}
