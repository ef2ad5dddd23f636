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
        #expect(try site(environment)?.obstacle == nil)
        environment[setting] = String(taken.port)
        let sentence =
            "port \(taken.port) on 0.0.0.0 is in use; stop what uses it or set \(setting) to another port"
        #expect(try site(environment)?.obstacle == sentence)
    }
}
