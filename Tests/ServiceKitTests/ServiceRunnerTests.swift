import Database
import ServiceKit
import Synchronization
import TestKit
import Testing
import Web

/// A service under test, run in this process.
private final class Running: Sendable {
    private let text = Mutex("")
    private let stops = AsyncStream<Int32>.makeStream()
    private let client = HTTPClient()

    /// Everything it printed, complained and logged.
    var output: String { text.withLock { $0 } }

    func run(
        _ definition: ServiceDefinition,
        _ arguments: [String] = [],
        _ environment: [String: String] = [:]
    ) async -> Int32 {
        // Ports of the system's choice, so that suites do not meet.
        var all = ["PORT": "0", "INTERNAL_PORT": "0"]
        all.merge(environment) { _, given in given }
        return await ServiceRunner.run(
            definition,
            arguments: arguments,
            environment: all,
            stops: stops.stream,
            output: RunnerOutput { piece in self.text.withLock { $0 += piece } }
        )
    }

    func stop() { stops.continuation.yield(15) }

    /// The port that a server of the service logged, once it listens.
    func port(of server: String) async throws -> Int {
        while true {
            try Task.checkCancellation()
            let line = output.split(separator: "\n").first {
                $0.contains("\"server.name\":\"\(server)\"")
            }
            if let line, let match = line.firstMatch(of: #/"server\.port":(\d+)/#),
                let port = Int(match.1)
            {
                return port
            }
            await Task.yield()
        }
    }

    func get(_ port: Int, _ path: String) async throws -> HTTPClientResponse {
        try await client.get("http://127.0.0.1:\(port)\(path)")
    }

    /// Waits for an answer of this status; the suite's time limit ends a wait that never does.
    func get(_ port: Int, _ path: String, until status: Int) async throws -> String {
        while true {
            let answer = try await get(port, path)
            if answer.status == status { return String(decoding: answer.body, as: UTF8.self) }
            try Task.checkCancellation()
            await Task.yield()
        }
    }
}

private func definition(
    isBuilt: Bool = true,
    schema: ServiceSchema? = nil,
    keyFamilies: Set<KeyFamily> = [],
    build: @escaping @Sendable (ServiceContext) async throws -> ServiceParts = { _ in
        ServiceParts()
    }
) -> ServiceDefinition {
    ServiceDefinition(
        name: "sample",
        summary: "A service for tests.",
        publicPort: 8199,
        internalPort: 9199,
        keyFamilies: keyFamilies,
        schema: schema,
        isBuilt: isBuilt,
        settings: [Setting.integer("SAMPLE_SIZE", default: 3, in: 1...9, "A size.").declaration],
        build: build
    )
}

/// Admits whoever says the word.
private struct OpenSesame: Authorizer {
    func authorize(_ request: HTTPRequest, access: Access) throws(HTTPError) -> Principal? {
        guard access == .apiKey, request.query.first("sesame") != nil else {
            throw HTTPError(status: 401, code: "sesame.missing", message: "no sesame")
        }
        return nil
    }
}

@Suite(.timeLimit(.minutes(1))) struct ServiceRunnerTests {
    private let running = Running()

    @Test func `--help names the service and every setting`() async {
        #expect(await running.run(definition(), ["--help"]) == 0)
        for text in ["sample", "A service for tests.", "SAMPLE_SIZE", "INTERNAL_PORT", "LOG_LEVEL"]
        {
            #expect(running.output.contains(text), "\(text)")
        }
    }

    @Test func `--print-configuration shows values with their origin and hides secrets`() async {
        let secret = "a-secret-that-nobody-may-ever-see"
        let code = await running.run(
            definition(keyFamilies: [.rider]),
            ["--print-configuration", "-sample-size", "4"],
            ["JWT_SECRET": secret, "LOG_LEVEL": "error", "DATABASE_URL": "postgresql:///x"]
        )
        #expect(code == 0)
        let lines = running.output.split(separator: "\n")
        func line(_ start: String) -> Substring? { lines.first { $0.hasPrefix(start) } }
        #expect(line("SAMPLE_SIZE=4 ")?.hasSuffix("# command line") == true)
        #expect(line("LOG_LEVEL=error ")?.hasSuffix("# environment") == true)
        #expect(line("HOST=127.0.0.1 ")?.hasSuffix("# default") == true)
        #expect(line("JWT_SECRET=<hidden> ")?.hasSuffix("# environment") == true)
        #expect(!running.output.contains(secret))
    }

    @Test func `wrong settings stop the start with one report`() async {
        let code = await running.run(
            definition(keyFamilies: [.rider]),
            [],
            ["SAMPLE_SIZE": "10", "PORT": "x", "JWT_SECRET": "short"]
        )
        #expect(code == 1)
        #expect(
            running.output == """
                sample: cannot start: 4 settings are wrong:
                  PORT = "x": must be a whole number from 0 to 65535
                  JWT_SECRET = (a secret of 5 bytes): must be at least 32 bytes long
                  SAMPLE_SIZE = "10": must be a whole number from 1 to 9
                  DATABASE_URL is missing: set it or SAMPLE_DATABASE_URL, or run `alongside up`, which brings a database

                """
        )
    }

