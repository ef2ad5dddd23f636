import Foundation
import TestKit
import Testing
import Transit
import Web

/// Someone with a token, and what they do over HTTP.
struct Person: Sendable {
    let id: UniqueID
    let handle: String
    let token: String
    let process: GroupsProcess

    /// The same person calling another process.
    func at(_ process: GroupsProcess) -> Person {
        Person(id: id, handle: handle, token: token, process: process)
    }

    // MARK: - Calls

    func get(_ path: String) async throws -> Answer { try await send(.get, path) }

    func delete(_ path: String) async throws -> Answer { try await send(.delete, path) }

    func post(_ path: String, _ body: String) async throws -> Answer {
        try await send(.post, path, Array(body.utf8))
    }

    func put(_ path: String, _ body: String) async throws -> Answer {
        try await send(.put, path, Array(body.utf8))
    }

    func send(
        _ method: HTTPMethod,
        _ path: String,
        _ body: [UInt8] = [],
        contentType: String = "application/json",
        headers: [(String, String)] = []
    ) async throws -> Answer {
        let response = try await process.http.send(
            method,
            "http://127.0.0.1:\(process.port)\(path)",
            headers: [("Authorization", "Bearer \(token)"), ("Content-Type", contentType)]
                + headers,
            body: body
        )
        return Answer(response)
    }

    // MARK: - What people do, when it is to succeed

    /// Asks for a friendship; the answer's status.
    @discardableResult
    func ask(_ handle: String) async throws -> String {
        let answer = try await post("/api/friends/requests", "{\"username\":\"\(handle)\"}")
        return try #require(answer.text("status"), "\(answer)")
    }

    func ask(anyone handle: String) async throws -> Answer {
        try await post("/api/friends/requests", "{\"username\":\"\(handle)\"}")
    }

    /// Makes a group; its id.
    func create(_ collection: String, _ name: String = "Family") async throws -> String {
        let answer = try await post("/api/\(collection)", "{\"name\":\"\(name)\"}")
        #expect(answer.status == 201)
        return try #require(answer.text("id"), "\(answer)")
    }

    /// Invites a person; the answer's status.
    @discardableResult
    func invite(_ other: Person, to group: String) async throws -> String {
        let answer = try await tryToInvite(other.handle, to: group)
        return try #require(answer.text("status"), "\(answer)")
    }

    func tryToInvite(_ handle: String, to group: String) async throws -> Answer {
        try await post("/api/groups/\(group)/invitations", "{\"username\":\"\(handle)\"}")
    }

    func respond(_ group: String, accept: Bool) async throws -> Answer {
        try await post("/api/groups/\(group)/invitations/respond", "{\"accept\":\(accept)}")
    }

    func accept(_ group: String) async throws {
        let answer = try await respond(group, accept: true)
        #expect(answer.text("status") == "accepted", "\(answer)")
    }

    func leave(_ group: String) async throws -> Answer {
        try await delete("/api/groups/\(group)/membership")
    }

    func share(_ group: String, _ sharing: Bool = true) async throws {
        let answer = try await put("/api/circles/\(group)/sharing", "{\"sharing\":\(sharing)}")
        #expect(answer.status == 200, "\(answer)")
    }

    func unfriend(_ other: Person) async throws -> Answer {
        try await delete("/api/friends/\(other.id)")
    }

    func postFix(
        _ circle: String,
        latitude: Double = 47.6,
        more: String = ""
    ) async throws -> Answer {
        try await post(
            "/api/circles/\(circle)/positions",
            "{\"latitude\":\(latitude),\"longitude\":-122.3\(more)}"
        )
    }

    /// Shares a place; its row's id.
    func putPlace(_ circle: String, id: Int64 = 1, name: String = "Home") async throws -> String {
        let answer = try await post(
            "/api/circles/\(circle)/places",
            "{\"place\":{\"id\":\(id),\"name\":\"\(name)\",\"radiusMeters\":100}}"
        )
        return try #require(answer.text("id"), "\(answer)")
    }

    func postEvent(
        _ circle: String,
        _ place: String,
        _ kind: String = "arrive",
        more: String = ""
    ) async throws -> Answer {
        try await post(
            "/api/circles/\(circle)/events",
            "{\"placeId\":\"\(place)\",\"kind\":\"\(kind)\"\(more)}"
        )
    }

    // MARK: - What people see

    /// The groups of a kind, as they stand in the list.
    func groups(_ collection: String) async throws -> [JSON] {
        try await get("/api/\(collection)").json.array
    }

    /// One group of the list.
    func group(_ id: String, in collection: String = "circles") async throws -> JSON? {
        try await groups(collection).first { $0["id"].string == id }
    }

    /// Who is where in a circle, by account.
    func fixes(_ circle: String) async throws -> [String: JSON] {
        let answer = try await get("/api/circles/\(circle)/positions")
        #expect(answer.status == 200, "\(answer)")
        return Dictionary(
            answer.json["fixes"].array.map { ($0["riderId"].string ?? "", $0) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// The relations to others, by handle.
    func friends() async throws -> [String: String] {
        Dictionary(
            try await get("/api/friends").json["riders"].array.map {
                ($0["rider"]["username"].string ?? "", $0["relation"].string ?? "")
            },
            uniquingKeysWith: { first, _ in first }
        )
    }
}
