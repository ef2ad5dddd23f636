import Database
import ServiceKit
import TestKit
import Testing
import Transit
import Web

@testable import AuthService

/// Ten log-ins a minute from one address and five for one identity, across replicas (spec 1.2).
@Suite(.timeLimit(.minutes(3))) struct LogInLimitTests {
    /// 16:00:00, the start of a window.
    private let clock = ManualClock()
    private let wrong = "wrong password"

    @Test func `the sixth attempt at an identity waits, from wherever it comes`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { one async throws in
            try await withAuth(clock: clock, database: database) { two async throws in
                _ = try await one.member("ada", email: "ada@example.org")
                clock.advance(by: 20)
                for (number, handle) in ["ada", "Ada", "ADA", "aDa", "adA"].enumerated() {
                    let auth = number % 2 == 0 ? one : two
                    #expect(try await auth.logIn(handle: handle, password: wrong).status == 401)
                }
                // The right password waits, too: otherwise the answer would tell.
                let answer = try await two.logIn(handle: "ada")
                #expect(answer.status == 429)
                #expect(answer.refusal?.error == "too many attempts")
                #expect(answer.headers.first("Retry-After") == "40")
                #expect(try await one.logIn(handle: "eve", password: wrong).status == 401)
                clock.advance(by: 40)
                #expect(try await one.logIn(handle: "ada").status == 200)
            }
        }
    }

    @Test func `an unknown identity is counted like a known one`() async throws {
        try await withAuth(clock: clock) { auth async throws in
            for _ in 0..<5 { #expect(try await auth.logIn(email: "no@body.example").status == 401) }
            #expect(try await auth.logIn(email: "NO@body.example").status == 429)
        }
    }

    @Test func `a success forgets the attempts at the identity, not the address's`() async throws {
        try await withAuth(clock: clock) { auth async throws in
            _ = try await auth.member("ada")
            for round in 0..<2 {
                for _ in 0..<4 {
                    let answer = try await auth.logIn(
                        handle: "ada",
                        password: wrong,
                        from: "192.0.2.1"
                    )
                    #expect(answer.status == 401, "\(round)")
                }
                let right = try await auth.logIn(handle: "ada", from: "192.0.2.1")
                #expect(right.status == 200)
            }
            #expect(try await auth.logIn(handle: "ada", from: "192.0.2.1").status == 429)
            #expect(try await auth.logIn(handle: "ada", from: "192.0.2.2").status == 200)
        }
    }

    @Test func `a blocked address does not use up what an identity has left`() async throws {
        try await withAuth(clock: clock) { auth async throws in
            _ = try await auth.member("ada")
            for number in 0..<10 {
                let answer = try await auth.logIn(handle: "other\(number)", from: "192.0.2.1")
                #expect(answer.status == 401)
            }
            for _ in 0..<10 {
                let answer = try await auth.logIn(
                    handle: "ada",
                    password: wrong,
                    from: "192.0.2.1"
                )
                #expect(answer.status == 429)
            }
            #expect(try await auth.logIn(handle: "ada", from: "192.0.2.2").status == 200)
        }
    }

    @Test func `refreshes share the address's allowance`() async throws {
        try await withAuth(clock: clock) { auth async throws in
            var tokens = try await auth.member("ada")
            for number in 0..<10 {
                let answer = try await auth.refresh(tokens.refreshToken, from: "192.0.2.1")
                #expect(answer.status == 200, "\(number)")
                tokens = try answer.decoded()
            }
            let limited = try await auth.refresh(tokens.refreshToken, from: "192.0.2.1")
            #expect(limited.status == 429)
            #expect(limited.headers.first("Retry-After") == "60")
            #expect(try await auth.logIn(handle: "ada", from: "192.0.2.1").status == 429)
            // It was not spent by the refused attempt.
            #expect(try await auth.refresh(tokens.refreshToken, from: "192.0.2.2").status == 200)
        }
    }

    @Test func `an IPv6 network of 64 bits is one address`() async throws {
        try await withAuth(["LOGIN_ADDRESS_LIMIT": "2"], clock: clock) { auth async throws in
            #expect(try await auth.logIn(handle: "a1b", from: "2001:db8:0:1::1").status == 401)
            #expect(try await auth.logIn(handle: "a2b", from: "2001:db8:0:1:f::").status == 401)
            #expect(try await auth.logIn(handle: "a3b", from: "2001:db8:0:1::9").status == 429)
            #expect(try await auth.logIn(handle: "a4b", from: "2001:db8:0:2::1").status == 401)
        }
    }

    @Test func `only a trusted proxy names the address, and only by its last hop`() async throws {
        let settings = ["LOGIN_ADDRESS_LIMIT": "1"]
        try await withAuth(settings, clock: clock) { auth async throws in
            let forged = "192.0.2.1, 198.51.100.7"
            #expect(try await auth.logIn(handle: "a1b", from: forged).status == 401)
            let other = "192.0.2.2, 198.51.100.7"
            #expect(try await auth.logIn(handle: "a2b", from: other).status == 429)
        }
        try await withAuth(settings, clock: clock, trustsProxy: false) { auth async throws in
            #expect(try await auth.logIn(handle: "a1b", from: "192.0.2.1").status == 401)
            #expect(try await auth.logIn(handle: "a2b", from: "192.0.2.2").status == 429)
        }
    }

    @Test(arguments: ["login.address", "login.identity", "signup"])
    func `ten thousand callers in a window close it to others`(kind: String) async throws {
        let database = try await authDatabase()
        let start = clock.now
        try await database.query { connection throws(DatabaseError) in
            try connection.execute(
                """
                INSERT INTO auth.attempts (kind, caller, window_start, count)
                SELECT $1, 'caller ' || n, $2, 1 FROM generate_series(1, 9999) n
                """,
                [.text(kind), .timestamp(start)]
            )
        }
        try await withAuth(clock: clock, database: database) { auth async throws in
            func status(_ name: String, _ address: String) async throws -> Int {
                kind == "signup"
                    ? try await auth.signUp(name, from: address).status
                    : try await auth.logIn(handle: name, from: address).status
            }
            let admitted = kind == "signup" ? 201 : 401
            #expect(try await status("first", "192.0.2.1") == admitted)
            #expect(try await status("second", "192.0.2.2") == 429)
            clock.advance(by: 60)
            #expect(try await status("second", "192.0.2.2") == admitted)
        }
    }

    @Test func `what counts attempts holds no name and no address`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            _ = try await auth.logIn(email: "ada@example.org", from: "192.0.2.1")
            _ = try await auth.logIn(handle: "ada-handle", from: "192.0.2.1")
        }
        let callers = try await database.query { connection throws(DatabaseError) in
            var callers: [String] = []
            for row in try connection.query("SELECT caller FROM auth.attempts") {
                callers.append(try row.text(0))
            }
            return callers
        }
        #expect(callers.count == 3)
        #expect(!callers.contains { $0.contains("192.0.2") || $0.contains("ada") })
    }
}
