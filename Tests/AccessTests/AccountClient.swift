import AuthService
import Database
import Foundation
import ServiceKit
import TestKit
import Transit
import Web

/// Calls about accounts, at services that listen on ports of this machine.
struct AccountClient: Sendable {
    static let password = "correct horse battery"
    /// Cheap hashes, and no limit in the way of tests that are about something else.
    static let environment = [
        "PASSWORD_HASH_MEMORY_KIB": "7168", "PASSWORD_HASH_PASSES": "1",
        "LOGIN_ADDRESS_LIMIT": "1000000", "SIGNUP_LIMIT": "1000000",
    ]

    /// What log-in, refresh and sign-up answer.
    struct Tokens: Decodable, Sendable {
        let accessToken: String
        let refreshToken: String
        let accountId: String
    }

    let client = HTTPClient()

    func send(
        _ method: HTTPMethod,
        _ path: String,
        _ fields: [String: any Sendable]? = nil,
        token: String? = nil,
        at port: Int
    ) async throws -> HTTPClientResponse {
        var headers: [(String, String)] = []
        if let token { headers.append(("Authorization", "Bearer \(token)")) }
        var body: [UInt8] = []
        if let fields {
            headers.append(("Content-Type", "application/json"))
            body = Array(try JSONSerialization.data(withJSONObject: fields))
        }
        return try await client.send(
            method,
            "http://127.0.0.1:\(port)\(path)",
            headers: headers,
            body: body
        )
    }

    func signUp(_ handle: String, at port: Int) async throws -> Tokens {
        let fields = ["handle": handle, "password": Self.password]
        return try tokens(try await send(.post, "/api/v1/auth/register", fields, at: port))
    }

    func logIn(_ identity: [String: String], at port: Int) async throws -> HTTPClientResponse {
        let fields = identity.merging(["password": Self.password]) { given, _ in given }
        return try await send(.post, "/api/v1/auth/login", fields, at: port)
    }

    func refresh(_ token: String, at port: Int) async throws -> HTTPClientResponse {
        try await send(.post, "/api/v1/auth/refresh", ["refresh_token": token], at: port)
    }

    /// Whether the auth at a port takes an access token.
    func accepts(_ token: String, at port: Int) async throws -> Bool {
        let answer = try await send(.get, "/api/me", token: token, at: port)
        guard [200, 401].contains(answer.status) else {
            throw StartFailure(description: "the profile is answered \(answer.status)")
        }
        return answer.status == 200
    }

    func tokens(_ answer: HTTPClientResponse) throws -> Tokens {
        guard [200, 201].contains(answer.status) else {
            let text = String(decoding: answer.body, as: UTF8.self)
            throw StartFailure(description: "no tokens: \(answer.status) \(text)")
        }
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        return try decoder.decode(Tokens.self, from: Data(answer.body))
    }

    /// Makes an account of staff as `alongside user add` does.
    static func addStaff(
        _ role: StaffAccounts.StaffRole,
        _ email: String,
        in fleet: TestFleet
    ) async throws {
        let pool = fleet.database.open(connections: 1, role: Auth.schema.role)
        let result: Result<UniqueID, any Error>
        do {
            let id = try await StaffAccounts.add(
                role,
                email: email,
                name: "Staff",
                password: password,
                at: Int64(Date().timeIntervalSince1970),
                to: pool
            )
            result = .success(id)
        } catch {
            result = .failure(error)
        }
        await pool.close()
        _ = try result.get()
    }
}
