import Database
import ServiceKit
import Telemetry
import TestKit
import Testing
import Transit
import Web

@testable import FeedService

/// Consumers' keys: made by admins, asked for when the feed is not open (spec 1.9, spec 0).
@Suite(.timeLimit(.minutes(2))) struct APIKeyTests {
    private let path = "/api/v1/admin/api-keys"
    private let feed = "/gtfs-rt/vehicle-positions"

    private func create(
        _ world: DriverWorld,
        _ name: String = "planner",
        at replica: Int = 0
    )
        async throws -> (id: Int, key: String)
    {
        let answer = try await world.post(path, "{\"name\":\"\(name)\"}", at: replica)
        #expect(answer.status == 201)
        let id = try #require(try answer.json["id"]?.number)
        return (Int(id), try #require(try answer.json["key"]?.text))
    }

    @Test func `a key is shown once and kept as its digest`() async throws {
        try await withDrivers { world async throws in
            let answer = try await world.post(path, #"{"name":"planner"}"#)
            #expect(answer.status == 201)
            #expect(try answer.json.keys == ["id", "name", "key", "created_at"])
            #expect(answer.headers.first("Cache-Control") == "no-store")
            let key = try #require(try answer.json["key"]?.text)
            #expect(key.utf8.count > 40)
            #expect(try await create(world).key != key)
            let list = try await world.get(path)
            #expect(!list.text.contains(key))
            #expect(
                try list.json["api_keys"]?[1]?.keys
                    == ["id", "name", "active", "last_used_at", "created_at"]
            )
            let stored = try await world.number(
                "SELECT count(*) FROM feed.api_keys WHERE key_hash = encode(sha256('\(key)'), 'hex')"
            )
            #expect(stored == 1)
        }
    }

    @Test(
        arguments: [
            ("{}", "name is required"), ("{\"name\":\"\"}", "name is required"),
            ("{\"name\":\"\(String(repeating: "é", count: 100))\"}", nil),
            (
                "{\"name\":\"\(String(repeating: "é", count: 101))\"}",
                "name must be at most 100 characters"
            ),
            ("{\"name\":\"a\\nb\"}", "the name has characters that are not seen"),
            ("{\"name\":7}", "field \"name\" has invalid type"),
            ("{\"name\":\"x\",\"key\":\"y\"}", "invalid JSON: unknown field \"key\""),
        ] as [(String, String?)]
    )
    func `a key's rules`(body: String, error: String?) async throws {
        try await withDrivers { world async throws in
            let answer = try await world.post(path, body)
            #expect(answer.status == (error == nil ? 201 : 400))
            #expect(answer.refusal == error)
        }
    }

    @Test func `the feed is open unless keys are asked for`() async throws {
        try await withDrivers { world async throws in
            #expect(try await world.get(feed, as: .nobody).status == 200)
            #expect(try await world.get(feed, as: .apiKey("anything")).status == 200)
        }
    }

    @Test func `with keys asked for, only an active one opens the feed`() async throws {
        try await withDrivers(["FEED_AUTH_ENABLED": "true"], replicas: 2) { world async throws in
            let (id, key) = try await create(world)
            for replica in 0..<2 {
                try await eventually("the key is known") {
                    try await world.get(feed, as: .apiKey(key), at: replica).status == 200
                }
            }
            for (caller, error) in [
                (.nobody, "missing API key"), (.apiKey(""), "missing API key"),
                (.apiKey(key + "x"), "invalid API key"),
                (.apiKey(String(repeating: "k", count: 300)), "invalid API key"),
                (.admin, "missing API key"),
            ] as [(DriverWorld.Caller, String)] {
                let answer = try await world.get(feed, as: caller)
                #expect(answer.status == 401)
                #expect(answer.refusal == error)
                #expect(
                    answer.headers.values("WWW-Authenticate")
                        == [#"ApiKey realm="alongside", in="header", name="X-API-Key""#]
                )
            }
            for _ in 0..<2 {
                let answer = try await world.send(.delete, "\(path)/\(id)", as: .admin)
                #expect(answer.status == 204)
            }
            for replica in 0..<2 {
                try await eventually("the key is known to be inactive") {
                    try await world.get(feed, as: .apiKey(key), at: replica).refusal
                        == "inactive API key"
                }
            }
            let list = try await world.get(path).json
            #expect(list["api_keys"]?[0]?["active"]?.flag == false)
        }
    }

    @Test func `a stream ends when its reader's key is revoked, and no other`() async throws {
        try await withDrivers(["FEED_AUTH_ENABLED": "true"]) { world async throws in
            let (intake, board) = (world.first.intake, world.first.publisher.board)
            let hub = StreamHub(maximumReaders: 3, metrics: Metrics()) {
                board.feed(.vehiclePositions)
            }
            let server = try HTTPServer(
                endpoints: [
                    StreamEndpoint(
                        board: board,
                        hub: hub,
                        access: .apiKey,
                        keys: intake.keys,
                        includesAgency: false
                    ).endpoint
                ],
                authorizer: intake.apiKeys
            )
            let port = try server.start()
            let (id, key) = try await create(world)
            let (_, other) = try await create(world)
            try await eventually("both keys are known") {
                for key in [key, other]
                where try await world.get(feed, as: .apiKey(key)).status != 200 { return false }
                return true
            }
            func open(_ key: String) throws -> EventReader {
                let header = "X-API-Key: \(key)\r\n"
                return try EventReader(port: port, path: "/gtfs-rt/stream", headers: header)
            }
            let (revoked, kept) = (try open(key), try open(other))
            for reader in [revoked, kept] { #expect(try await reader.next().name == "snapshot") }
            _ = try await world.send(.delete, "\(path)/\(id)", as: .admin)
            #expect(try await revoked.isOver())
            try await eventually("one reader is left") { hub.readerCount == 1 }
            await server.shutdown(within: .seconds(1))
        }
    }

    @Test func `a key opens nothing else`() async throws {
        try await withDrivers(["FEED_AUTH_ENABLED": "true"]) { world async throws in
            let (_, key) = try await create(world)
            for path in [path, "/api/v1/vehicles", "/api/v1/map"] {
                #expect(try await world.get(path, as: .apiKey(key)).status == 401)
            }
        }
    }

    @Test(arguments: ["none", "0", "-1", "99", "9223372036854775808"])
    func `an unknown key is 404`(id: String) async throws {
        try await withDrivers { world async throws in
            let answer = try await world.send(.delete, "\(path)/\(id)", as: .admin)
            #expect(answer.status == 404)
            #expect(answer.refusal == "API key not found")
        }
    }

    @Test func `a board that has read no key yet lets nobody in`() {
        let board = APIKeyBoard(now: { 0 })
        let request = HTTPRequest(headers: HTTPHeaders([("X-API-Key", "k")]))
        let refusal = #expect(throws: HTTPError.self) {
            try board.authorize(request, access: .apiKey)
        }
        #expect(refusal?.status == 503)
    }

    @Test func `uses are noted together and never go back`() async throws {
        try await withDrivers { world async throws in
            let (_, key) = try await create(world)
            let board = APIKeyBoard(now: { world.clock.now })
            let pool = world.database.open(connections: 1, role: Feed.schema.role)
            try await board.look(pool)
            let request = HTTPRequest(headers: HTTPHeaders([("X-API-Key", key)]))
            let used =
                "SELECT coalesce(extract(epoch FROM last_used_at), 0)::bigint FROM feed.api_keys"
            for _ in 0..<100 { _ = try board.authorize(request, access: .apiKey) }
            #expect(try await world.number(used) == 0)
            try await board.noteUses(pool)
            #expect(try await world.number(used) == Int(world.now))
            world.clock.advance(by: -60)
            _ = try board.authorize(request, access: .apiKey)
            try await board.noteUses(pool)
            #expect(try await world.number(used) == Int(world.now) + 60)
            await pool.close()
        }
    }

    @Test(arguments: ["yes", "off", "2"])
    func `a switch that cannot be read stops the start, so that nothing is open by mistake`(
        text: String
    ) {
        #expect(throws: (any Error).self) {
            try Feed.definition.table.read(
                environment: [
                    "DATABASE_URL": "x", "JWT_SECRET": TestTokens.secret.revealed(),
                    "GTFS_STATIC_URL": "x", "FEED_AUTH_ENABLED": text,
                ]
            )
        }
    }
}
