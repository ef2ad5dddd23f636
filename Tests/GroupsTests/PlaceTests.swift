import Database
import TestKit
import Testing
import Transit
import Web

@testable import GroupsService

/// Shared places (cases 21 to 23, decisions 8 and 19).
@Suite(.timeLimit(.minutes(5))) struct PlaceTests {
    @Test func `a place is seen by the others as it was sent`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.group("circles", anna, ben)
            let sent =
                "{ \"id\": 7, \"name\":\"  Home \", \"radiusMeters\":120.50,\"lat\":47.60,"
                + "\"deep\":[{\"a\":[1e3, null,\"\\u00e9\"]}] }"
            let put = try await anna.post(
                "/api/circles/\(circle)/places",
                "{\"other\":[{\"place\":1}],\"place\": \(sent) , \"more\":{}}"
            )
            #expect(put.status == 200)
            #expect(put.json.keys == ["id"])
            let id = try #require(put.text("id"))
            let answer = try await ben.get("/api/circles/\(circle)/places")
            #expect(
                answer.body == "{\"places\":[{\"id\":\"\(id)\",\"ownerId\":\"\(anna.id)\","
                    + "\"name\":\"Home\",\"radiusMeters\":120.5,"
                    + "\"createdAtMs\":\(world.clock.now * 1000),\"place\":\(sent)}]}"
            )
        }
    }

    @Test(arguments: [
        ("\"id\":1,\"radiusMeters\":0", "circle_place.radius_out_of_range"),
        ("\"id\":1,\"radiusMeters\":-1", "circle_place.radius_out_of_range"),
        ("\"id\":1,\"radiusMeters\":50001", "circle_place.radius_out_of_range"),
        ("\"id\":1,\"radiusMeters\":50000.001", "circle_place.radius_out_of_range"),
        ("\"id\":1", "circle_place.radius_out_of_range"),
        ("\"id\":1,\"radiusMeters\":\"5\"", "json.invalid_type"),
        ("\"id\":0,\"radiusMeters\":5", "circle_place.place_id_required"),
        ("\"radiusMeters\":5", "circle_place.place_id_required"),
        ("\"id\":1.5,\"radiusMeters\":5", "json.invalid_type"),
        ("\"id\":\"1\",\"radiusMeters\":5", "json.invalid_type"),
        ("\"id\":9223372036854775808,\"radiusMeters\":5", "json.out_of_range"),
        ("\"id\":1,\"radiusMeters\":5,\"name\":5", "json.invalid_type"),
        ("\"id\":1,\"id\":2,\"radiusMeters\":5", "json.invalid"),
    ])
    func `what is no place is refused (case 22)`(members: String, code: String) async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await anna.create("circles")
            let answer = try await anna.post(
                "/api/circles/\(circle)/places",
                "{\"place\":{\(members)}}"
            )
            #expect(answer.status == 400)
            #expect(answer.code == code)
            #expect(try await world.count("SELECT count(*) FROM groups.places") == 0)
        }
    }

    @Test(arguments: ["0.001", "50000", "1e2"])
    func `a radius above 0 and up to 50 km is kept`(radius: String) async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await anna.create("circles")
            let answer = try await anna.post(
                "/api/circles/\(circle)/places",
                "{\"place\":{\"id\":-9223372036854775808,\"radiusMeters\":\(radius)}}"
            )
            #expect(answer.status == 200)
            let places = try await anna.get("/api/circles/\(circle)/places").json["places"]
            #expect(places[0]["radiusMeters"].double == Double(radius))
            #expect(places[0]["name"].string == "Place")
        }
    }

    @Test func `only its owner deletes a place (case 23)`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.group("circles", anna, ben)
            let place = try await anna.putPlace(circle)
            let refused = "{\"error\":\"place not found\",\"code\":\"place.not_found\"}"
            for id in [place, "\(UniqueID.random())", "7"] {
                let answer = try await ben.delete("/api/circle-places/\(id)")
                #expect(answer.status == 404)
                #expect(answer.body == refused)
            }
            #expect(try await anna.delete("/api/circle-places/\(place)").status == 204)
            #expect(try await anna.delete("/api/circle-places/\(place)").status == 404)
        }
    }

    @Test func `a name is trimmed, cut at 200 and never blank`() async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await anna.create("circles")
            let long = String(repeating: "é", count: 201)
            for (number, name) in ["  a b ", " \\t ", long, String(long.dropLast())].enumerated() {
                _ = try await anna.putPlace(circle, id: Int64(number + 1), name: name)
            }
            let places = try await anna.get("/api/circles/\(circle)/places").json["places"]
            #expect(
                places.array.map { $0["name"].string }
                    == [String(long.dropLast()), String(long.dropLast()), "Place", "a b"]
            )
        }
    }

    @Test(arguments: GroupCaseTests.invisible)
    func `a place's name is what one sees, too`(name: String) async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await anna.create("circles")
            let answer = try await anna.post(
                "/api/circles/\(circle)/places",
                "{\"place\":{\"id\":1,\"name\":\"\(name)\",\"radiusMeters\":5}}"
            )
            #expect(answer.status == 400, "\(name.unicodeScalars.map(\.value))")
            #expect(answer.code == "circle_place.name_invalid")
            #expect(try await world.count("SELECT count(*) FROM groups.places") == 0)
        }
    }

    @Test(arguments: [(61, 200), (62, 400)])
    func `what rides along nests as deep as the list can still be read`(
        depth: Int,
        status: Int
    ) async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await anna.create("circles")
            // The place itself is the first level.
            let (open, close) = (depth - 1, depth - 1)
            let deep = String(repeating: "[", count: open) + String(repeating: "]", count: close)
            let place = "{\"id\":1,\"radiusMeters\":5,\"deep\":\(deep)}"
            let path = "/api/circles/\(circle)/places"
            let answer = try await anna.post(path, "{\"place\":\(place)}")
            #expect(answer.status == status)
            let list = try await anna.get(path).body
            #expect(list.contains(place) == (status == 200))
            // Any reader of ours that takes 64 levels can read it.
            _ = try JSONValue(parsing: Array(list.utf8), maximumDepth: 64)
        }
    }

    @Test(arguments: ["1e999999", "-1e400"])
    func `a number that no reader of the list could hold is refused`(number: String) async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await anna.create("circles")
            let answer = try await anna.post(
                "/api/circles/\(circle)/places",
                "{\"place\":{\"id\":1,\"radiusMeters\":5,\"more\":\(number)}}"
            )
            #expect(answer.status == 400)
            #expect(answer.code == "json.invalid")
        }
    }

    @Test func `the newest fifty of each owner stay`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.group("circles", anna, ben)
            let bens = try await ben.putPlace(circle, id: 1, name: "ben")
            var ids: [String] = []
            for number in 1...50 {
                ids.append(try await anna.putPlace(circle, id: Int64(number)))
            }
            // Replacing keeps the row's id and makes it the newest.
            #expect(try await anna.putPlace(circle, id: 1, name: "again") == ids[0])
            _ = try await anna.putPlace(circle, id: 51)
            let places = try await anna.get("/api/circles/\(circle)/places").json["places"].array
            let left = places.compactMap { $0["id"].string }
            #expect(left.count == 51)
            #expect(left.contains(bens))
            #expect(left.contains(ids[0]))
            #expect(!left.contains(ids[1]))
            #expect(places[1]["name"].string == "again")
        }
    }

    @Test func `the same number of two owners is two places (decision 8)`() async throws {
        try await GroupsWorld.with { world in
            let (anna, ben) = (try await world.person("anna"), try await world.person("ben"))
            let circle = try await world.group("circles", anna, ben)
            let own = try await anna.putPlace(circle, id: 1, name: "annas")
            let other = try await ben.putPlace(circle, id: 1, name: "bens")
            #expect(own != other)
            let places = try await anna.get("/api/circles/\(circle)/places").json["places"].array
            #expect(places.map { $0["name"].string } == ["bens", "annas"])
        }
    }

    @Test(arguments: [(65_536, 200), (65_537, 413)])
    func `64 KiB of a place are taken, not a byte more`(bytes: Int, status: Int) async throws {
        try await GroupsWorld.with { world in
            let anna = try await world.person("anna")
            let circle = try await anna.create("circles")
            let head = "{\"id\":1,\"radiusMeters\":5,\"notes\":\""
            let place = head + String(repeating: "x", count: bytes - head.utf8.count - 2) + "\"}"
            let body = Array("{\"place\":\(place)}".utf8)
            let path = "/api/circles/\(circle)/places"
            let answer = try await anna.send(.post, path, body)
            #expect(answer.status == status)
            let packed = try await anna.send(
                .post,
                path,
                Gzip.compress(body),
                headers: [("Content-Encoding", "gzip")]
            )
            #expect(packed.status == status)
            if status == 413 { #expect(answer.code == "circle_place.payload_too_large") }
        }
    }
}
