import Foundation
import Testing
import Web

extension EndToEnd.People {
    /// Friends and circles through the gateway, until one of the friends is forgotten.
    @Suite(.timeLimit(.minutes(3))) struct CircleJourneyTests {
        @Test func `friends share a circle until one deletes the account`() async throws {
            let product = try await Product.ready()
            let anna = try await Member("anna_of_the_hill", product)
            let ben = try await Member("ben_of_the_lake", product)

            let asked = try await anna.post("/api/friends/requests", ["username": ben.handle])
            #expect(asked.status == 200)
            let pending = try await ben.riders()
            #expect(pending.count == 1)
            let answered = try await ben.post(
                "/api/friends/requests/\(anna.id)/respond",
                ["accept": true]
            )
            #expect(answered.status == 200)

            let made = try await anna.post("/api/circles", ["name": "The quiet circle"])
            #expect(made.status == 201)
            let circle = try #require(TestRider.object(made)["id"] as? String)
            let invitation = "/api/groups/\(circle)/invitations"
            #expect(try await anna.post(invitation, ["username": ben.handle]).status == 200)
            let accepted = try await ben.post(invitation + "/respond", ["accept": true])
            #expect(accepted.status == 200)

            let sharing = "/api/circles/\(circle)/sharing"
            #expect(try await anna.send(.put, sharing, ["sharing": true]).status == 200)
            let positions = "/api/circles/\(circle)/positions"
            let fix: [String: Any] = ["latitude": 47.61, "longitude": -122.33]
            #expect(try await anna.post(positions, fix).status < 300)
            let seen = try await ben.get(positions)
            #expect(seen.headers.first("Cache-Control") == "no-store")
            let fixes = try #require(TestRider.object(seen)["fixes"] as? [[String: Any]])
            #expect(fixes.map { $0["riderId"] as? String } == [anna.id])
            #expect(fixes.first?["latitude"] as? Double == 47.61)

            let export = try await anna.get("/api/me/export")
            let exported = String(decoding: export.body, as: UTF8.self)
            #expect(export.status == 200)
            for part in [anna.id, ben.handle, "The quiet circle", "47.61"] {
                #expect(exported.contains(part), "\(part)")
            }

            // What logs may have noted: a name that is taken, a refresh token that comes twice.
            let taken = try await product.post("/api/v1/auth/register", anna.signUp)
            #expect(taken.status == 409)
            #expect(try await anna.refresh().status == 200)
            #expect(try await anna.refresh().status == 401)
            let again = try await anna.loggedIn()

            #expect(try await product.tables(holding: anna.id) != [])
            let gone = try await again.send(.delete, "/api/me", ["password": Member.password])
            #expect(gone.status == 204)
            for trace in [anna.id, anna.handle] {
                #expect(try await product.tables(holding: trace) == [], "\(trace)")
                #expect(try product.files(holding: trace) == [], "\(trace)")
            }
            #expect(try await ben.riders().isEmpty)
            let left = try #require(
                TestRider.object(try await ben.get(positions))["fixes"] as? [[String: Any]]
            )
            #expect(left.isEmpty)
            try await product.remove()
        }
    }
}

/// Somebody with an account.
private struct Member {
    static let password = "a long enough password"

    let handle: String
    let id: String
    private let token: String
    private let refreshToken: String
    private let product: Product

    /// Signs up.
    init(_ handle: String, _ product: Product) async throws {
        let answer = try await product.post("/api/v1/auth/register", Self.identity(handle))
        try #require(answer.status == 201, "\(String(decoding: answer.body, as: UTF8.self))")
        try await self.init(handle, answer, product)
    }

    private init(_ handle: String, _ tokens: HTTPClientResponse, _ product: Product) async throws {
        self.handle = handle
        self.product = product
        token = try #require(TestRider.object(tokens)["access_token"] as? String)
        refreshToken = try #require(TestRider.object(tokens)["refresh_token"] as? String)
        let me = try await product.get("/api/me", token: token)
        id = try #require(TestRider.object(me)["id"] as? String)
    }

    /// The body that signs up and logs in.
    var signUp: String { Self.identity(handle) }

    private static func identity(_ handle: String) -> String {
        #"{"handle":"\#(handle)","password":"\#(password)"}"#
    }

    /// The same person with a new session.
    func loggedIn() async throws -> Member {
        try await Member(handle, product.post("/api/v1/auth/login", signUp), product)
    }

    /// Spends the first refresh token.
    func refresh() async throws -> HTTPClientResponse {
        try await product.post(
            "/api/v1/auth/refresh",
            #"{"refresh_token":"\#(refreshToken)"}"#
        )
    }

    func get(_ path: String) async throws -> HTTPClientResponse {
        try await product.get(path, token: token)
    }

    func post(_ path: String, _ fields: [String: Any]) async throws -> HTTPClientResponse {
        try await send(.post, path, fields)
    }

    func send(
        _ method: HTTPMethod,
        _ path: String,
        _ fields: [String: Any]
    ) async throws -> HTTPClientResponse {
        try await product.client.send(
            method,
            product.url + path,
            headers: [
                ("Authorization", "Bearer \(token)"), ("Content-Type", "application/json"),
            ],
            body: Array(try JSONSerialization.data(withJSONObject: fields))
        )
    }

    /// Friends and who has asked.
    func riders() async throws -> [[String: Any]] {
        let answer = try await get("/api/friends")
        return try #require(TestRider.object(answer)["riders"] as? [[String: Any]])
    }
}
