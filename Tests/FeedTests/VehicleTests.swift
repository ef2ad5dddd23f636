import TestKit
import Testing
import Transit
import Web

@testable import FeedService

/// Vehicles and who may drive them (spec 1.4).
@Suite(.timeLimit(.minutes(2))) struct VehicleTests {
    private let path = "/api/v1/admin/vehicles"

    private func make(_ world: DriverWorld, _ ids: [String]) async throws {
        for id in ids {
            #expect(try await world.post(path, "{\"id\":\"\(id)\"}").status == 200)
            world.clock.advance(by: 1)
        }
    }

    private func ids(_ answer: HTTPClientResponse) throws -> [String?] {
        try answer.json.elements.map { $0["id"]?.text }
    }

    private static func text(_ count: Int) -> String { String(repeating: "é", count: count) }

    @Test func `a vehicle is made, shown and renamed`() async throws {
        try await withDrivers { world async throws in
            let made = try await world.post(
                path,
                #"{"id":"bus.1","label":"Seven","agency_tag":"A"}"#
            )
            #expect(made.status == 200)
            let expected =
                #"{"id":"bus.1","label":"Seven","agency_tag":"A","active":true,"#
                + #""created_at":"2026-02-16T16:00:00Z","updated_at":"2026-02-16T16:00:00Z"}"#
            #expect(made.text == expected)
            #expect(try await world.get("\(path)/bus.1").text == expected)
            world.clock.advance(by: 60)
            let renamed = try await world.post(path, #"{"id":"bus.1","label":"Eight"}"#).json
            #expect(renamed["label"]?.text == "Eight")
            #expect(renamed["agency_tag"]?.text == "")
            #expect(renamed["created_at"]?.text == "2026-02-16T16:00:00Z")
            #expect(renamed["updated_at"]?.text == "2026-02-16T16:01:00Z")
        }
    }

    @Test(
        arguments: [
            (#"{}"#, "vehicle id is required"), (#"{"id":""}"#, "vehicle id is required"),
            (#"{"id":"a b"}"#, Self.characters), (#"{"id":"a:b"}"#, Self.characters),
            (
                "{\"id\":\"\(String(repeating: "a", count: 51))\"}",
                "vehicle id must be at most 50 characters"
            ),
            ("{\"id\":\"\(String(repeating: "a", count: 50))\"}", nil),
            ("{\"id\":\"a\",\"label\":\"\(text(255))\"}", nil),
            ("{\"id\":\"a\",\"label\":\"\(text(256))\"}", "label must be at most 255 characters"),
            ("{\"id\":\"a\",\"agency_tag\":\"\(text(255))\"}", nil),
            (
                "{\"id\":\"a\",\"agency_tag\":\"\(text(256))\"}",
                "agency_tag must be at most 255 characters"
            ),
            (#"{"id":"a","active":true}"#, #"invalid JSON: unknown field "active""#),
            (#"{"id":7}"#, #"field "id" has invalid type"#),
        ] as [(String, String?)]
    )
    func `a vehicle's rules`(body: String, error: String?) async throws {
        try await withDrivers { world async throws in
            let answer = try await world.post(path, body)
            #expect(answer.status == (error == nil ? 200 : 400))
            #expect(answer.refusal == error)
        }
    }

    private static let characters =
        "vehicle id must contain only alphanumeric characters, dots, hyphens, and underscores"

    @Test(arguments: [
        "/api/v1/admin/vehicles", "/api/v1/admin/assignments", "/api/v1/trips/start",
        "/api/v1/trips/end", "/api/v1/admin/api-keys",
    ])
    func `a body beyond a kibibyte is 413 and one that is no JSON 415`(path: String) async throws {
        try await withDrivers { world async throws in
            let large = try await world.post(path, "{}" + String(repeating: " ", count: 1023))
            #expect(large.status == 413)
            #expect(large.refusal == "request body too large")
            let fitting = try await world.post(path, "{}" + String(repeating: " ", count: 1022))
            #expect(fitting.status == 400)
            let plain = try await world.send(
                .post,
                path,
                as: .admin,
                "{}",
                contentType: "text/plain"
            )
            #expect(plain.status == 415)
        }
    }

    @Test func `a removed vehicle is inactive, and made again it is active`() async throws {
        try await withDrivers { world async throws in
            try await make(world, ["a", "b"])
            for _ in 0..<2 {
                let answer = try await world.send(.delete, "\(path)/a", as: .admin)
                #expect(answer.status == 204)
                #expect(answer.body.isEmpty)
            }
            #expect(try ids(try await world.get(path)) == ["b"])
            #expect(try ids(try await world.get("\(path)?active=false")) == ["a"])
            #expect(try ids(try await world.get("\(path)?active=all")) == ["b", "a"])
            #expect(try await world.get("\(path)/a").json["active"]?.flag == false)
            try await make(world, ["a"])
            #expect(try ids(try await world.get(path)) == ["b", "a"])
        }
    }

    @Test func `unknown vehicles are 404 and impossible ones 400`() async throws {
        try await withDrivers { world async throws in
            for method in [HTTPMethod.get, .delete] {
                let unknown = try await world.send(method, "\(path)/none", as: .admin)
                #expect(unknown.status == 404)
                #expect(unknown.refusal == "vehicle not found")
                let impossible = try await world.send(method, "\(path)/a%20b", as: .admin)
                #expect(impossible.status == 400)
                #expect(impossible.refusal == Self.characters)
            }
        }
    }

    @Test func `the list is cut as asked, the newest first`() async throws {
        try await withDrivers { world async throws in
            try await make(world, ["a", "b", "c"])
            #expect(try ids(try await world.get("\(path)?limit=2")) == ["c", "b"])
            #expect(try ids(try await world.get("\(path)?limit=2&offset=2")) == ["a"])
            #expect(try ids(try await world.get("\(path)?limit=&offset=")) == ["c", "b", "a"])
        }
    }

    @Test(
        arguments: [
            ("limit=0", "limit must be between 1 and 200"), ("limit=1", nil), ("limit=200", nil),
            ("limit=201", "limit must be between 1 and 200"),
            ("limit=x", "limit must be between 1 and 200"),
            ("limit=99999999999999999999", "limit must be between 1 and 200"),
            ("offset=-1", "offset must be between 0 and 2147483647"), ("offset=2147483647", nil),
            ("offset=2147483648", "offset must be between 0 and 2147483647"),
            ("active=yes", "active must be true, false or all"),
        ] as [(String, String?)]
    )
    func `bad paging is 400`(query: String, error: String?) async throws {
        try await withDrivers { world async throws in
            for path in [path, "/api/v1/admin/trips"]
            where !query.hasPrefix("active") || path == self.path {
                let answer = try await world.get("\(path)?\(query)")
                #expect(answer.status == (error == nil ? 200 : 400))
                #expect(answer.refusal == error)
            }
        }
    }

    // MARK: - Assignments

    private func assign(
        _ world: DriverWorld,
        _ user: UniqueID,
        _ vehicle: String
    ) async throws -> HTTPClientResponse {
        try await world.post(
            "/api/v1/admin/assignments",
            "{\"user_id\":\"\(user)\",\"vehicle_id\":\"\(vehicle)\"}"
        )
    }

    @Test func `an assignment is made once, listed from both sides and removed`() async throws {
        try await withDrivers { world async throws in
            let user = UniqueID.random()
            try await make(world, ["a", "b"])
            let made = try await assign(world, user, "a")
            #expect(made.status == 201)
            let entry =
                "{\"user_id\":\"\(user)\",\"vehicle_id\":\"a\","
                + "\"created_at\":\"2026-02-16T16:00:02Z\"}"
            #expect(made.text == entry)
            let again = try await assign(world, user, "a")
            #expect(again.status == 409)
            #expect(again.refusal == "vehicle is already assigned to this user")
            #expect(
                try await world.get("/api/v1/admin/users/\(user)/vehicles").text == "[\(entry)]"
            )
            #expect(try await world.get("\(path)/a/users").text == "[\(entry)]")
            let removal = "/api/v1/admin/users/\(user)/vehicles/a"
            let removed = try await world.send(.delete, removal, as: .admin)
            #expect(removed.status == 200)
            #expect(removed.text == "{\"status\":\"assignment removed\"}")
            let gone = try await world.send(.delete, removal, as: .admin)
            #expect(gone.status == 404)
            #expect(gone.refusal == "assignment not found")
        }
    }

    @Test func `who or what does not exist is 404, in a list an empty one`() async throws {
        try await withDrivers { world async throws in
            try await make(world, ["a"])
            let user = UniqueID.random()
            #expect(try await assign(world, user, "none").refusal == "vehicle not found")
            world.accounts.set(user, .unknown)
            let unknown = try await assign(world, user, "a")
            #expect(unknown.status == 404)
            #expect(unknown.refusal == "user not found")
            #expect(try await world.get("/api/v1/admin/users/\(user)/vehicles").text == "[]")
            #expect(try await world.get("\(path)/none/users").text == "[]")
            #expect(try await world.get("/api/v1/admin/users/7/vehicles").status == 404)
        }
    }

    @Test(arguments: [
        (#"{"vehicle_id":"a"}"#, "user_id must be a UUID"),
        (#"{"user_id":"7","vehicle_id":"a"}"#, "user_id must be a UUID"),
        (#"{"user_id":7,"vehicle_id":"a"}"#, #"field "user_id" has invalid type"#),
        (#"{"user_id":"7d1d0000-0000-4000-8000-000000000001"}"#, "vehicle_id is required"),
    ])
    func `an assignment's rules`(body: String, error: String) async throws {
        try await withDrivers { world async throws in
            let answer = try await world.post("/api/v1/admin/assignments", body)
            #expect(answer.status == 400)
            #expect(answer.refusal == error)
        }
    }

    @Test func `drivers see the active vehicles that are theirs`() async throws {
        try await withDrivers { world async throws in
            let user = UniqueID.random()
            try await make(world, ["c", "a", "b", "other"])
            for id in ["c", "a", "b"] { _ = try await assign(world, user, id) }
            _ = try await world.send(.delete, "\(path)/b", as: .admin)
            let own = try await world.get("/api/v1/vehicles", as: .driver(user))
            #expect(try ids(own) == ["a", "c"])
            #expect(try own.json[0]?.keys.first == "id")
            #expect(try await world.get("/api/v1/vehicles", as: .driver(.random())).text == "[]")
        }
    }

    // MARK: - Live

    @Test func `the live list names label, trip and driver where they are known`() async throws {
        try await withDrivers { world async throws in
            let driver = UniqueID.random()
            world.accounts.set(driver, .known(name: "Ann Driver"))
            _ = try await world.post(path, #"{"id":"a","label":"Seven"}"#)
            _ = try await assign(world, driver, "a")
            let trip = try await world.post(
                "/api/v1/trips/start",
                as: .driver(driver),
                #"{"vehicle_id":"a","route_id":"R9"}"#
            ).json
            let body = ReportBody("a", at: world.now + 61).on("T1").with("bearing", "90")
            try await world.report(driver, body)
            try await world.report(.random(), ReportBody("b", at: world.now - 89))
            try await world.report(.random(), ReportBody("old", at: world.now - 91))
            let list = try await world.get("\(path)/live").json
            #expect(list["count"]?.number == 2)
            let first = try #require(list["vehicles"]?[0])
            #expect(
                first.keys == [
                    "vehicle_id", "label", "latitude", "longitude", "bearing", "speed",
                    "gtfs_trip_id", "trip_db_id", "route_id", "driver_name", "reported_at",
                    "updated_at",
                ]
            )
            #expect(first["label"]?.text == "Seven")
            #expect(first["bearing"]?.number == 90)
            #expect(first["speed"] == .null)
            #expect(first["gtfs_trip_id"]?.text == "T1")
            #expect(first["trip_db_id"] == trip["id"])
            #expect(first["route_id"]?.text == "R9")
            #expect(first["driver_name"]?.text == "Ann Driver")
            #expect(first["reported_at"]?.number == Double(world.now + 61))
            #expect(first["updated_at"]?.text == "2026-02-16T16:00:00Z")
            let second = try #require(list["vehicles"]?[1])
            #expect(second["label"]?.text == "b")
            for name in ["trip_db_id", "route_id", "driver_name", "bearing"] {
                #expect(second[name] == .null)
            }
        }
    }

    @Test func `the status counts vehicles and says when the last was heard`() async throws {
        try await withDrivers { world async throws in
            let idle = try await world.get("/api/v1/admin/status").json
            #expect(
                idle.keys == [
                    "status", "uptime_seconds", "active_vehicles", "total_vehicles_tracked",
                    "skewed_reports", "verifiers",
                ]
            )
            #expect(idle["active_vehicles"]?.number == 0)
            try await world.report(.random(), ReportBody("a", at: world.now))
            try await world.report(.random(), ReportBody("b", at: world.now - 60))
            world.clock.advance(by: 40)
            let busy = try await world.get("/api/v1/admin/status").json
            #expect(busy["status"]?.text == "ok")
            #expect(busy["active_vehicles"]?.number == 1)
            #expect(busy["total_vehicles_tracked"]?.number == 2)
            #expect(busy["last_update"]?.text == "2026-02-16T16:00:00Z")
        }
    }
}
