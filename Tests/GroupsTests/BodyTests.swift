import TestKit
import Testing
import Transit
import Web

@testable import GroupsService

/// Bodies, ids and encodings that are none: a 4xx each, and nothing changes.
@Suite(.timeLimit(.minutes(5))) struct BodyTests {
    /// Every endpoint with a body, `GROUP` and `RIDER` standing for ids, with one good body.
    static let endpoints: [(method: HTTPMethod, path: String, body: String)] = [
        (.post, "/api/circles", "{\"name\":\"a\"}"),
        (.post, "/api/convoys", "{\"name\":\"a\"}"),
        (.post, "/api/friends/requests", "{\"username\":\"ben\"}"),
        (.post, "/api/friends/requests/RIDER/respond", "{\"accept\":true}"),
        (.post, "/api/groups/GROUP/invitations", "{\"username\":\"ben\"}"),
        (.post, "/api/groups/GROUP/invitations/respond", "{\"accept\":true}"),
        (.put, "/api/circles/GROUP/sharing", "{\"sharing\":true}"),
        (.post, "/api/circles/GROUP/positions", "{\"latitude\":1,\"longitude\":2}"),
        (.post, "/api/me/fix", "{\"latitude\":1,\"longitude\":2}"),
        (.post, "/api/circles/GROUP/places", "{\"place\":{\"id\":1,\"radiusMeters\":5}}"),
        (.post, "/api/circles/GROUP/events", "{\"placeId\":\"GROUP\",\"kind\":\"arrive\"}"),
    ]

    /// What is not one JSON object, for every endpoint.
    static let garbage: [[UInt8]] = [
        [], Array("{".utf8), Array("null".utf8), Array("[]".utf8), Array("5".utf8),
        Array("\"x\"".utf8), Array("{}{}".utf8), Array("{\"a\":1}x".utf8), Array("{\"a\":}".utf8),
        Array("{'a':1}".utf8), Array("{\"a\":01}".utf8), Array("{\"a\":\"\u{1}\"}".utf8),
        Array("{\"a\":\"\\u0000\"}".utf8), Array("{\"a\":\"\\ud800\"}".utf8),
        Array("{\"a\":1,\"a\":2}".utf8), Array("{\"a\":1e999}".utf8),
        Array("{\"a\":\"".utf8) + [0xFF, 0xFE] + Array("\"}".utf8),
        Array(String(repeating: "[", count: 200).utf8),
        Array(("{\"a\":" + String(repeating: "[", count: 40)).utf8)
            + Array((String(repeating: "]", count: 40) + "}").utf8),
        [0xEF, 0xBB, 0xBF] + Array("{\"name\":\"a\"}".utf8), [0x1F, 0x8B, 0x08],
    ]

    /// Objects whose members have other types than any endpoint wants.
    static let wrongTypes = [
        "5", "true", "\"x\"", "[]", "[1]", "{}", "null", "-0.5", "1e308",
    ].map { value in
        let names = [
            "name", "username", "accept", "sharing", "latitude", "longitude", "place", "placeId",
            "kind",
        ]
        return Array("{\(names.map { "\"\($0)\":\(value)" }.joined(separator: ","))}".utf8)
    }

    @Test func `a body that is not the documented JSON changes nothing`() async throws {
        try await Self.withGroup { world, anna, path in
            for endpoint in Self.endpoints {
                for body in Self.garbage {
                    let answer = try await anna.send(endpoint.method, path(endpoint.path), body)
                    #expect(answer.status == 400, "\(endpoint.path) \(body)")
                    #expect(answer.json.keys == ["error", "code"], "\(endpoint.path) \(answer)")
                }
            }
            #expect(try await Self.rows(world) == Self.before)
        }
    }

    @Test func `members of another type are refused`() async throws {
        try await Self.withGroup { world, anna, path in
            for endpoint in Self.endpoints {
                for body in Self.wrongTypes {
                    let answer = try await anna.send(endpoint.method, path(endpoint.path), body)
                    let text = String(decoding: body, as: UTF8.self)
                    // A text is a name, true is a flag, and a small number a coordinate.
                    guard answer.status != 201, !text.contains(":true") else { continue }
                    if answer.status == 204, text.contains("latitude\":5") { continue }
                    if answer.status == 204, text.contains("latitude\":-0.5") { continue }
                    #expect(
                        [400, 404].contains(answer.status),
                        "\(endpoint.path) \(text) \(answer)"
                    )
                }
            }
            #expect(try await world.count("SELECT count(*) FROM groups.friendships") == 0)
        }
    }

    @Test func `every endpoint reads its good body, with members that it does not know`()
        async throws
    {
        try await Self.withGroup { _, anna, path in
            for endpoint in Self.endpoints {
                let body = path(endpoint.body).dropLast() + ",\"unknown\":{\"a\":[1]}}"
                let answer = try await anna.send(
                    endpoint.method,
                    path(endpoint.path),
                    Array(body.utf8)
                )
                #expect(![400, 413, 415].contains(answer.status), "\(endpoint.path) \(answer)")
            }
        }
    }

    @Test func `other media types and codings are 415`() async throws {
        try await Self.withGroup { world, anna, path in
            for endpoint in Self.endpoints {
                let body = Array(path(endpoint.body).utf8)
                for type in [
                    "text/plain", "application/x-www-form-urlencoded", "application/jsonx",
                ] {
                    let answer = try await anna.send(
                        endpoint.method,
                        path(endpoint.path),
                        body,
                        contentType: type
                    )
                    #expect(answer.status == 415, "\(endpoint.path) \(type)")
                }
                let packed = try await anna.send(
                    endpoint.method,
                    path(endpoint.path),
                    body,
                    headers: [("Content-Encoding", "br")]
                )
                #expect(packed.status == 415, "\(endpoint.path)")
            }
            #expect(try await Self.rows(world) == Self.before)
        }
    }

    @Test func `bodies beyond 16 KiB are 413, also when they only inflate to that`() async throws {
        try await Self.withGroup { world, anna, path in
            for endpoint in Self.endpoints {
                let limit = endpoint.path.hasSuffix("places") ? 68 * 1024 : 16 * 1024
                let head = path(endpoint.body).dropLast() + ",\"x\":\""
                func body(of bytes: Int) -> [UInt8] {
                    Array(
                        (head + String(repeating: "x", count: bytes - head.utf8.count - 2) + "\"}")
                            .utf8
                    )
                }
                let gzip = [("Content-Encoding", "gzip")]
                for (body, headers) in [
                    (body(of: limit + 1), []), (Gzip.compress(body(of: limit + 1)), gzip),
                    (Gzip.compress([UInt8](repeating: 0x20, count: 8 << 20)), gzip),
                ] {
                    let answer = try await anna.send(
                        endpoint.method,
                        path(endpoint.path),
                        body,
                        headers: headers
                    )
                    #expect(answer.status == 413, "\(endpoint.path)")
                }
                for (body, headers) in [
                    (body(of: limit), []), (Gzip.compress(body(of: limit)), gzip),
                ] {
                    let answer = try await anna.send(
                        endpoint.method,
                        path(endpoint.path),
                        body,
                        headers: headers
                    )
                    #expect(![400, 413].contains(answer.status), "\(endpoint.path) \(answer)")
                }
                let broken = try await anna.send(
                    endpoint.method,
                    path(endpoint.path),
                    [0x1F, 0x8B, 1, 2, 3],
                    headers: gzip
                )
                #expect(broken.status == 400, "\(endpoint.path)")
            }
        }
    }

    @Test func `ids of other things are not groups, riders or places`() async throws {
        try await Self.withGroup { world, anna, path in
            let circle = path("GROUP")
            let place = try await anna.putPlace(circle)
            let ids = ["\(anna.id)", place, "\(UniqueID.random())", "...", "x%2Fy", "-1"]
            for endpoint in Self.endpoints where endpoint.path.contains("GROUP") {
                for id in ids {
                    let answer = try await anna.send(
                        endpoint.method,
                        endpoint.path.replacing("GROUP", with: id),
                        Array(path(endpoint.body).utf8)
                    )
                    #expect(answer.status == 404, "\(endpoint.path) \(id) \(answer)")
                }
            }
            for id in [circle, "\(anna.id)"] {
                #expect(try await anna.delete("/api/circle-places/\(id)").status == 404)
                #expect(try await anna.delete("/api/friends/\(id)").status == 204)
            }
            #expect(try await world.count("SELECT count(*) FROM groups.places") == 1)
        }
    }

    // MARK: - Surroundings

    private static let before = [1, 1, 0, 0, 0, 0]

    private static func rows(_ world: GroupsWorld) async throws -> [Int] {
        var rows: [Int] = []
        for table in ["groups", "members", "friendships", "fixes", "places", "events"] {
            rows.append(try await world.count("SELECT count(*) FROM groups.\(table)"))
        }
        return rows
    }

    /// A circle of one person, and how a path names it.
    private static func withGroup(
        _ body: (GroupsWorld, Person, (String) -> String) async throws -> Void
    ) async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let ben = try await world.person("ben")
            let circle = try await anna.create("circles")
            try await body(world, anna) { text in
                text.replacing("GROUP", with: circle).replacing("RIDER", with: "\(ben.id)")
            }
        }
    }
}
