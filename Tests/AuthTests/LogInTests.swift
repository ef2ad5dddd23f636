import Database
import ServiceKit
import Telemetry
import TestKit
import Testing
import Transit
import Web

@testable import AuthService

/// `POST /api/v1/auth/login`, row by row of spec 1.2.
@Suite(.timeLimit(.minutes(3))) struct LogInTests {
    private let clock = ManualClock()
    private static let refused = AuthProcess.Refusal(
        error: "invalid email or password",
        code: "login.refused"
    )

    @Test(arguments: [Role.driver, .admin])
    func `gives staff a token of their own family`(role: Role) async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            let id = try await addStaff(role, email: "Dora@Example.org", in: database)
            let answer = try await auth.logIn(email: "dora@example.org")
            #expect(answer.status == 200)
            let tokens = try answer.decoded(AuthProcess.Tokens.self)
            #expect(tokens.token == tokens.accessToken)
            #expect(tokens.expiresIn == 900)
            #expect(tokens.accountId == id.description)
            #expect(tokens.role == role.rawValue)
            let claims = try claims(tokens.token, clock, [.staff])
            #expect(claims.subject == id.description)
            #expect(claims.role == role)
            #expect(claims.email == "Dora@Example.org")
            #expect(claims.handle == nil)
            #expect(claims.tokenID?.count == 32)
            #expect(claims.expiresAt == clock.now + 900)
        }
    }

    @Test(arguments: [
        ("", "invalid request body"),
        ("{", "invalid request body"),
        ("[]", "invalid request body"),
        ("{} {}", "invalid request body"),
        (#"{"email":7,"password":"x"}"#, "invalid request body"),
        (#"{"email":"a@b","password":"x","remember":true}"#, "invalid request body"),
        (#"{"email":"a@b","password":"pass\u0000word"}"#, "invalid request body"),
        ("{}", "email and password are required"),
        (#"{"email":"a@b"}"#, "email and password are required"),
        (#"{"email":"a@b","password":""}"#, "email and password are required"),
        (#"{"email":"","password":"password"}"#, "email and password are required"),
        (#"{"email":null,"password":"password"}"#, "email and password are required"),
        (#"{"password":"password"}"#, "email and password are required"),
        (#"{"email":"a@b","handle":"ada","password":"x"}"#, "email and handle exclude each other"),
    ])
    func `refuses a bad body with its own sentence`(body: String, error: String) async throws {
        try await withSharedAuth(clock: clock) { auth, _ async throws in
            let answer = try await auth.call(.post, "/api/v1/auth/login", body)
            #expect(answer.status == 400)
            #expect(answer.refusal?.error == error)
        }
    }

    @Test func `wants JSON of at most 16 KiB`() async throws {
        try await withAuth(clock: clock) { auth async throws in
            let url = "http://127.0.0.1:\(auth.port)/api/v1/auth/login"
            let body = Array(json(["email": "a@b", "password": "x"]).utf8)
            #expect(try await auth.client.send(.post, url, body: body).status == 415)
            let long = json(["email": "a@b", "password": String(repeating: "x", count: 16_384)])
            #expect(try await auth.call(.post, "/api/v1/auth/login", long).status == 413)
        }
    }

    /// Hashes that a process has computed so far.
    private func hashes(_ auth: AuthProcess) throws -> Int {
        let line = auth.metrics.rendered().split(separator: "\n")
            .first { $0.hasPrefix("password_hash_seconds_count") }
        return try #require(line.flatMap { $0.split(separator: " ").last }.flatMap { Int($0) })
    }

    @Test func `nothing tells an unknown identity from a wrong password`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            try await addStaff(.driver, email: "off@example.org", in: database)
            try await database.query { connection throws(DatabaseError) in
                try connection.script("UPDATE auth.accounts SET active = false")
            }
            try await addStaff(.driver, email: "dora@example.org", in: database)
            let attempts: [(email: String?, handle: String?, password: String)] = [
                ("nobody@example.org", nil, goodPassword),
                (nil, "nobody", goodPassword),
                ("no address", nil, goodPassword),
                (nil, "no handle!", goodPassword),
                (String(repeating: "x", count: 5000) + "@b", nil, goodPassword),
                ("dora@example.org", nil, "wrong password"),
                ("dora@example.org", nil, "x"),
                ("dora@example.org", nil, String(repeating: "x", count: 8000)),
                ("off@example.org", nil, goodPassword),
            ]
            var heads: Set<[String]> = []
            for attempt in attempts {
                let before = try hashes(auth)
                let answer = try await auth.logIn(
                    email: attempt.email,
                    handle: attempt.handle,
                    password: attempt.password
                )
                #expect(answer.status == 401)
                #expect(answer.refusal == Self.refused)
                heads.insert(
                    answer.headers.all.filter { $0.name.lowercased() != "date" }
                        .map { "\($0.name): \($0.value)" }
                )
                // The time is that of one hash, whoever is asked for.
                #expect(try hashes(auth) == before + 1, "\(attempt.email ?? attempt.handle ?? "")")
            }
            #expect(heads.count == 1, "\(heads)")
            // What the body holds is no scheme of HTTP; a browser must not ask for it in its own window.
            #expect(heads.first?.contains(#"WWW-Authenticate: Bearer realm="alongside""#) == true)
            #expect(try await auth.logIn(email: "dora@example.org").status == 200)
        }
    }

    @Test func `an erased account is nobody's`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            let member = try await auth.member("ada", email: "ada@example.org")
            let id = try #require(UniqueID(member.accountId))
            let now = clock.now
            try await database.query { connection throws(DatabaseError) in
                try AccountRows.empty(id, at: now, on: connection)
            }
            #expect(try await auth.logIn(handle: "ada").status == 401)
            #expect(try await auth.logIn(email: "ada@example.org").status == 401)
            #expect(try await auth.refresh(member.refreshToken).status == 401)
            // The handle is kept until the last trace of it is gone, the address is free.
            #expect(try await auth.signUp("ADA").refusal?.code == "handle.taken")
            #expect(try await auth.signUp("eve", email: "ada@example.org").status == 201)
        }
    }

    @Test func `a hash of other costs is made anew by a log-in, once`() async throws {
        let database = try await authDatabase()
        func stored() async throws -> String {
            try await database.query { connection throws(DatabaseError) in
                try connection.query("SELECT password_hash FROM auth.accounts").one().text(0)
            }
        }
        try await withAuth(clock: clock, database: database) { auth async throws in
            _ = try await auth.member("ada")
        }
        let old = try await stored()
        #expect(old.hasPrefix("$argon2id$v=19$m=7168,t=1,p=1$"))
        let dearer = ["PASSWORD_HASH_PASSES": "2", "PASSWORD_HASH_MEMORY_KIB": "8192"]
        try await withAuth(dearer, clock: clock, database: database) { auth async throws in
            #expect(try await auth.logIn(handle: "ada", password: "wrong password").status == 401)
            #expect(try await stored() == old)
            // Two at once: the one that comes second is let in although the hash was replaced.
            async let first = auth.logIn(handle: "ada").status
            async let second = auth.logIn(handle: "ada").status
            #expect(try await [first, second] == [200, 200])
            let new = try await stored()
            #expect(new.hasPrefix("$argon2id$v=19$m=8192,t=2,p=1$"))
            _ = try await auth.tokens(handle: "ada")
            #expect(try await stored() == new)
        }
    }

    @Test func `at most a hundred sessions: a further log-in ends the oldest`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            let first = try await auth.member("ada")
            clock.advance(by: 1)
            let second = try await auth.tokens(handle: "ada")
            let account = try #require(UniqueID(first.accountId))
            let now = clock.now
            try await database.query { connection throws(DatabaseError) in
                try connection.execute(
                    """
                    INSERT INTO auth.sessions (id, account_id, kind, started_at, used_at, expires_at)
                    SELECT gen_random_uuid(), $1, 'app', $2, $2, $3 FROM generate_series(1, $4)
                    """,
                    [
                        .uuid(account), .timestamp(now), .timestamp(now + 600),
                        .int(Sessions.limit - 2),
                    ]
                )
            }
            #expect(try await auth.accepts(first.token))
            _ = try await auth.tokens(handle: "ada")
            #expect(try await !auth.accepts(first.token))
            #expect(try await auth.refresh(first.refreshToken).status == 401)
            #expect(try await auth.accepts(second.token))
            // Sessions that are over are deleted by whoever logs in.
            clock.advance(by: 600)
            _ = try await auth.member("eve")
            let count = try await database.query { connection throws(DatabaseError) in
                try connection.query("SELECT count(*) FROM auth.sessions").one().int(0)
            }
            #expect(count == 3)
        }
    }
}
