import TestKit
import Testing

/// What the gateway's image makes of `SITE_ADDRESS` before it starts.
@Suite struct SiteAddressTests {
    private static let program = ["deploy/image/site", "echo", "started"]

    private func start(_ site: String) throws -> FinishedProgram {
        try FinishedProgram(Self.program, environment: ["SITE_ADDRESS": site])
    }

    @Test(arguments: [
        "localhost", "transit.example.org", "localhost, http://gateway",
        "https://a.example.org,b.example.org", "*.example.org", "[2001:db8::1]", "192.0.2.7",
    ])
    func `starts under names`(site: String) throws {
        let run = try start(site)
        #expect(run.status == 0)
        #expect(run.output == "started\n")
    }

    @Test(arguments: [
        ("localhost:8443", "localhost:8443"), (":80", ":80"), (":443", ":443"),
        ("http://gateway:8080", "http://gateway:8080"), ("[2001:db8::1]:443", "[2001:db8::1]:443"),
        ("a.example.org, b.example.org:443", "b.example.org:443"),
    ])
    func `refuses an address with a port`(site: String, address: String) throws {
        let run = try start(site)
        #expect(run.status == 1)
        let reason = "the gateway is reached on ports 80 and 443, so leave it out"
        let sentence = "SITE_ADDRESS = \"\(site)\": \(address) names a port; \(reason)\n"
        #expect(run.output == sentence)
    }

    @Test(arguments: [
        ("{", "{ is no name or address"), ("a b{c}", "b{c} is no name or address"),
        ("a;b", "a;b is no name or address"), ("a\"b", "a\"b is no name or address"),
        ("x.example/path", "x.example/path has a path; the gateway serves all of a name"),
    ])
    func `refuses what is no name`(site: String, reason: String) throws {
        let run = try start(site)
        #expect(run.status == 1)
        #expect(run.output == "SITE_ADDRESS = \"\(site)\": \(reason)\n")
    }

    @Test(arguments: ["", " ", ","])
    func `refuses no name at all`(site: String) throws {
        let run = try start(site)
        #expect(run.status == 1)
        #expect(run.output.contains("it must be the name under which the public reaches"))
    }

    @Test func `without the setting it is localhost, as in the gateway's file`() throws {
        let run = try FinishedProgram(["env", "-u", "SITE_ADDRESS"] + Self.program)
        #expect(run.output == "started\n")
        #expect(
            try text(of: "deploy/gateway/Caddyfile").contains("\n{$SITE_ADDRESS:localhost} {\n")
        )
    }

    @Test func `compose publishes the ports that the gateway's file has`() throws {
        let file = try text(of: "deploy/gateway/Caddyfile")
        #expect(file.contains("\thttp_port {$HTTP_PORT:8080}\n\thttps_port {$HTTPS_PORT:8443}\n"))
        #expect(try ComposeFile().parts["gateway"]?.ports == ["80:8080", "443:8443"])
        #expect(
            try text(of: "deploy/Dockerfile").contains("\nENTRYPOINT [\"/usr/local/bin/site\"]\n")
        )
    }
}