    @Test(arguments: [
        (["--prot", "1"], "unknown or ambiguous option --prot"), (["up"], "unexpected argument up"),
        (["--port"], "the option --port needs a value"),
    ])
    func `a wrong command line is exit code 2`(arguments: [String], sentence: String) async {
        #expect(await running.run(definition(), arguments) == 2)
        #expect(running.output == "sample: \(sentence); sample --help lists all\n")
    }

    @Test func `starts, answers and stops when told to`() async throws {
        let hello = Endpoint(.get, "/hello", access: .anyone, inline: { _ in .text("hello") })
        async let code = running.run(definition { _ in ServiceParts(endpoints: [hello]) })
        let inside = try await running.port(of: "internal-http")
        let outside = try await running.port(of: "http")
        #expect(try await running.get(inside, "/ready", until: 200).contains("ready"))
        #expect(try await running.get(inside, "/health", until: 200).contains("\"sample\""))
        #expect(
            try await running.get(inside, "/metrics", until: 200)
                .contains("service_ready_flag 1")
        )
        #expect(try await running.get(outside, "/hello", until: 200) == "hello")
        #expect(try await running.get(outside, "/metrics").status == 404)
        let start = ContinuousClock.now
        running.stop()
        #expect(await code == 0)
        #expect(ContinuousClock.now - start < .seconds(10))
    }

    @Test func `holders of keys are the service's own matter, tokens stay the verifier's`()
        async throws
    {
        let keyed = definition(keyFamilies: [.staff]) { _ in
            let answer: @Sendable (HTTPRequest) -> HTTPResponse = { _ in .empty(200) }
            return ServiceParts(
                endpoints: [
                    Endpoint(.get, "/keyed", access: .apiKey, inline: answer),
                    Endpoint(.get, "/staff", access: .roles([.admin]), inline: answer),
                ],
                apiKeys: OpenSesame()
            )
        }
        let database = try await ThrowawayPostgres.shared.database(revocationsTemplate)
        async let code = running.run(
            keyed,
            [],
            ["JWT_SECRET": TestTokens.secret.revealed(), "DATABASE_URL": database.url]
        )
        let outside = try await running.port(of: "http")
        #expect(try await running.get(outside, "/keyed?sesame").status == 200)
        let keyless = try await running.get(outside, "/keyed")
        #expect(keyless.status == 401)
        #expect(String(decoding: keyless.body, as: UTF8.self).contains("no sesame"))
        let tokenless = try await running.get(outside, "/staff?sesame")
        #expect(tokenless.status == 401)
        #expect(
            String(decoding: tokenless.body, as: UTF8.self).contains("auth.missing_authorization")
        )
        running.stop()
        #expect(await code == 0)
    }

    @Test func `a service without behaviour says so and stops cleanly`() async throws {
        async let code = running.run(definition(isBuilt: false))
        let inside = try await running.port(of: "internal-http")
        let body = try await running.get(inside, "/ready", until: 503)
        #expect(body == #"{"error":"not built","code":"service.not_built"}"#)
        #expect(try await running.get(inside, "/health").status == 200)
        running.stop()
        #expect(await code == 0)
    }

    @Test func `a port in use is named with its setting`() async throws {
        let other = try HTTPServer(endpoints: [])
        let port = try other.start()
        let code = await running.run(definition(), [], ["PORT": "\(port)"])
        await other.shutdown(within: .zero)
        #expect(code == 1)
        let sentence = "127.0.0.1:\(port) is in use: stop what listens there or choose another port"
        #expect(running.output.contains("sample: cannot start: \(sentence) (PORT)\n"))
    }

    @Test func `an error while building is the reason of the failed start`() async {
        struct Fault: Error, CustomStringConvertible {
            let description = "stops.txt line 7: no latitude"
        }
        #expect(await running.run(definition { _ in throw Fault() }) == 1)
        #expect(
            running.output.contains("sample: cannot start: stops.txt line 7: no latitude\n")
        )
    }

    @Test func `a stop during the start is a clean end`() async throws {
        let (never, _) = AsyncStream<Never>.makeStream()
        let slow = definition { _ in
            for await _ in never {}
            try Task.checkCancellation()
            return ServiceParts()
        }
        async let code = running.run(slow)
        let inside = try await running.port(of: "internal-http")
        _ = try await running.get(inside, "/ready", until: 503)
        running.stop()
        #expect(await code == 0)
        #expect(running.output.contains("stopped before it was started"))
    }

    @Test func `the application clock starts where it is told to`() async throws {
        let now = Mutex<Int64?>(nil)
        let service = definition { context in
            let reading = context.clock.now()
            now.withLock { $0 = reading }
            return ServiceParts()
        }
        async let code = running.run(service, [], ["ALONGSIDE_CLOCK_START": "2026-02-16T16:00:00Z"])
        _ = try await running.port(of: "http")
        running.stop()
        #expect(await code == 0)
        let reading = try #require(now.withLock { $0 })
        #expect((1_771_257_600...1_771_257_660).contains(reading))
        #expect(running.output.contains("the application clock is shifted"))
    }
}

