import Database
import ServiceKit
import TestKit
import Testing
import Transit
import Web

@testable import AuthService

/// `POST /api/v1/auth/register`: who becomes a member, and what the member is given.
@Suite(.timeLimit(.minutes(1))) struct SignUpTests {
    private let clock = ManualClock()

    @Test func `answers 201 like a log-in, with a member's token`() async throws {
        try await withAuth(clock: clock) { auth async throws in
            let answer = try await auth.signUp("Ada.L-1_", email: "Ada@Example.org")
            #expect(answer.status == 201)
            #expect(answer.headers.first("Cache-Control") == "no-store")
            let tokens = try answer.decoded(AuthProcess.Tokens.self)
            #expect(tokens.token == tokens.accessToken)
            #expect(tokens.expiresIn == 900)
            #expect(tokens.role == "member")
            #expect(tokens.refreshToken.utf8.count == 64)
            let claims = try claims(tokens.token, clock, [.member])
            #expect(claims.subject == tokens.accountId)
            #expect(UniqueID(claims.subject)?.description == claims.subject)
            #expect(claims.role == .member)
            #expect(claims.handle == "Ada.L-1_")
            #expect(claims.email == nil)
            #expect(claims.tokenID?.count == 32)
            #expect(claims.issuedAt == clock.now)
            #expect(claims.expiresAt == clock.now + 900)
        }
    }

    @Test func `the member logs in by handle and by address, in any case`() async throws {
        try await withAuth(clock: clock) { auth async throws in
            let member = try await auth.member("Ada", email: "Ada@Example.org")
            for handle in ["Ada", "ada", "ADA"] {
                #expect(try await auth.tokens(handle: handle).accountId == member.accountId)
            }
            for email in ["Ada@Example.org", "ada@example.ORG", " ada@example.org "] {
                #expect(try await auth.tokens(email: email).accountId == member.accountId)
            }
            #expect(try await auth.logIn(email: "Ada").status == 401)
            #expect(try await auth.logIn(handle: "Ada@Example.org").status == 401)
        }
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let body: String
        let error: String

        init(_ description: String, _ fields: [String: String], _ error: String) {
            testDescription = description
            body = json(fields)
            self.error = error
        }

        init(_ description: String, text: String, _ error: String) {
            testDescription = description
            body = text
            self.error = error
        }

        private static let handle = "handle must be 3 to 24 letters, digits, \"_\", \".\" or \"-\""
        private static let short = "password must be at least 8 characters"
        private static let long = "password must be at most 1024 bytes"

        private static func handle(_ text: String) -> Case {
            Case("the handle \(text.debugDescription)", ["handle": text], handle)
        }

        private static func password(_ description: String, _ text: String, _ error: String) -> Case
        {
            Case(description, ["handle": "ada", "password": text], error)
        }

        static let all: [Case] =
            [
                Case("an empty object", [:], "handle is required"),
                Case("an empty handle", ["handle": ""], "handle is required"),
            ]
            + [
                "ab", String(repeating: "a", count: 25), "a b", "ada!", "ada@x", "äda", "ada\n",
                "ａｄａ", "ad\u{200B}a", "ada/",
            ].map(handle)
            + [
                Case("no password", ["handle": "ada"], "password is required"),
                password("seven bytes", "1234567", short),
                password("three letters of two bytes and one", "äöü1", short),
                password("1,025 bytes", String(repeating: "x", count: 1025), long),
                password("1,026 bytes of letters", String(repeating: "ä", count: 513), long),
                Case(
                    "an address without @",
                    ["handle": "ada", "email": "x", "password": goodPassword],
                    "email is not valid"
                ),
                Case(
                    "an empty address",
                    ["handle": "ada", "email": "", "password": goodPassword],
                    "email is not valid"
                ),
                Case(
                    text: #"{"handle":"ada","password":"password","email":7}"#,
                    #"field "email" has invalid type"#
                ),
                Case(
                    text: #"{"handle":"ada","password":12345678}"#,
                    #"field "password" has invalid type"#
                ),
                Case(
                    text: #"{"handle":"ada","password":"password","role":"admin"}"#,
                    #"invalid JSON: unknown field "role""#
                ),
            ]

        private init(text: String, _ error: String) { self.init(text, text: text, error) }
    }

    @Test(arguments: Case.all)
    func `refuses it with its own sentence`(example: Case) async throws {
        try await withAuth(clock: clock) { auth async throws in
            let answer = try await auth.call(.post, "/api/v1/auth/register", example.body)
            #expect(answer.status == 400)
            #expect(answer.refusal?.error == example.error)
        }
    }

    @Test(arguments: [
        "", "[]", #"{"handle":"ada","password":"pass\u0000word"}"#,
        #"{"handle":"a\u0000da","password":"password"}"#, #"{"handle":"ada","handle":"eve"}"#,
    ])
    func `refuses what is not one strict JSON object`(body: String) async throws {
        try await withAuth(clock: clock) { auth async throws in
            let answer = try await auth.call(.post, "/api/v1/auth/register", body)
            #expect(answer.status == 400)
            #expect(answer.refusal?.error.hasPrefix("invalid JSON: ") == true)
        }
    }

    @Test func `takes the shortest and the longest handle and password`() async throws {
        try await withAuth(clock: clock) { auth async throws in
            let passwords = [
                "12345678", "äöüß", String(repeating: "x", count: 1024),
                String(repeating: "🚌", count: 256), "pass word \t\u{1F600}",
            ]
            let handles = ["abc", String(repeating: "z", count: 24), "...", "_-_", "0x0"]
            for (handle, password) in zip(handles, passwords) {
                #expect(try await auth.signUp(handle, password: password).status == 201)
                _ = try await auth.tokens(handle: handle, password: password)
                let other = String(password.dropLast()) + "?"
                #expect(try await auth.logIn(handle: handle, password: other).status == 401)
            }
        }
    }

    @Test func `a body may have 16 KiB and must be JSON by its type`() async throws {
        try await withAuth(clock: clock) { auth async throws in
            let body = json(["handle": "ada", "password": goodPassword])
            let padded = body + String(repeating: " ", count: 16 * 1024 - body.utf8.count)
            let path = "/api/v1/auth/register"
            #expect(try await auth.call(.post, path, padded + " ").status == 413)
            #expect(try await auth.call(.post, path, padded).status == 201)
            let other = try await auth.client.send(
                .post,
                "http://127.0.0.1:\(auth.port)\(path)",
                headers: [("Content-Type", "text/plain")],
                body: Array(body.utf8)
            )
            #expect(other.status == 415)
        }
    }

    @Test func `a handle or an address is given once, whatever its case`() async throws {
        try await withAuth(clock: clock) { auth async throws in
            _ = try await auth.member("Ada", email: "ada@example.org")
            let handle = try await auth.signUp("aDA", email: "other@example.org")
            #expect(handle.status == 409)
            #expect(handle.refusal == .init(error: "handle already exists", code: "handle.taken"))
            let email = try await auth.signUp("eve", email: "ADA@example.org")
            #expect(email.status == 409)
            #expect(email.refusal == .init(error: "email already exists", code: "email.taken"))
            #expect(try await auth.signUp("eve").status == 201)
            #expect(try await auth.signUp("bob").status == 201)
        }
    }

    @Test func `of two that want one handle at once, one gets it`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { one async throws in
            try await withAuth(clock: clock, database: database) { two async throws in
                for round in 0..<5 {
                    async let first = one.signUp("ada-\(round)").status
                    async let second = two.signUp("ADA-\(round)").status
                    #expect(try await [first, second].sorted() == [201, 409])
                }
            }
        }
    }

    @Test func `can be switched off, and the capabilities say so`() async throws {
        try await withAuth(["SIGNUP_ENABLED": "false"], clock: clock) { auth async throws in
            let answer = try await auth.signUp("ada")
            #expect(answer.status == 403)
            #expect(answer.refusal?.code == "signup.disabled")
            #expect(try await auth.get("/api/capabilities").text.contains(#""signup":false"#))
        }
        try await withAuth(clock: clock) { auth async throws in
            #expect(try await auth.get("/api/capabilities").text.contains(#""signup":true"#))
        }
    }

    @Test func `five a minute from one address, shared by all processes`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { one async throws in
            try await withAuth(clock: clock, database: database) { two async throws in
                clock.advance(by: 13)
                // What is refused for its form costs nothing.
                #expect(try await one.signUp("x", from: "192.0.2.1").status == 400)
                for number in 0..<5 {
                    let auth = number % 2 == 0 ? one : two
                    let answer = try await auth.signUp("ada\(number)", from: "192.0.2.1")
                    #expect(answer.status == 201)
                }
                let answer = try await two.signUp("ada5", from: "192.0.2.1")
                #expect(answer.status == 429)
                #expect(answer.headers.first("Retry-After") == "47")
                #expect(answer.refusal?.error == "too many registrations, try again later")
                // Phones of riders are counted apart.
                #expect(try await one.register(from: "192.0.2.1").status == 201)
                #expect(try await two.signUp("ada5", from: "192.0.2.2").status == 201)
                clock.advance(by: 47)
                #expect(try await two.signUp("ada6", from: "192.0.2.1").status == 201)
            }
        }
    }
}
