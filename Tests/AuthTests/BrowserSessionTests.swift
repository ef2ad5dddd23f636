import Database
import ServiceKit
import TestKit
import Testing
import Transit
import Web

@testable import AuthService

/// `POST` and `DELETE /api/v1/auth/session` (spec 1.2, architecture section 12).
@Suite(.timeLimit(.minutes(1))) struct BrowserSessionTests {
    private let clock = ManualClock()
    private let path = "/api/v1/auth/session"

    private func open(
        _ auth: AuthProcess,
        _ email: String,
        password: String = goodPassword,
        headers: [(String, String)] = []
    ) async throws -> HTTPClientResponse {
        let body = json(["email": email, "password": password])
        return try await auth.call(.post, path, body, headers: headers)
    }

    private func token(_ answer: HTTPClientResponse) throws -> String {
        let cookie = try #require(answer.headers.first("Set-Cookie"))
        let pair = try #require(cookie.split(separator: ";").first)
        #expect(pair.hasPrefix("vp_session="))
        return String(pair.dropFirst("vp_session=".count))
    }

    @Test(arguments: [Role.driver, .admin])
    func `gives staff a cookie for 24 hours and no body`(role: Role) async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            let id = try await addStaff(role, email: "dora@example.org", in: database)
            let answer = try await open(auth, "dora@example.org")
            #expect(answer.status == 204)
            #expect(answer.body.isEmpty)
            let cookie = try #require(answer.headers.first("Set-Cookie"))
            let token = try token(answer)
            #expect(
                cookie == "vp_session=\(token); Path=/; Max-Age=86400; HttpOnly; SameSite=Lax"
            )
            #expect(answer.headers.values("Set-Cookie").count == 1)
            let claims = try claims(token, clock, [.staff])
            #expect(claims.subject == id.description)
            #expect(claims.role == role)
            #expect(claims.email == "dora@example.org")
            #expect(claims.tokenID?.count == 32)
            #expect(claims.expiresAt == clock.now + 86_400)
        }
    }

    @Test func `is marked Secure where a trusted proxy ends TLS, and only there`() async throws {
        let database = try await authDatabase()
        try await addStaff(email: "root@example.org", in: database)
        func isSecure(_ scheme: String?, trustsProxy: Bool) async throws -> Bool {
            var isSecure = false
            try await withAuth(
                clock: clock,
                database: database,
                trustsProxy: trustsProxy
            ) { auth async throws in
                let headers = scheme.map { [("X-Forwarded-Proto", $0)] } ?? []
                let answer = try await open(auth, "root@example.org", headers: headers)
                #expect(answer.status == 204)
                let cookie = try #require(answer.headers.first("Set-Cookie"))
                isSecure = cookie.hasSuffix("; Secure")
            }
            return isSecure
        }
        #expect(try await isSecure("https", trustsProxy: true))
        #expect(try await isSecure("HTTPS", trustsProxy: true))
        #expect(try await !isSecure("http", trustsProxy: true))
        #expect(try await !isSecure(nil, trustsProxy: true))
        #expect(try await !isSecure("https", trustsProxy: false))
    }

    @Test func `is refused like a log-in, and to members`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            _ = try await auth.member("ada", email: "ada@example.org")
            try await addStaff(email: "root@example.org", in: database)
            let wrong = try await open(auth, "root@example.org", password: "wrong password")
            #expect(wrong.status == 401)
            #expect(wrong.refusal?.error == "invalid email or password")
            #expect(wrong.headers.first("Set-Cookie") == nil)
            let member = try await open(auth, "ada@example.org")
            #expect(member.status == 403)
            #expect(member.headers.first("Set-Cookie") == nil)
            // Without the password nobody learns whose address it is.
            #expect(try await open(auth, "ada@example.org", password: "wrong").status == 401)
            #expect(try await auth.call(.post, path, "{}").status == 400)
            for _ in 0..<5 { _ = try await open(auth, "no@body.example") }
            #expect(try await open(auth, "no@body.example").status == 429)
        }
    }

    @Test func `a page of another site cannot open one`() async throws {
        let database = try await authDatabase()
        try await addStaff(email: "root@example.org", in: database)
        try await withAuth(clock: clock, database: database) { auth async throws in
            for header in [
                ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Site", "same-site"),
                ("Origin", "https://evil.example"),
            ] {
                let answer = try await open(auth, "root@example.org", headers: [header])
                #expect(answer.status == 403)
                #expect(answer.headers.first("Set-Cookie") == nil)
            }
            let own = [("Sec-Fetch-Site", "same-origin")]
            #expect(try await open(auth, "root@example.org", headers: own).status == 204)
        }
    }

    @Test func `DELETE ends it, clears the cookie and leaves others alone`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            let app = try await auth.staff(email: "root@example.org", in: database)
            let browser = try token(try await open(auth, "root@example.org"))
            #expect(try await auth.accepts(browser))
            let answer = try await auth.call(.delete, path, token: browser)
            #expect(answer.status == 204)
            #expect(
                answer.headers.first("Set-Cookie")
                    == "vp_session=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax"
            )
            #expect(try await !auth.accepts(browser))
            #expect(try await auth.accepts(app.token))
            #expect(try await auth.call(.delete, path).status == 401)
            let member = try await auth.member("ada")
            #expect(try await auth.call(.delete, path, token: member.token).status == 403)
        }
    }

    @Test func `ends with everything else when the account is logged out`() async throws {
        let database = try await authDatabase()
        try await withAuth(clock: clock, database: database) { auth async throws in
            let app = try await auth.staff(email: "root@example.org", in: database)
            let browser = try token(try await open(auth, "root@example.org"))
            _ = try await auth.call(.post, "/api/v1/auth/logout-all", token: app.token)
            #expect(try await !auth.accepts(browser))
            let again = try token(try await open(auth, "root@example.org"))
            #expect(try await auth.accepts(again))
        }
    }
}
