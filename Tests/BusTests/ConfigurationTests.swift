import Telemetry
import Testing

@testable import Bus

@Suite struct BusConfigurationTests {
    private func endpoints(
        _ prefix: String,
        instance: String = "feed-1",
        advertise: String? = nil,
        isSecured: Bool = true
    ) throws -> BusEndpoints {
        try BusEndpoints(
            BusConfiguration(
                service: "feed",
                instance: instance,
                urlPrefix: prefix,
                advertiseHost: advertise,
                curve: isSecured ? CurveKeys.generate() : nil
            )
        )
    }

    @Test(
        arguments: [
            ("ipc:///run/a/", nil, "ipc:///run/a/feed-1.req", "ipc:///run/a/feed-1.pub"),
            ("tcp://127.0.0.1:", nil, "tcp://127.0.0.1:*", "tcp://127.0.0.1:*"),
            ("tcp://0.0.0.0:", "feed.local", "tcp://0.0.0.0:*", "tcp://0.0.0.0:*"),
            ("tcp://0.0.0.0:7000", "feed.local", "tcp://0.0.0.0:7000", "tcp://0.0.0.0:7001"),
        ] as [(String, String?, String, String)]
    )
    func `binds below the prefix`(
        prefix: String,
        advertise: String?,
        request: String,
        publish: String
    ) throws {
        let endpoints = try endpoints(prefix, advertise: advertise)
        #expect(endpoints.bindRequest == request)
        #expect(endpoints.bindPublish == publish)
    }

    @Test func `advertises the host that others reach`() throws {
        let everywhere = try endpoints("tcp://0.0.0.0:", advertise: "feed.local")
        #expect(everywhere.advertised(bound: "tcp://0.0.0.0:4321") == "tcp://feed.local:4321")
        let local = try endpoints("tcp://127.0.0.1:")
        #expect(local.advertised(bound: "tcp://127.0.0.1:4321") == "tcp://127.0.0.1:4321")
    }

    @Test(arguments: [
        ("http://x/", "must begin with"), ("ipc://relative/", "absolute folder"),
        ("tcp://0.0.0.0:", "BUS_ADVERTISE_HOST"), ("tcp://", "tcp://HOST:"),
        ("tcp://127.0.0.1:0", "port from 1"), ("tcp://127.0.0.1:65535", "port from 1"),
    ])
    func `refuses a wrong prefix with what would be right`(prefix: String, part: String) throws {
        let error = #expect(throws: BusError.self) { try endpoints(prefix) }
        #expect(error?.description.contains(part) == true)
    }

    @Test(arguments: [(107, true), (108, false)])
    func `takes a socket path that the system takes`(bytes: Int, isTaken: Bool) {
        let fixed = "//feed-1.req".utf8.count
        let prefix = "ipc:///" + String(repeating: "a", count: bytes - fixed) + "/"
        if isTaken {
            #expect(throws: Never.self) { try endpoints(prefix) }
        } else {
            let error = #expect(throws: BusError.self) { try endpoints(prefix) }
            #expect(error?.description.contains("108 bytes") == true)
        }
    }

    @Test func `never speaks plain tcp`() {
        let error = #expect(throws: BusError.self) {
            try endpoints("tcp://127.0.0.1:", isSecured: false)
        }
        #expect(error?.description.contains("BUS_CURVE_PUBLIC_KEY") == true)
    }

    @Test(arguments: ["", "a/b", "a b", "..", "a@b", String(repeating: "a", count: 201)])
    func `refuses an instance name that is not safe in a path`(instance: String) {
        #expect(throws: BusError.self) { try endpoints("ipc:///run/a/", instance: instance) }
    }

    @Test func `says what to do when the folder is missing`() throws {
        let bus = try Bus(
            BusConfiguration(
                service: "feed",
                instance: "feed-1",
                urlPrefix: "ipc:///nonexistent/folder/"
            ),
            directory: StaticDirectory([]),
            logger: .silent,
            metrics: Metrics()
        )
        let error = #expect(throws: BusError.self) { try bus.start() }
        #expect(error?.description.contains("existing folder") == true)
    }
}

@Suite struct StaticDirectoryTests {
    private struct Behind: InstanceDirectory {
        func announce(_ record: InstanceRecord) async throws {}
        func withdraw(_ record: InstanceRecord) async throws {}
        func instances() async throws -> [InstanceRecord] {
            ["verifier", "feed"].map {
                InstanceRecord(
                    service: $0,
                    instance: "\($0)-9",
                    requestEndpoint: "ipc:///a",
                    publishEndpoint: "ipc:///b"
                )
            }
        }
    }

    @Test func `names services that are then not looked up`() async throws {
        let directory = try StaticDirectory(
            parsing: " verifier=verifier-1@ipc:///a.req|ipc:///a.pub ,"
                + "verifier=verifier-2@tcp://h:1|tcp://h:2,",
            over: Behind()
        )
        let instances = try await directory.instances()
        #expect(instances.map(\.instance) == ["verifier-1", "verifier-2", "feed-9"])
        #expect(instances[1].requestEndpoint == "tcp://h:1")
        #expect(instances[1].publishEndpoint == "tcp://h:2")
    }

    @Test(arguments: [
        "verifier-1@ipc:///a|ipc:///b", "verifier=verifier-1", "verifier=v@ipc:///a",
        "verifier=v@ipc:///a|ipc:///b|ipc:///c", "=v@ipc:///a|ipc:///b", "s=@ipc:///a|ipc:///b",
        "s=v@http://a|ipc:///b", "s=v@ipc:///a|ipc:///b,s=v@ipc:///c|ipc:///d",
    ])
    func `refuses an entry and names it`(text: String) {
        let error = #expect(throws: BusError.self) { try StaticDirectory(parsing: text) }
        #expect(error?.description.contains("BUS_PEERS") == true)
    }
}
