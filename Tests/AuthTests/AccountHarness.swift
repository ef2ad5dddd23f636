import Database
import FoundationEssentials
import ServiceKit
import TestKit
import Testing
import Transit
import Web

@testable import AuthService

/// A password that nothing refuses.
let goodPassword = "correct horse battery"

extension AuthProcess {
    /// What log-in, refresh and sign-up answer.
    struct Tokens: Decodable, Sendable {
        let token: String
        let accessToken: String
        let refreshToken: String
        let expiresIn: Int
        let accountId: String
        let role: String
    }

    /// What `GET /api/me` answers.
    struct Me: Decodable {
        let id: String
        let handle: String?
        let email: String?
        let role: String
        let createdAt: String
    }

    /// Sends one request with a JSON body, as whoever `token` speaks for.
    ///
    /// The address is a new one each time unless the test gives one, so that limits stay out of the
    /// way of tests that are about something else.
    func call(
        _ method: HTTPMethod,
        _ path: String,
        _ body: String? = nil,
        token: String? = nil,
        from address: String? = nil,
        headers: [(String, String)] = []
    ) async throws -> HTTPClientResponse {
        var headers = headers
        if body != nil { headers.append(("Content-Type", "application/json")) }
        if let token { headers.append(("Authorization", "Bearer \(token)")) }
        let other = "10.\(Int.random(in: 0...255)).\(Int.random(in: 0...255))"
        let forwarded = address ?? "\(other).\(Int.random(in: 1...254))"
        headers.append(("X-Forwarded-For", forwarded))
        return try await client.send(
            method,
            "http://127.0.0.1:\(port)\(path)",
            headers: headers,
            body: Array((body ?? "").utf8)
        )
    }

    func signUp(
        _ handle: String,
        email: String? = nil,
        password: String = goodPassword,
        from address: String? = nil
    ) async throws -> HTTPClientResponse {
        var fields = ["handle": handle, "password": password]
        fields["email"] = email
        return try await call(.post, "/api/v1/auth/register", json(fields), from: address)
    }

    /// A new member's tokens.
    func member(_ handle: String, email: String? = nil) async throws -> Tokens {
        let answer = try await signUp(handle, email: email)
        try #require(answer.status == 201, "\(answer.text)")
        return try answer.decoded()
    }

    func logIn(
        email: String? = nil,
        handle: String? = nil,
        password: String = goodPassword,
        from address: String? = nil
    ) async throws -> HTTPClientResponse {
        var fields = ["password": password]
        fields["email"] = email
        fields["handle"] = handle
        return try await call(.post, "/api/v1/auth/login", json(fields), from: address)
    }

    /// The tokens of a log-in that must succeed.
    func tokens(
        email: String? = nil,
        handle: String? = nil,
        password: String = goodPassword
    ) async throws -> Tokens {
        let answer = try await logIn(email: email, handle: handle, password: password)
        try #require(answer.status == 200, "\(answer.text)")
        return try answer.decoded()
    }

    func refresh(_ token: String, from address: String? = nil) async throws -> HTTPClientResponse {
        try await call(
            .post,
            "/api/v1/auth/refresh",
            json(["refresh_token": token]),
            from: address
        )
    }

    /// Whether this process takes an access token, after a look at the revocations.
    func accepts(_ token: String) async throws -> Bool {
        await look()
        let answer = try await call(.get, "/api/me", token: token)
        try #require([200, 401].contains(answer.status), "\(answer.status) \(answer.text)")
        return answer.status == 200
    }

    /// Makes an account of staff and logs it in.
    func staff(
        _ role: Role = .admin,
        email: String,
        in database: TestDatabase
    ) async throws -> Tokens {
        try await addStaff(role, email: email, in: database)
        return try await tokens(email: email)
    }
}

/// Makes an account of staff as the command line does, with a cheap hash.
@discardableResult
func addStaff(
    _ role: Role = .admin,
    email: String,
    name: String = "Staff",
    in database: TestDatabase,
    at now: UnixSeconds = ManualClock().now
) async throws -> UniqueID {
    let hash = try #require(Argon2.hash(Array(goodPassword.utf8), .test))
    return try await database.query { connection throws(DatabaseError) in
        try AccountRows.insert(
            NewAccount(
                role: role,
                handle: nil,
                email: EmailAddress(email),
                name: name,
                passwordHash: hash
            ),
            at: now,
            on: connection
        ).id
    }
}

extension Argon2Costs {
    /// The least that the settings allow.
    static let test = Argon2Costs(passes: 1, memoryKiB: 7_168)
}

/// The text of a JSON object of texts.
func json(_ fields: [String: String]) -> String {
    let members = fields.sorted { $0.key < $1.key }.map { "\(quoted($0.key)):\(quoted($0.value))" }
    return "{" + members.joined(separator: ",") + "}"
}

/// A text as JSON writes it.
func quoted(_ text: String) -> String {
    var writer = JSONWriter()
    writer.value(text)
    return String(decoding: writer.bytes, as: UTF8.self)
}

extension HTTPClientResponse {
    /// The sentence of a refusal.
    var refusal: AuthProcess.Refusal? { try? decoded(AuthProcess.Refusal.self) }
}

/// The claims of a token of ours, read with the keys of some families.
func claims(
    _ token: String,
    _ clock: ManualClock,
    _ families: Set<KeyFamily> = Set(KeyFamily.allCases)
) throws -> TokenClaims {
    try TestTokens(clock: clock.application).verifier(families).claims(of: token)
}