/// What a service says about the database it finds.
@Suite(.timeLimit(.minutes(1))) struct DatabaseStartTests {
    private let running = Running()
    private let schema = ServiceSchema(
        "sample",
        migrations: [Migration(name: "0001", sql: "CREATE TABLE sample.t (id integer)")]
    )

    private func migrate(_ database: TestDatabase, _ more: [Migration] = []) async throws {
        let pool = database.open(connections: 1)
        let schema = schema
        try await pool.withConnection { connection throws(DatabaseError) in
            _ = try Migrator.migrate(
                schema: schema.name,
                role: schema.role,
                migrations: schema.migrations + more,
                on: connection
            )
        }
        await pool.close()
    }

    @Test func `a missing address says where to get one`() async {
        #expect(await running.run(definition(schema: schema)) == 1)
        #expect(
            running.output.contains("DATABASE_URL is missing: set it or SAMPLE_DATABASE_URL")
        )
    }

    @Test func `a database that is away is waited for, then named`() async {
        let code = await running.run(
            definition(schema: schema),
            [],
            [
                "DATABASE_URL": "postgresql:///x?host=/tmp/alongside-nowhere",
                "DATABASE_START_TIMEOUT": "0s",
            ]
        )
        #expect(code == 1)
        #expect(running.output.contains("sample: cannot start: the database is not reachable"))
        #expect(running.output.contains("start it, or check DATABASE_URL\n"))
    }

    @Test func `waits for the migration and then is ready`() async throws {
        let database = try await ThrowawayPostgres.shared.database()
        async let code = running.run(
            definition(schema: schema),
            [],
            ["DATABASE_URL": database.url]
        )
        let inside = try await running.port(of: "internal-http")
        while !running.output.contains("waiting for the database") { await Task.yield() }
        #expect(try await running.get(inside, "/ready").status == 503)
        try await migrate(database)
        _ = try await running.get(inside, "/ready", until: 200)
        running.stop()
        #expect(await code == 0)
        #expect(running.output.contains("run `alongside migrate`"))
    }

    @Test func `a database of a newer version is refused at once`() async throws {
        let database = try await ThrowawayPostgres.shared.database()
        try await migrate(database, [Migration(name: "0002", sql: "SELECT 1")])
        let code = await running.run(
            definition(schema: schema),
            [],
            ["DATABASE_URL": database.url]
        )
        #expect(code == 1)
        #expect(running.output.contains("has migration 0002 of a newer version"))
    }

    @Test func `works as its own role in its own schema`() async throws {
        let database = try await ThrowawayPostgres.shared.database()
        try await migrate(database)
        let seen = Mutex<String?>(nil)
        let service = definition(schema: schema) { context in
            let text = try await context.database.withConnection {
                connection throws(DatabaseError) in
                try connection.query("SELECT current_user || ' ' || current_schema()").one().text(0)
            }
            seen.withLock { $0 = text }
            return ServiceParts()
        }
        async let code = running.run(service, [], ["DATABASE_URL": database.url])
        _ = try await running.port(of: "http")
        running.stop()
        #expect(await code == 0)
        #expect(seen.withLock { $0 } == "alongside_sample sample")
    }

    @Test func `a server that refuses writes is a reason not to be ready`() async throws {
        let database = try await ThrowawayPostgres.shared.database()
        try await migrate(database)
        let service = definition(schema: schema) { context in
            try? await context.database.withConnection { connection throws(DatabaseError) in
                try connection.script(
                    "DO $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$"
                )
            }
            return ServiceParts()
        }
        async let code = running.run(service, [], ["DATABASE_URL": database.url])
        let inside = try await running.port(of: "internal-http")
        // Until then it is not ready because it starts.
        while !(try await running.get(inside, "/ready", until: 503)).contains("database: no room") {
            await Task.yield()
        }
        running.stop()
        #expect(await code == 0)
    }

    @Test func `a restart without the setting goes on with the shifted clock`() async throws {
        let database = try await ThrowawayPostgres.shared.database()
        try await migrate(database)
        let pool = database.open(connections: 1)
        try await pool.withConnection { connection throws(DatabaseError) in
            try connection.script(
                FleetClockTests.table + """
                    INSERT INTO bus.clock (offset_seconds) VALUES (7000000);
                    GRANT USAGE ON SCHEMA bus TO PUBLIC;
                    GRANT SELECT ON bus.clock TO PUBLIC;
                    """
            )
        }
        await pool.close()
        let ahead = Mutex<Int64?>(nil)
        let service = definition(schema: schema) { context in
            ahead.withLock { $0 = context.clock.now() - ApplicationClock.live().now() }
            return ServiceParts()
        }
        async let code = running.run(service, [], ["DATABASE_URL": database.url])
        _ = try await running.port(of: "http")
        running.stop()
        #expect(await code == 0)
        #expect(abs((ahead.withLock { $0 } ?? 0) - 7_000_000) <= 1)
        #expect(running.output.contains("the application clock is shifted"))
    }
}

/// One offset for the whole fleet.
@Suite(.timeLimit(.minutes(1))) struct FleetClockTests {
    /// As the bus migrates it.
    static let table = """
        CREATE SCHEMA bus;
        CREATE TABLE bus.clock (
            is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
            offset_seconds bigint NOT NULL);

        """

    @Test func `the first process fixes the offset and a restart does not jump back`() async throws
    {
        let database = try await ThrowawayPostgres.shared.database()
        let pool = database.open(connections: 1)
        let offsets = try await pool.withConnection {
            connection throws(DatabaseError) -> [Int64?] in
            let before = try FleetClock.fixedOffset(on: connection)
            try connection.script(Self.table)
            return [
                before,
                try FleetClock.fixedOffset(on: connection),
                try FleetClock.offsetSeconds(start: 1000, now: 5000, on: connection),
                try FleetClock.offsetSeconds(start: 1000, now: 5600, on: connection),
                try FleetClock.offsetSeconds(start: 9999, now: 6000, on: connection),
                try FleetClock.fixedOffset(on: connection),
            ]
        }
        await pool.close()
        #expect(offsets == [nil, nil, -4000, -4000, -4000, -4000])
    }
}
